"""scripts/bench_against compares the rows that it should, also where two commits call a way by other names."""

import json
import unittest

import script

BENCH = script.load("bench_against")


def rows(*measured):
    """As bench_batch --part wide prints them: (way, categories, milliseconds, kB)."""
    return BENCH.measured_rows(json.dumps({"way": way, "categories": categories, "computing_ms": ms, "a_kb": kb,
                                           "predicted": False}) for way, categories, ms, kb in measured)


class BenchAgainst(unittest.TestCase):
    def test_rows_that_differ_in_a_number_alone_are_two(self):
        found = list(BENCH.compared([rows(("ot", 100, 8, 4), ("ot", 10000, 80, 40))],
                                    [rows(("ot", 100, 4, 2), ("ot", 10000, 20, 10))], {}))
        self.assertEqual(found, [("ot 100 categories", "computing_ms", 8, 4), ("ot 100 categories", "a_kb", 4, 2),
                                 ("ot 10000 categories", "computing_ms", 80, 20), ("ot 10000 categories", "a_kb", 40, 10)])

    def test_a_way_stands_beside_another_one_of_before(self):
        before, now = [rows(("lattice", 100, 60, 30))], [rows(("ot", 100, 6, 3))]
        self.assertEqual(list(BENCH.compared(before, now, {})), [])
        self.assertEqual(list(BENCH.compared(before, now, {"ot": "lattice"})),
                         [("ot 100 categories / lattice 100 categories", "computing_ms", 60, 6),
                          ("ot 100 categories / lattice 100 categories", "a_kb", 30, 3)])

    def test_what_is_not_renamed_stays(self):
        both = rows(("ot", 100, 6, 3), ("encrypted", 100, 9, 9))
        earlier = rows(("lattice", 100, 60, 30), ("encrypted", 100, 18, 9))
        found = {name: (old, new) for name, key, old, new in BENCH.compared([earlier], [both], {"ot": "lattice"})
                 if key == "computing_ms"}
        self.assertEqual(found, {"ot 100 categories / lattice 100 categories": (60, 6), "encrypted 100 categories": (18, 9)})

    def test_medians_are_of_all_rounds(self):
        before = [rows(("ot", 1, ms, 0)) for ms in (9, 1, 5)]
        self.assertEqual(next(BENCH.compared(before, before, {}))[2:], (5, 5))

    def test_options_are_those_of_the_earlier_commit(self):
        self.assertEqual(BENCH.renamed(["--part", "wide", "--tables", "ot"], {"ot": "lattice"}),
                         ("--part", "wide", "--tables", "lattice"))

    def test_a_name_without_another_is_refused(self):
        for text in ("ot", "ot=", "=lattice", ""):
            with self.assertRaises(BENCH.argparse.ArgumentTypeError):
                BENCH.name_pair(text)


if __name__ == "__main__":
    unittest.main()
