"""scripts/demo_against reads what `blindfl train` says of its time, in any unit."""

import unittest

import script

DEMO = script.load("demo_against")

SAID = """training on 5,530 rows, validating on 1053
epoch 1/1  499 rows/s  56.7 MB/s
reading, meeting, aligning                        4.99 s
training: private products                        0 ms
training: top layers, optimizer, batches, logs    3.97 s
training: waiting for the peer                    9.95 s
training: handing over to the link                661 ms
training            predicted 7.91 s        measured 1 min 02 s
a step              predicted 180 ms        measured 257 ms
"""


class DemoAgainst(unittest.TestCase):
    def test_seconds_are_those_measured_in_any_unit(self):
        self.assertEqual(DEMO.seconds_of_training(SAID), 62)
        self.assertEqual(DEMO.seconds_of_training(SAID.replace("1 min 02 s", "11.3 s")), 11.3)
        self.assertAlmostEqual(DEMO.seconds_of_training(SAID.replace("1 min 02 s", "661 ms")), 0.661)

    def test_rows_are_those_that_are_trained_on(self):
        self.assertEqual(DEMO.rows_of_training(SAID), 5530)

    def test_a_program_that_says_nothing_of_its_time_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no time of training"):
            DEMO.seconds_of_training("training on 5530 rows\n")

    def test_earlier_commits_are_built_as_for_benchmarks(self):
        self.assertTrue(callable(DEMO.bench_against().build_of))


if __name__ == "__main__":
    unittest.main()
