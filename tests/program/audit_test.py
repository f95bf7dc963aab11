"""Attacks on a party's own view: an open top gives binary columns away, a shared one does not, and what a run did not keep
is said."""

import re
import stat
import subprocess

import program
from program import ProgramTest, Table

KEEP = {"run": {"keep_view": True}}
TRAINING = {"epochs": 2, "batch": 32, "learning_rate": 0.05}


class Audit(ProgramTest):
    def trained(self, model, keep=None, keep_a=True, **training):
        shared = {"model": model, "training": {**TRAINING, **training}, "alignment": {"mode": "aligned"}}
        pair = self.pair(shared, table=Table(3, 240), test=Table(4, 120, first_id=70000), both_have_all=True,
                         private_a=keep if keep and keep_a else {}, private_b=keep or {})
        pair.both("train")
        return pair

    def audit(self, *words, code=0):
        done = subprocess.run([program.program(), "audit", *map(str, words)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def numbers(self, said):
        """Of each attack: whether it gave something away, the number, chance and its error."""
        found = {}
        for verdict, attack, value, chance, error in re.findall(
                r"^(GIVES AWAY|chance) +(.*?) \([^\n]*\): (\S+), by chance (\S+) \+- (\S+):", said, re.MULTILINE):
            found[attack] = (verdict == "GIVES AWAY", float(value), float(chance), float(error))
        return found

    def page(self, folder):
        self.assertEqual(stat.S_IMODE((folder / "attacks.html").stat().st_mode), 0o600)
        self.assertIn('href="attacks.html"', (folder / "report.html").read_text())
        return (folder / "attacks.html").read_text()

    def test_open_top(self):
        pair = self.trained({"kind": "mlp", "hidden": [16], "top": "open"}, KEEP, validation_share=0.3)
        a, b = pair.a / "run", pair.b / "run"
        alone = self.numbers(self.audit("--attacks", b))
        for attack in ("binary columns from one opening", "binary columns from several openings"):
            self.assertTrue(alone[attack][0], alone)
            self.assertGreaterEqual(alone[attack][1], 5)  # six cities, of which one follows from the others
        self.assertTrue(alone["the space of the peer's columns"][0], alone)
        self.assertIn("nothing to compare with", self.page(b))
        self.assertIn("Set shared.model.top to shared", self.page(b))

        with_truth = self.numbers(self.audit("--attacks", b, "--truth", a))
        self.assertEqual(with_truth["binary columns from one opening"][:2], (True, 1.0))
        self.assertTrue(with_truth["least squares, beside the peer's columns"][0])

        # A has shares alone, and no labels; without B's folder nothing in A's may tell of them.
        self.audit("--attacks", a)
        self.page(a)
        self.check_nothing_of_labels(a)
        told = self.numbers(self.audit("--attacks", a, "--truth", b))
        for attack in ("labels by X_A U_A", "uniformity of shares", "weights beside A's shares"):
            _, value, chance, error = told[attack]
            self.assertLess(abs(value - chance), 5 * error, attack)  # shares are other ones in each run
        self.check_no_leftovers(pair)
        # A report of another model has no page yet.
        pair.both("resume", extra=["--epochs", "3"])
        self.assertFalse((b / "attacks.html").exists())
        self.assertNotIn('href="attacks.html"', (b / "report.html").read_text())
        self.assertTrue(self.numbers(self.audit("--attacks", b, "--truth", a))["binary columns from several openings"][0])

    def test_shared_top(self):
        pair = self.trained({"kind": "mlp", "hidden": [16]}, KEEP, keep_a=False)  # each party decides for itself
        self.assertFalse((pair.a / "run/view").exists())
        told = self.numbers(self.audit("--attacks", pair.b / "run", "--truth", pair.a / "run"))
        self.assertEqual(told["binary columns from one opening"], (False, 0.0, 0.0, 0.0))
        for attack in ("least squares, beside the peer's columns", "uniformity of shares"):
            _, value, chance, error = told[attack]
            self.assertLess(abs(value - chance), 5 * error, attack)

    def test_what_was_not_kept(self):
        pair = self.trained({"kind": "lr", "top": "open"})
        a, b = pair.a / "run", pair.b / "run"
        self.assertFalse((a / "view").exists() or (b / "view").exists())
        said = self.audit("--attacks", a)
        self.assertIn("set private.run.keep_view to true", said)
        self.assertIn("No attack could be tried.", said)
        said = self.audit("--attacks", b)
        self.assertIn("a copy of the model from scores", self.numbers(said))
        self.assertRegex(said, r"not tried +which rows were trained with: .*--training-scores FILE")
        for party in (pair.a, pair.b):
            (party / "score.csv").write_bytes((party / "train.csv").read_bytes())
        pair.both("predict", extra_a=["--data", str(pair.a / "score.csv")],
                  extra_b=["--data", str(pair.b / "score.csv"), "--scores", str(pair.b / "trained.csv")])
        said = self.audit("--attacks", b, "--training-scores", pair.b / "trained.csv")
        self.assertIn("which rows were trained with", self.numbers(said))

        self.assertIn("is not the peer's folder of the same run", self.audit("--attacks", b, "--truth", b, code=1))
        self.assertIn("--training-scores: scores are B's",
                      self.audit("--attacks", a, "--training-scores", pair.b / "trained.csv", code=1))
        self.assertIn("is not the folder of a finished run", self.audit("--attacks", pair.b, code=1))
        self.assertIn("scores no row", self.audit("--attacks", b, "--training-scores", b / "test_scores.csv", code=1))
        self.assertIn("--ledger is missing", self.audit(code=2))
        self.assertIn("two audits", self.audit("--ledger", b / "transcript.ledger", "--attacks", b, code=2))
        (pair.b / "train.csv").write_text((pair.b / "train.csv").read_text().replace("cook", "pilot", 1))
        self.assertIn("has changed since the run began", self.audit("--attacks", b, code=1))


if __name__ == "__main__":
    program.run_tests(__name__)
