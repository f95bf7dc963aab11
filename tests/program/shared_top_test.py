"""A top that nobody sees into: trained over TLS, killed and resumed, scored once; and driven out of its range."""

import re
import subprocess

import program
from program import ProgramTest, Table, wait_until

# Batches large enough that functions have few frequencies, which makes them quick to fit.
# Validation takes a thousand rows.
TRAINING = {"epochs": 10, "batch": 64, "learning_rate": 0.2, "validation_share": 0.8}
SHARED = {"model": {"kind": "lr"}, "training": TRAINING, "alignment": {"mode": "intersection"}}
ACCEPTS_NOTHING = ["--set", "private.accept=nothing"]


class SharedTop(ProgramTest):
    def lr_pair(self, rows=1700, **training):
        shared = {**SHARED, "training": {**TRAINING, **training}}
        patience = {"link": {"patience": 5}}
        return self.pair(shared, table=Table(3, rows), test=Table(4, 60, first_id=70000), private_a=patience,
                         private_b=patience)

    def check_report(self, pair):
        """Both are told what B learned, and nobody reads of an open top."""
        for party in "ab":
            report = (pair.folder / party / "run/report.html").read_text()
            self.assertNotIn("open top", report)
            self.assertIn("whether all values were inside the range of the functions", report)
            checks = pair.summary(party)["range_checks"]
            # After powers of 2, every sixteenth step and each epoch.
            self.assertGreaterEqual(checks["inside"], pair.summary(party)["epochs"])
            self.assertEqual(checks["outside"], 0)
            self.assertIn(f"{checks['inside']} found all values inside the range of the functions", report)
        rows = pair.summary("b")["rows"]["test"]
        self.assertIn(f"the mean loss and the accuracy of each epoch&#39;s validation, and the scores of {rows} rows, once, "
                      "rounded to 4 fractional bits; nothing else", (pair.b / "run/report.html").read_text().replace("'", "&#39;"))

    def test_is_killed_resumed_and_scores_once(self):
        pair = self.lr_pair(checkpoint_every=3)
        parties = pair.start("train", extra_a=ACCEPTS_NOTHING)
        self.assertTrue(wait_until(lambda: max(pair.checkpoints("a"), default=0) >= 3))
        parties[0].kill()
        self.assertEqual(parties[1].end(), 1)
        self.assertRegex(parties[1].complaint(), r"Nothing is lost up to step \d+: `blindfl resume` at both parties")
        a, b = pair.both("resume", extra_a=ACCEPTS_NOTHING)
        self.check_finished(pair)
        self.assertGreater(pair.results()["auc"], 0.8, b.printed())
        self.check_report(pair)
        # No loss of a step, which nobody knows; of validation the mean loss and the accuracy and nothing else.
        lines = pair.metrics("b")
        self.assertNotIn("loss", {name for line in lines if line["set"] == "train" for name in line["values"]})
        validated = [line for line in lines if line["set"] == "validation"]
        self.assertEqual(len(validated), TRAINING["epochs"])
        for line in validated:
            self.assertEqual(line["values"].keys(), {"loss", "accuracy"})
        # Two sets of rows of which neither was trained on: 1360 for validation, 60 for the test.
        self.assertAlmostEqual(validated[-1]["values"]["accuracy"], pair.results()["accuracy"], delta=0.2)
        self.assertNotIn("accuracy", {name for line in pair.metrics("a") for name in line["values"]})
        validations = re.findall(r"^validation +(.*)$", b.printed(), re.MULTILINE)
        self.assertTrue(validations)
        for measured in validations:
            self.assertRegex(measured, r"^loss \d\.\d{4}  accuracy \d\.\d{4}$")
        # The test was the first scoring of its file: another would round the same scores anew.
        refused = program.Process("predict", pair.a, ACCEPTS_NOTHING)
        self.assertEqual(refused.end(), 1)
        self.assertIn("has been scored 1 time with this model, and private.limits.scorings is 1. Under a shared top",
                      refused.complaint())
        self.check_inspected(pair)
        self.check_resumed_without_scoring(pair)
        self.check_rounded(pair)
        self.check_people_are_scored_once(pair)

    def write_people(self, pair, name, rows):
        """A file of people that were not scored yet, with labels at B."""
        for party, columns in (("a", "id,a0,a1,a2,city"), ("b", "id,b0,b1,b2,job,label")):
            people = getattr(rows, party)
            pair._write_csv(pair.folder / party / name, columns, list(people), people)
        return {f"extra_{party}": ["--data", str(pair.folder / party / name)] for party in "ab"}

    def test_evaluates_as_scores_say_and_counts_it_as_a_scoring(self):
        pair = self.lr_pair(epochs=3)
        pair.both("train", extra_a=ACCEPTS_NOTHING)
        self.check_finished(pair)
        people = Table(9, 200, first_id=80000)
        data = self.write_people(pair, "others.csv", people)
        data["extra_a"] += [*ACCEPTS_NOTHING, "--set", "private.limits.scorings=2"]
        scores = pair.b / "scores.csv"
        pair.both("predict", extra_a=data["extra_a"], extra_b=[*data["extra_b"], "--scores", str(scores)])
        a, b = pair.both("evaluate", **data)
        self.assertIn("scores are rounded to 4 fractional bits, each time anew", b.printed())
        measured = {name: float(value) for name, value in re.findall(r"^([a-z_0-9]+) (-?[0-9.e-]+)$", b.printed(), re.MULTILINE)}
        self.assertEqual(measured.pop("rows"), 200)
        self.assertEqual(measured.keys(), pair.results().keys())
        for name in measured:
            self.assertNotIn(name, a.printed())
        self.check_nothing_of_labels(pair.a / "run")
        # The same rows, rounded at other offsets.
        scored = [line.split(",") for line in scores.read_text().splitlines()[1:]]
        by_label = [[float(line[-1]) for line in scored if people.b[line[0]][4] == label] for label in (0, 1)]
        before = [1.0 if low < high else 0.5 if low == high else 0.0 for low in by_label[0] for high in by_label[1]]
        self.assertAlmostEqual(measured["auc"], sum(before) / len(before), delta=0.02)
        right = sum(p <= 0.5 for p in by_label[0]) + sum(p > 0.5 for p in by_label[1])
        self.assertAlmostEqual(measured["accuracy"], right / 200, delta=0.05)
        self.assertGreater(measured["auc"], 0.8)
        again, b = pair.start("evaluate", **data)
        self.assertEqual([again.end(), b.end()], [1, 1])
        self.assertIn("has been scored 2 times with this model, and private.limits.scorings is 2", again.complaint())
        self.assertNotIn("auc", b.printed())

    def test_an_mlp_of_which_both_parties_are_killed(self):
        shared = {**SHARED, "model": {"kind": "mlp", "hidden": [4]}, "training": {**TRAINING, "epochs": 2, "checkpoint_every": 2}}
        patience = {"link": {"patience": 5}}
        pair = self.pair(shared, table=Table(3, 1700), test=Table(4, 60, first_id=70000), private_a=patience, private_b=patience)
        for command, victim, step in (("train", 1, 2), ("resume", 0, 6)):
            parties = pair.start(command, extra_a=ACCEPTS_NOTHING)
            self.assertTrue(wait_until(lambda: max(pair.checkpoints("ab"[victim]), default=0) >= step))
            parties[victim].kill()
            survivor = parties[1 - victim]
            self.assertEqual(survivor.end(), 1, survivor.printed())
            self.assertRegex(survivor.complaint(), r"Nothing is lost up to step \d+: `blindfl resume` at both parties")
        pair.both("resume", extra_a=ACCEPTS_NOTHING)
        self.check_finished(pair)
        self.assertGreater(pair.results()["auc"], 0.6)
        self.check_report(pair)

    def check_resumed_without_scoring(self, pair):
        """Nothing is left to train, and scores would be rounded anew: those of the first time stay, and what they said."""
        scores = (pair.b / "run/test_scores.csv").read_bytes()
        before = {party: pair.summary(party) for party in "ab"}
        for party in pair.both("resume", extra_a=ACCEPTS_NOTHING):
            self.assertIn("the test's rows have been scored by this model, and are not again", party.printed())
        self.assertEqual((pair.b / "run/test_scores.csv").read_bytes(), scores)
        for party in "ab":
            now = pair.summary(party)
            for member in ("state", "results", "baseline"):
                self.assertEqual(now.get(member), before[party].get(member))
        self.check_inspected(pair)

    def check_inspected(self, pair):
        inspected = subprocess.run([program.program(), "inspect", "--folder", str(pair.a / "run")], capture_output=True,
                                   text=True, check=True).stdout
        self.assertRegex(inspected, r"top +shared; scores are rounded to 4 fractional bits")
        self.assertRegex(inspected, r"scored +1 time by model")

    def check_rounded(self, pair):
        """People that were not scored yet; each probability is that of a logit with 4 fractional bits."""
        for party, columns in (("a", "id,a0,a1,a2,city"), ("b", "id,b0,b1,b2,job")):
            others = Table(9, 30, first_id=80000)
            rows = others.a if party == "a" else {name: row[:4] for name, row in others.b.items()}
            pair._write_csv(pair.folder / party / "others.csv", columns, list(rows), rows)
        scores = pair.b / "scores.csv"
        data = {f"extra_{party}": ["--data", str(pair.folder / party / "others.csv")] for party in "ab"}
        data["extra_a"] += ACCEPTS_NOTHING
        data["extra_b"] += ["--scores", str(scores)]
        b = pair.both("predict", **data)[1]
        self.assertIn("scores are rounded to 4 fractional bits, each time anew", b.printed())
        probabilities = [float(line.split(",")[-1]) for line in scores.read_text().splitlines()[1:]]
        self.assertEqual(len(probabilities), 30)
        moderate = {p for p in probabilities if 0.01 < p < 0.99}  # others are too near 0 or 1 for floats to tell the logit
        self.assertGreater(len(moderate), 5)
        for p in moderate:
            sixteenths = 16 * program.math.log(p / (1 - p))
            self.assertAlmostEqual(sixteenths, round(sixteenths), delta=0.01)

    def check_people_are_scored_once(self, pair):
        """In another file, beside others who were not scored yet."""
        for party, columns in (("a", "id,a0,a1,a2,city"), ("b", "id,b0,b1,b2,job")):
            some = Table(9, 31, first_id=80000)
            rows = some.a if party == "a" else {name: row[:4] for name, row in some.b.items()}
            pair._write_csv(pair.folder / party / "more.csv", columns, list(rows), rows)
        data = {party: ["--data", str(pair.folder / party / "more.csv")] for party in "ab"}
        a, b = pair.start("predict", extra_a=data["a"] + ACCEPTS_NOTHING, extra_b=[*data["b"], "--scores", str(pair.b / "more_scores.csv")])
        self.assertEqual(a.end(), 1, a.printed())
        self.assertRegex(a.complaint(), r"30 of the 31 rows have been scored 1 time with this model")
        self.assertEqual(b.end(), 1, b.printed())
        self.assertFalse((pair.b / "more_scores.csv").exists())

    def test_out_of_its_range_both_are_told_and_a_good_checkpoint_stays(self):
        pair = self.lr_pair(learning_rate=500, checkpoint_every=1)
        parties = pair.start("train", extra_a=ACCEPTS_NOTHING)
        for party in parties:
            self.assertEqual(party.end(), 1, party.printed())
            self.assertRegex(party.complaint(), r"^blindfl train: after step \d+: values of the scores left the interval")
            self.assertIn("Lower the learning rate", party.complaint())
            self.assertRegex(party.complaint(), r"The checkpoint of step \d+ is from before, and stays")
        self.assertEqual(pair.checkpoints("a").keys(), pair.checkpoints("b").keys())
        self.assertTrue(pair.checkpoints("a"))
        for party in "ab":
            self.assertEqual(pair.summary(party)["state"], "failed")
            self.assertEqual(pair.summary(party)["range_checks"]["outside"], 1)
        # It can be resumed, with the options that it began with, and so leaves its range again.
        newest = max(pair.checkpoints("a"))
        for party in pair.start("resume", extra_a=ACCEPTS_NOTHING):
            self.assertEqual(party.end(), 1)
            self.assertIn(f"resuming after step {newest} of ", party.printed())
            self.assertIn("left the interval", party.complaint())
        for party in "ab":
            self.assertEqual(pair.summary(party)["range_checks"]["outside"], 2)
            inspected = subprocess.run([program.program(), "inspect", "--folder", str(pair.folder / party / "run")],
                                       capture_output=True, text=True, check=True).stdout
            self.assertRegex(inspected, r"range checks +\d+ found all values inside the range of the functions, 2 found some outside")

    def test_a_mean_loss_of_few_rows_is_refused(self):
        pair = self.lr_pair(rows=300, validation_share=0.1)
        for party in pair.start("train", extra_a=ACCEPTS_NOTHING):
            self.assertEqual(party.end(), 1, party.printed())
            self.assertRegex(party.complaint(), r"shared.training.validation_share keeps back \d+ rows. Under a shared top B learns "
                             "their mean loss in every epoch, which of fewer than 1000 rows would tell of each")
        self.assertFalse(pair.checkpoints("a"))

    def test_weights_are_known_to_b_alone_and_announced_to_a(self):
        weights = {"top": {"class_weights": "balanced"}, "data": {"weight_column": "w"}}
        shared = {**SHARED, "training": {**TRAINING, "epochs": 3, "row_weights": True}}
        pair = self.pair(shared, table=Table(3, 1900), test=Table(4, 60, first_id=70000), private_b=weights)
        for name in ("train", "test"):
            path = pair.b / f"{name}.csv"
            lines = path.read_text().splitlines()
            path.write_text("\n".join([lines[0] + ",w"] + [f"{line},{2 + i % 3}" for i, line in enumerate(lines[1:])]) + "\n")
        silent = program.Process("train", pair.b, ["--set", "shared.training.row_weights=false"])
        self.assertEqual(silent.end(), 1)
        self.assertIn("set shared.training.row_weights to true at both parties", silent.complaint())
        _, b = pair.both("train", extra_a=ACCEPTS_NOTHING)
        self.check_finished(pair)
        self.assertRegex(b.printed(), r"class weights: ")
        self.assertGreater(pair.results()["auc"], 0.8, b.printed())
        self.assertEqual(len(re.findall(r"^validation +loss \d\.\d{4}  accuracy \d\.\d{4}$", b.printed(), re.MULTILINE)), 3)

    def test_fine_scores_are_for_a_to_accept(self):
        pair = self.lr_pair()
        fine = ["--set", "shared.model.score_bits=8"]
        alone = program.Process("train", pair.a, [*ACCEPTS_NOTHING, *fine])
        self.assertEqual(alone.end(), 1)
        self.assertIn("private.accept: with shared.model.score_bits above 4", alone.complaint())
        self.assertIn("accept: fine_scores", alone.complaint())
        self.assertNotIn("dialling", alone.printed())
        planned = subprocess.run([program.program(), "plan", "--job", str(pair.a / "job.yaml"), "--no-measure", *fine],
                                 capture_output=True, text=True, check=True).stdout
        self.assertRegex(planned, r"\ntop +the loss, on shares +over lattice ")
        self.assertIn("private.accept is open_top: `train` will refuse to start.", planned)
        self.assertNotIn("Open top", planned)


if __name__ == "__main__":
    program.run_tests(__name__)
