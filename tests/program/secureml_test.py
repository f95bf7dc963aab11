#!/usr/bin/env python3
"""SecureML as processes over TLS: two parties, and a third one that deals triplets; against the same training in the clear.

usage: secureml_test.py BUILD_FOLDER [unittest options]
"""
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

import program

ROWS, BATCH, STEPS, RATE_BITS, SCORE_BITS = 64, 16, 50, 5, 13
OF_A, OF_B = 3, 4
UNIT = 2.0 ** -13  # a step rounds a weight by up to one of them


class Rows:
    """Numbers in units, and labels that a model with weights of 1 gives."""

    def __init__(self):
        draw = random.Random(1)
        self.features = [[round(draw.uniform(-1, 1) / UNIT) * UNIT for _ in range(OF_A + OF_B)] for _ in range(ROWS)]
        self.labels = [int(sum(row) > 0.2) for row in self.features]

    def write(self, folder):
        for name, begin, end in (("A", 0, OF_A), ("B", OF_A, OF_A + OF_B)):
            lines = []
            for row, label in zip(self.features, self.labels):
                values = " ".join(f"{i + 1}:{value!r}" for i, value in enumerate(row[begin:end]))
                lines.append(f"{label} {values}\n" if name == "B" else f"0 {values}\n")
            (folder / f"{name}.libsvm").write_text("".join(lines), encoding="ascii")

    def predictions(self):
        """Of a logistic regression with SecureML's approximate sigmoid, by mini-batches in order, from zeros."""
        weights = [0.0] * (OF_A + OF_B)

        def predict(row):
            return min(1.0, max(0.0, sum(x * w for x, w in zip(row, weights)) + 0.5))

        for step in range(STEPS):
            batch = [(step * BATCH + i) % ROWS for i in range(BATCH)]
            errors = [predict(self.features[r]) - self.labels[r] for r in batch]
            for c in range(len(weights)):
                gradient = sum(error * self.features[r][c] for error, r in zip(errors, batch))
                weights[c] -= gradient * 2.0 ** -RATE_BITS
        return [predict(row) for row in self.features]


class SecureML(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="blindfl_secureml_")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.rows = Rows()
        self.rows.write(self.folder)
        for who in ("A", "B", "dealer", "stranger"):
            subprocess.run([program.program(), "keygen", "--name", who, "--out", str(self.folder)], check=True,
                           stdout=subprocess.DEVNULL)
        self.port = program.free_port()
        self.running = []
        self.patience = 60
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start(self, command, *words):
        lab = str(program.BUILD / "bin" / "blindfl_lab")
        process = subprocess.Popen([lab, command, "--patience", str(self.patience), *map(str, words)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def identity(self, who):
        return ["--certificate", self.folder / f"{who}.crt", "--key", self.folder / f"{who}.key"]

    def party(self, name, triplets, *more, steps=STEPS):
        link = ["--listen", f"127.0.0.1:{self.port}"] if name == "B" else ["--dial", f"127.0.0.1:{self.port}"]
        peer = self.folder / ("A.crt" if name == "B" else "B.crt")
        scores = ["--scores", self.folder / "scores.txt"] if name == "B" else []
        return self.start("secureml", "--party", name, *link, *self.identity(name), "--peer", peer, "--data",
                          self.folder / f"{name}.libsvm", "--features-a", OF_A, "--features-b", OF_B, "--triplets",
                          triplets, "--batch", BATCH, "--steps", steps, "--rate-bits", RATE_BITS, "--score-bits",
                          SCORE_BITS, *scores, *more)

    def ended(self, process):
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def check_training(self, processes):
        said = [self.ended(process) for process in processes]
        for code, out, err in said:
            self.assertEqual(code, 0, f"{out}\n{err}")
        released = [float(line) for line in (self.folder / "scores.txt").read_text().split()]
        expected = self.rows.predictions()
        self.assertEqual(len(released), ROWS)
        self.assertGreater(max(expected) - min(expected), 0.5, "training changes predictions by far more than rounding")
        furthest = max(abs(a - b) for a, b in zip(released, expected))
        print(f"furthest from the training in the clear: {furthest / UNIT:.1f} units of 2^-13")
        self.assertLess(furthest, 32 * UNIT)
        return [out for _, out, _ in said]

    def check_two(self, triplets):
        a, b = self.check_training([self.party("A", triplets), self.party("B", triplets)])
        self.assertIn("of all rows       AUC ", b)
        self.assertNotIn("of all rows", a)
        self.assertRegex(a, r"a mini-batch      .* bytes to the peer\n")

    def test_two_processes_with_oblivious_transfer(self):
        self.check_two("oblivious-transfer")

    def test_two_processes_with_the_lattice(self):
        self.check_two("lattice")

    def third_party(self, of_a, of_b):
        port_a, port_b = program.free_port(), program.free_port()
        dealer = self.start("deal", "--listen-a", f"127.0.0.1:{port_a}", "--listen-b", f"127.0.0.1:{port_b}",
                            *self.identity("dealer"), "--peer-a", self.folder / f"{of_a}.crt", "--peer-b",
                            self.folder / f"{of_b}.crt")
        to = {name: ["--third-party", f"127.0.0.1:{port}", "--third-party-certificate", self.folder / "dealer.crt"]
              for name, port in (("A", port_a), ("B", port_b))}
        return dealer, to

    def test_three_processes(self):
        dealer, to = self.third_party("A", "B")
        a, b, dealt = self.check_training([self.party("A", "third-party", *to["A"]),
                                           self.party("B", "third-party", *to["B"]), dealer])
        for said in (a, b):
            self.assertRegex(said, r" bytes to the peer, .* bytes to and from the third party\n")
        self.assertIn("dealt             all that A asked for\n", dealt)

    def test_a_third_party_that_ends_ends_both(self):
        dealer, to = self.third_party("A", "B")
        parties = [self.party(name, "third-party", *to[name], steps=1000000) for name in "AB"]
        self.assertEqual(dealer.stdout.readline()[:11], "waiting for")
        while dealer.stdout.readline().strip() != "dealing":
            self.assertIsNone(dealer.poll())
        dealer.terminate()
        code, _, err = self.ended(dealer)
        self.assertNotEqual(code, 0)
        self.assertIn("stopped; the others were told", err)
        for party in parties:
            code, _, err = self.ended(party)
            self.assertEqual(code, 1, err)
            self.assertIn("blindfl_lab secureml: ", err)

    def test_who_is_not_expected_gets_no_triplets(self):
        self.patience = 3  # of those who are refused, and call again
        dealer, to = self.third_party("stranger", "B")
        a = self.party("A", "third-party", *to["A"])
        self.party("B", "third-party", *to["B"])
        code, _, err = self.ended(a)
        self.assertEqual(code, 1)
        self.assertIn("certificate", err)
        dealer.terminate()
        self.assertNotIn("dealing", self.ended(dealer)[1])

    def test_other_settings_at_the_peer_are_refused(self):
        parties = [self.party("A", "oblivious-transfer"), self.party("B", "oblivious-transfer", "--hidden", 5)]
        for party in parties:
            code, _, err = self.ended(party)
            self.assertEqual(code, 1)
            self.assertIn("SecureML's training", err)

    def test_a_network_learns(self):
        processes = [self.party(name, "oblivious-transfer", "--hidden", 6, steps=200) for name in "AB"]
        said = [self.ended(process) for process in processes]
        self.assertEqual([code for code, _, _ in said], [0, 0], said)
        auc = float(said[1][1].split("AUC ")[1].split()[0])
        self.assertGreater(auc, 0.9)


if __name__ == "__main__":
    program.run_tests(__name__)
