"""Two parties of the program `blindfl` on this machine: their files, their processes, and what they leave."""

import json
import math
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

BUILD = Path("build/release")
# What tells of labels; only B may keep such a measure.
SECRET_WORDS = ("auc", "pr_auc", "loss", "accuracy", "precision", "recall", "lift", "rmse", "mae", "r2", "confusion",
                "baseline", "still_falling")


def run_tests(module_name):
    """Runs the tests of a script that was called as `script BUILD_FOLDER [unittest options]`."""
    global BUILD
    BUILD = sys.modules["program"].BUILD = Path(sys.argv[1]).resolve()
    unittest.main(module=module_name, argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


def program():
    return str(BUILD / "bin" / "blindfl")


def flow(value):
    """A value as a job file has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return value if isinstance(value, str) and re.fullmatch(r"[a-z_0-9]*[a-z_][a-z_0-9]*", value) else json.dumps(value)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(happened, seconds=120, tick=0.0005):
    """Whether it happened in time."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(tick)
    return True


def varint(message, at):
    """A number of protobuf's, and where the next thing begins."""
    value, shift = 0, 0
    while True:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at


def submessages(message, number):
    """What a protobuf message has in a field of bytes."""
    at, found = 0, []
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            _, at = varint(message, at)
        elif key & 7 in (1, 5):
            at += 8 if key & 7 == 1 else 4
        else:
            length, at = varint(message, at)
            if key >> 3 == number:
                found.append(message[at:at + length])
            at += length
    return found


def event_tags(path):
    """What an event file for TensorBoard calls its values (run/event_file.h has the format)."""
    content, at, tags = path.read_bytes(), 0, set()
    while at + 8 <= len(content):
        length = int.from_bytes(content[at:at + 8], "little")
        if at + length + 16 > len(content):
            break  # the half of an event that a killed process leaves
        for summary in submessages(content[at + 12:at + 12 + length], 5):
            tags.update(tag.decode() for value in submessages(summary, 1) for tag in submessages(value, 1))
        at += length + 16
    return tags


class Process:
    """A command of the program at one party, and what it prints."""

    def __init__(self, command, folder, extra):
        number = len(list(folder.glob("*.out")))
        self.out, self.err = folder / f"{number}-{command}.out", folder / f"{number}-{command}.err"
        words = [program(), command, "--job", str(folder / "job.yaml"), *extra]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL)

    def is_running(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def printed(self):
        return self._text(self.out)

    def complaint(self):
        return self._text(self.err)

    def end(self, seconds=300):
        """The exit code; a process that does not end is killed, and that is a failure."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not end: {self.printed()[-2000:]} {self.complaint()}") from None

    @staticmethod
    def _text(path):
        return path.read_bytes().decode(errors="replace")


class Table:
    """Rows of both parties with labels that follow from both sides' features."""

    def __init__(self, seed, rows, first_id=0, labels="binary"):
        chance = random.Random(seed)
        self.a, self.b = {}, {}
        for person in range(first_id, first_id + rows):
            x = [round(chance.gauss(0, 1), 4) for _ in range(6)]
            city, job = chance.choice("uvwxyz"), chance.choice(["cook", "nurse", "pilot", "smith"])
            score = x[0] - x[1] + 1.5 * x[3] - x[4] + {"u": 1, "v": -1}.get(city, 0) + {"cook": 1}.get(job, 0)
            name = f"p{person:05d}"
            label = {
                "binary": lambda s: int(s + chance.gauss(0, 0.5) > 0),
                "classes": lambda s: min(2, max(0, int(s / 2 + 1.5))),
                "number": lambda s: round(s + chance.gauss(0, 0.1), 4),
                "count": lambda s: min(20, int(math.exp(min(2.5, s / 3)))),
            }[labels](score)
            self.a[name] = [x[0], x[1], x[2], city]
            self.b[name] = [x[3], x[4], x[5], job, label]


class Pair:
    """Two folders with keys, data and job files. Both have all people in one order, or most of them in their own."""

    KEYS = None
    LOCK = threading.Lock()

    def __init__(self, shared, private_a=None, private_b=None, columns=None, table=None, test=None, both_have_all=False):
        self.folder = Path(tempfile.mkdtemp(prefix="blindfl_pair_"))
        self.a, self.b = self.folder / "a", self.folder / "b"
        self._take_keys()
        table = table or Table(7, 330)
        test = test or Table(8, 90, first_id=50000)
        self._write_data(table, test, both_have_all)
        port = free_port()
        columns = columns or {"one_hot": True}
        self._write_job("a", shared, {"dial": f"127.0.0.1:{port}"}, [{"name": "city", "kind": "categorical", **columns}],
                        private_a or {})
        self._write_job("b", shared, {"listen": f"127.0.0.1:{port}"}, [{"name": "job", "kind": "categorical", **columns}],
                        private_b or {})

    def _take_keys(self):
        with Pair.LOCK:
            if Pair.KEYS is None:
                Pair.KEYS = tempfile.TemporaryDirectory(prefix="blindfl_keys_")
                for party in "ab":
                    words = [program(), "keygen", "--name", f"{party}.example", "--out", Pair.KEYS.name]
                    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        for party in (self.a, self.b):
            shutil.copytree(Pair.KEYS.name, party)

    def _write_data(self, table, test, both_have_all):
        for name, rows in (("train", table), ("test", test)):
            people = list(rows.a)
            order_a, order_b = list(people), list(people)
            if not both_have_all:  # one in ten is missing on each side, and nobody has the other's order
                order_a = [p for i, p in enumerate(people) if i % 10 != 3]
                order_b = [p for i, p in enumerate(people) if i % 10 != 7]
                random.Random(1).shuffle(order_a)
            self._write_csv(self.a / f"{name}.csv", "id,a0,a1,a2,city", order_a, rows.a)
            self._write_csv(self.b / f"{name}.csv", "id,b0,b1,b2,job,label", order_b, rows.b)

    @staticmethod
    def _write_csv(path, head, people, rows):
        lines = [head] + [",".join([p, *map(str, rows[p])]) for p in people]
        path.write_text("\n".join(lines) + "\n")

    def _write_job(self, party, shared, link, columns, more):
        data = {"train": "./train.csv", "test": "./test.csv", "score": "./test.csv", "id_column": "id", "columns": columns,
                "default_kind": "numeric"}
        if party == "b":
            data["label_column"] = "label"
        link = {**link, "certificate": f"{party}.example.crt", "key": f"{party}.example.key",
                "peer": f"{'b' if party == 'a' else 'a'}.example.crt", "patience": 20}
        private = {"party": party, **({"accept": "open_top"} if party == "a" else {}), "data": data, "link": link, "resources": {"threads": 1},
                   "run": {"ledger": True, "weight_seed": 5 if party == "a" else 6, "folder": "./run"}}
        for section, values in more.items():
            private[section] = {**private.get(section, {}), **values}
        lines = []
        for name, part in (("shared", shared), ("private", private)):
            lines.append(f"{name}:")
            lines += [f"  {key}: {flow(value)}" for key, value in part.items()]
        (self.folder / party / "job.yaml").write_text("\n".join(lines) + "\n")

    def start(self, command, extra=(), extra_a=(), extra_b=()):
        """Both processes, A's first."""
        return (Process(command, self.a, [*extra, *extra_a]), Process(command, self.b, [*extra, *extra_b]))

    def both(self, command, **extra):
        """Runs it at both, which must succeed."""
        parties = self.start(command, **extra)
        codes = [party.end() for party in parties]
        assert codes == [0, 0], "\n".join(f"{p.printed()[-3000:]}\n{p.complaint()}" for p in parties)
        return parties

    def summary(self, party):
        return json.loads((self.folder / party / "run" / "summary.json").read_text())

    def results(self):
        return self.summary("b")["results"]

    def metrics(self, party):
        return [json.loads(line) for line in (self.folder / party / "run" / "metrics.jsonl").read_text().splitlines()]

    def checkpoints(self, party):
        """Steps that are there, and their files."""
        found = (self.folder / party / "run" / "checkpoints").glob("step-*.ckpt")
        return {int(path.stem.split("-")[1]): path for path in found}

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class ProgramTest(unittest.TestCase):
    """What every run must leave."""

    def pair(self, *args, **kwargs):
        pair = Pair(*args, **kwargs)
        self.addCleanup(pair.remove)
        return pair

    def check_finished(self, pair, steps=None):
        for party in "ab":
            summary = pair.summary(party)
            self.assertEqual(summary["state"], "finished")
            if steps is not None:
                self.assertEqual(summary["steps"], steps)
            lines = pair.metrics(party)
            trained = [line["step"] for line in lines if line["set"] == "train"]
            self.assertEqual(trained, list(range(1, summary["steps"] + 1)))
            for name in {line["set"] for line in lines} - {"train"}:
                measured = [line["step"] for line in lines if line["set"] == name]
                self.assertEqual(measured, sorted(set(measured)), f"{name} at {party}")
            self.assertTrue((pair.folder / party / "run" / "model" / "model.bin").exists())
        self.assertEqual([line["set"] for line in pair.metrics("b")].count("test"), 1)
        self.check_no_leftovers(pair)
        self.check_nothing_of_labels(pair.a / "run")

    def check_no_leftovers(self, pair):
        for path in pair.folder.rglob("*"):
            self.assertFalse(path.name.endswith(".blindfl-part"), path)
            self.assertFalse(path.name.startswith("."), path)

    def check_nothing_of_labels(self, folder):
        """No file of A's has a measure by a name that tells of labels, nor scores."""
        looked_at, tags = 0, set()
        for path in folder.rglob("*"):
            self.assertNotIn("scores", path.name)
            if not path.is_file() or path.suffix in (".bin", ".ckpt"):
                continue
            looked_at += 1
            if ".tfevents." in path.name:  # other bytes there, floats and checksums, may spell any word
                tags |= event_tags(path)
                content = "\n".join(sorted(tags)).lower()
            else:
                content = re.sub(r"\blift (choices|words)\b", "", path.read_text().lower())  # messages, and no measure
            # The report says in words what A does not see, and a job names options of B's; a measure would have a number,
            # or be a heading of its own.
            pattern = r">\s*{0}\b|\b{0}\b\W{{0,9}}\d" if path.suffix in (".html", ".yaml") else r"\b{0}\b"
            for word in SECRET_WORDS:
                found = re.search(pattern.format(word), content)
                self.assertIsNone(found, f"{path}: {found}")
        self.assertGreaterEqual(looked_at, 4)
        self.assertIn("train/bytes_sent", tags)

    def assert_same_results(self, results, expected):
        self.assertEqual(results.keys(), expected.keys())
        self.assertTrue(expected)
        for name, value in expected.items():
            self.assertAlmostEqual(results[name], value, delta=1e-3, msg=name)
