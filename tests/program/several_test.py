"""A lender (B) with a shop and a bank (A's): three processes over TLS, from tables to scores."""

import hashlib
import html
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import program
from program import Process, ProgramTest, Table, flow, free_port, wait_until

NAMES = ("b", "shop", "bank")
AS = NAMES[1:]
LR = {
    "model": {"kind": "lr", "top": "open"},
    "training": {"epochs": 4, "batch": 32, "learning_rate": 0.05, "momentum": 0.9, "checkpoint_every": 5},
    "alignment": {"mode": "aligned"},
}


class Trio:
    """Three folders with keys, data and job files. All have all people in one order, or most of them in their own."""

    KEYS = None

    def __init__(self, shared, private=None, both_have_all=True, one_hot=True, table=None, test=None):
        self.folder = Path(tempfile.mkdtemp(prefix="blindfl_trio_"))
        self.b, self.shop, self.bank = (self.folder / name for name in NAMES)
        self.make_keys()
        for name in NAMES:
            shutil.copytree(Trio.KEYS.name, self.folder / name)
        for file, rows in (("train", table or Table(7, 330)), ("test", test or Table(8, 90, first_id=50000))):
            self._write_data(file, rows, both_have_all)
        self.ports = {name: free_port() for name in AS}
        for name in NAMES:
            self.write_job(name, shared, (private or {}).get(name, {}), one_hot)

    @staticmethod
    def make_keys():
        if Trio.KEYS is None:
            Trio.KEYS = tempfile.TemporaryDirectory(prefix="blindfl_keys_")
            for name in (*NAMES, "stranger"):
                words = [program.program(), "keygen", "--name", name, "--out", Trio.KEYS.name]
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def _write_data(self, file, rows, both_have_all):
        """The shop has two numbers, the bank a number and a category, B three numbers, a category and the labels."""
        people = list(rows.a)
        heads = {"b": "id,b0,b1,b2,job,label", "shop": "id,a0,a1", "bank": "id,a2,city"}
        cells = {"b": lambda p: rows.b[p], "shop": lambda p: rows.a[p][:2], "bank": lambda p: rows.a[p][2:]}
        for number, name in enumerate(NAMES):
            mine = list(people)
            if not both_have_all:  # one in ten is missing on each side, and nobody has another's order
                mine = [p for i, p in enumerate(people) if i % 10 != 3 * number]
                random.Random(number).shuffle(mine)
            lines = [heads[name]] + [",".join([p, *map(str, cells[name](p))]) for p in mine]
            (self.folder / name / f"{file}.csv").write_text("\n".join(lines) + "\n")

    def write_job(self, name, shared, more, one_hot=True, with_as=AS):
        data = {"train": "./train.csv", "test": "./test.csv", "score": "./test.csv", "id_column": "id",
                "default_kind": "numeric"}
        link = {"certificate": f"{name}.crt", "key": f"{name}.key", "patience": 20}
        if name == "b":
            data.update(label_column="label", columns=[{"name": "job", "kind": "categorical", "one_hot": one_hot}])
            peers = [{"name": each, "listen": f"127.0.0.1:{self.ports[each]}", "certificate": f"{each}.crt"}
                     for each in with_as]
            link.update({"peers": peers} if len(peers) > 1 else
                        {"listen": peers[0]["listen"], "peer": peers[0]["certificate"]})
        else:
            if name == "bank":
                data["columns"] = [{"name": "city", "kind": "categorical", "one_hot": one_hot}]
            link.update(dial=f"127.0.0.1:{self.ports[name]}", peer="b.crt")
            others = [{"name": each, "certificate": f"{each}.crt"} for each in with_as if each != name]
            link.update({"name": name, "others": others} if others else {})
        private = {"party": "b" if name == "b" else "a", **({} if name == "b" else {"accept": "open_top"}),
                   "data": data, "link": link, "resources": {"threads": 1},
                   "run": {"weight_seed": 5 + 10 * NAMES.index(name), "folder": "./run"}}
        for section, values in more.items():
            private[section] = {**private.get(section, {}), **values}
        lines = []
        for title, part in (("shared", shared), ("private", private)):
            lines.append(f"{title}:")
            lines += [f"  {key}: {flow(value)}" for key, value in part.items()]
        (self.folder / name / "job.yaml").write_text("\n".join(lines) + "\n")

    def start(self, command, names=NAMES, **extra):
        """Their processes, by name; `extra` words of each."""
        return {name: Process(command, self.folder / name, extra.get(name, [])) for name in names}

    def all(self, command, **extra):
        """Runs it at all, which must succeed."""
        parties = self.start(command, **extra)
        codes = {name: party.end() for name, party in parties.items()}
        assert set(codes.values()) == {0}, "\n".join(
            f"{name}: {p.printed()[-3000:]}\n{p.complaint()}" for name, p in parties.items())
        return parties

    def summary(self, name):
        return json.loads((self.folder / name / "run" / "summary.json").read_text())

    def results(self):
        return self.summary("b")["results"]

    def newest(self, name):
        found = (self.folder / name / "run" / "checkpoints").glob("step-*.ckpt")
        return max((int(path.stem.split("-")[1]) for path in found), default=-1)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def rewrite(path, change):
    """Changes the content of a checked file (base/checked_file.h), which then is as whole as before."""
    whole = path.read_bytes()
    head, content = whole[:128], change(whole[160:])
    path.write_bytes(head + hashlib.sha256(content + head).digest() + content)


def blindfl(*words):
    return subprocess.run([program.program(), *map(str, words)], capture_output=True, text=True, check=False)


class Several(ProgramTest):
    def trio(self, *args, **kwargs):
        trio = Trio(*args, **kwargs)
        self.addCleanup(trio.remove)
        return trio

    def check_finished(self, trio):
        steps = trio.summary("b")["steps"]
        runs = {trio.summary(name)["run"] for name in NAMES}
        self.assertEqual(len(runs), 1, "all know it by one name")
        for name in NAMES:
            summary = trio.summary(name)
            self.assertEqual((summary["state"], summary["steps"]), ("finished", steps))
        for name in AS:
            self.check_nothing_of_labels(trio.folder / name / "run")
        self.check_no_leftovers(trio)

    def check_audit(self, trio):
        for name in AS:
            own, theirs = trio.b / f"run/transcript-{name}.ledger", trio.folder / name / "run/transcript.ledger"
            audit = blindfl("audit", "--ledger", own, "--peer-ledger", theirs)
            self.assertEqual(audit.returncode, 0, audit.stderr)
            self.assertIn("The ledgers agree", audit.stdout)
        crossed = blindfl("audit", "--ledger", trio.b / "run/transcript-shop.ledger", "--peer-ledger",
                          trio.bank / "run/transcript.ledger")
        self.assertEqual(crossed.returncode, 1, "those of two links are not each other's")

    def check_predicted(self, trio):
        """What was predicted of bytes is within a tenth of what was measured, at all."""
        for name in NAMES:
            report = (trio.folder / name / "run/report.html").read_text()
            rows = re.findall(r"<td>((?:sent|received) in a step)</td>\s*<td[^>]*>([\d.]+) (\w+)</td>\s*<td[^>]*>([\d.]+) (\w+)", report)
            self.assertEqual(len(rows), 2, f"{name}: {rows}")
            unit = {"B": 1, "kB": 1e3, "MB": 1e6}
            for what, predicted, unit_p, measured, unit_m in rows:
                ratio = float(measured) * unit[unit_m] / (float(predicted) * unit[unit_p])
                self.assertAlmostEqual(ratio, 1, delta=0.1, msg=f"{what} at {name}")

    def test_they_train_and_score_together(self):
        shared = {**LR, "model": {"kind": "wdl", "top": "open", "hidden": [4], "embedding_dim": 2},
                  "alignment": {"mode": "intersection"}}
        trio = self.trio(shared, both_have_all=False, one_hot=False)
        trio.all("align", **{name: ["--out", str(trio.folder / name / "list.csv")] for name in NAMES})
        ids = [[row.split(",")[1] for row in (trio.folder / name / "list.csv").read_text().split()] for name in NAMES]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(ids[0], ids[2])
        known = [{row.split(",")[0] for row in (trio.folder / name / "train.csv").read_text().split()} for name in NAMES]
        self.assertEqual(set(ids[0]), set.intersection(*known), "the header's word among them")
        parties = trio.all("train")
        self.check_finished(trio)
        self.assertGreater(trio.results()["auc"], 0.75)
        self.assertIn("shop has 2 numeric features", parties["b"].printed())
        self.assertIn("layer 'wide with bank'", parties["b"].printed())
        self.assertNotIn("with bank", parties["shop"].printed())
        alone = "No other A has categories: of their layer B sees this A's part beside its own"
        self.assertIn(f"WARNING: {alone}", parties["bank"].printed())
        self.assertNotIn("No other A", parties["shop"].printed())
        report = html.unescape((trio.b / "run/report.html").read_text())
        self.assertIn("Of the A's only bank has categories: of their layer B sees bank's part beside its own", report)
        self.assertIn("in the layer of numeric features: only the sum over all 2 A's", report)
        self.check_audit(trio)
        self.check_predicted(trio)

        scores = trio.b / "scores.csv"
        for _ in range(2):  # in the same order, to the last bit
            trio.all("predict", b=["--scores", str(scores)])
            self.assertEqual(scores.read_bytes(), (trio.b / "run/test_scores.csv").read_bytes())
        printed = trio.all("evaluate")["b"].printed()
        self.assertAlmostEqual(float(re.search(r"^auc (\S+)$", printed, re.MULTILINE)[1]), trio.results()["auc"], delta=1e-6)
        inspected = blindfl("inspect", "--folder", trio.b / "run").stdout
        self.assertRegex(inspected, r"A's\s+shop and bank")
        self.assertIn("this is bank", blindfl("inspect", "--folder", trio.bank / "run").stdout)

        alone = ["--set", "private.link.peers=[{name: bank, dial: \"x:1\", certificate: bank.crt}, "
                          "{name: shop, dial: \"x:2\", certificate: shop.crt}]"]
        other = Process("evaluate", trio.b, alone)
        self.assertEqual(other.end(), 1)
        self.assertIn("the model was trained with shop and bank, and the job is with bank and shop", other.complaint())

    def test_one_is_killed_and_all_resume(self):
        whole = self.trio(LR)
        whole.all("train")
        trio = self.trio(LR, private={name: {"link": {"patience": 3}} for name in NAMES})
        parties = trio.start("train")
        self.assertTrue(wait_until(lambda: trio.newest("b") >= 10))
        parties["bank"].kill()
        for name in ("b", "shop"):
            self.assertEqual(parties[name].end(), 1)
            self.assertRegex(parties[name].complaint(),
                             r"Nothing is lost up to step \d+: `blindfl resume` at all parties")
        self.assertIn("bank: ", parties["b"].complaint(), "B says who is gone")
        self.assertIn("the peer stopped after an error: it lost bank", parties["shop"].complaint())
        self.assertIn("the peer says: it waits for bank", parties["shop"].printed(), "and told the shop for whom it waited")
        resumed = trio.all("resume")
        for name in NAMES:
            self.assertRegex(resumed[name].printed(), r"resuming after step \d+")
        self.check_finished(trio)
        self.assert_same_results(trio.results(), whole.results())

    def test_the_others_wait_for_one_that_is_late(self):
        trio = self.trio({**LR, "training": {**LR["training"], "epochs": 1}})
        parties = trio.start("train", ("b", "shop"))
        self.assertTrue(wait_until(lambda: "B waits for bank" in parties["shop"].printed(), 30))
        self.assertIn("waiting for bank\n", parties["b"].printed())
        parties.update(trio.start("train", ("bank",)))
        self.assertEqual({name: party.end() for name, party in parties.items()}, dict.fromkeys(NAMES, 0))
        self.check_finished(trio)

    def refused(self, trio, names=NAMES, command="train"):
        """What each says when nothing begins."""
        parties = trio.start(command, names)
        self.assertEqual({name: party.end(60) for name, party in parties.items()}, dict.fromkeys(names, 1))
        return {name: party.complaint() for name, party in parties.items()}

    def test_strangers_are_refused_by_name_at_all(self):
        trio = self.trio(LR)
        job = trio.bank / "job.yaml"
        text = job.read_text()

        job.write_text(text.replace("shop.crt", "stranger.crt"))
        said = self.refused(trio)
        for name in ("b", "bank"):
            self.assertIn("the certificate of shop", said[name])
        self.assertRegex(said["shop"], "B does not begin: bank: .*the certificate of shop")

        job.write_text(text.replace("name: bank", "name: till"))
        said = self.refused(trio)
        self.assertRegex(said["b"], "bank: .*the name of this A")
        self.assertIn("till", said["bank"])
        self.assertRegex(said["shop"], "B does not begin: bank: .*till")

        job.write_text(text.replace("name: bank", "name: shop"))
        alone = Process("train", trio.bank, [])
        self.assertEqual(alone.end(), 1)
        self.assertIn("there are two A's called 'shop'", alone.complaint())
        job.write_text(text)
        for name in NAMES:
            self.assertFalse((trio.folder / name / "run").exists(), "nothing has begun")

    def test_one_with_another_run_is_refused_at_all(self):
        trio = self.trio({**LR, "training": {**LR["training"], "epochs": 1}})
        trio.all("train")

        # One of the same name that began otherwise: B names runs, and could give two of them one name.
        saved, model = trio.bank / "run/alignment.bin", trio.bank / "run/model/model.bin"
        began = saved.read_bytes()[160:192]
        for name in NAMES:
            self.assertIn(began, (trio.folder / name / "run/alignment.bin").read_bytes(), "all know it alike")
            self.assertIn(began, (trio.folder / name / "run/model/model.bin").read_bytes())
        other = bytes(byte ^ 1 for byte in began)
        for path, command in ((model, "evaluate"), (saved, "resume")):
            rewrite(path, lambda content: content.replace(began, other))
            for name, words in self.refused(trio, command=command).items():
                self.assertIn("'shop' refuses 'bank': it is in another run", words, name)
            rewrite(path, lambda content: content.replace(other, began))

        shutil.rmtree(trio.shop / "run")
        said = self.refused(trio, command="resume")
        self.assertRegex(said["b"], "nothing that all parties can resume: .*no run")
        self.assertRegex(said["shop"], "here is no run")
        self.assertIn("no run that all of its peers have", said["bank"])

    def test_who_is_wrong_later_is_told_to_all(self):
        trio = self.trio(LR)
        table = trio.bank / "train.csv"
        head, *rows = table.read_text().splitlines()
        table.write_text("\n".join([head, *reversed(rows)]) + "\n")
        said = self.refused(trio)
        for name in ("b", "bank"):
            self.assertIn("are not about the same people in the same order", said[name])
        self.assertIn("bank: the training rows of this party and bank", said["b"])
        self.assertIn("the peer stopped after an error: it cannot continue with bank", said["shop"])

    def test_one_fewer_cannot_resume(self):
        shared = {**LR, "training": {**LR["training"], "epochs": 1}}
        trio = self.trio(shared)
        trio.all("train")
        for name in ("b", "shop"):
            trio.write_job(name, shared, {}, with_as=("shop",))
        said = self.refused(trio, ("b", "shop"), "resume")
        self.assertIn("private.link.peers: the run began with shop and bank, and the job is with one A; all that began "
                      "it resume it", said["b"])
        self.assertIn("private.link.others: the run began with bank and shop, and the job is with one A", said["shop"])

    def test_a_shared_top_and_other_rows_are_refused(self):
        trio = self.trio(LR)
        for change, words in (("shared.model.top=shared", "a shared top is between B and one A"),
                              ("shared.alignment.mode=union", "union"), ("shared.alignment.mode=only_b", "only_b")):
            process = Process("train", trio.b, ["--set", change])
            self.assertEqual(process.end(), 1)
            self.assertIn(words, process.complaint())
            self.assertNotIn("listening", process.printed(), "said before anybody is met")


if __name__ == "__main__":
    program.run_tests("__main__")
