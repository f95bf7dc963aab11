"""Ctrl-C at one party: both stop in order, and resume later."""

import signal
import time

import program
from program import Pair, Process, ProgramTest, wait_until

LR = {
    "model": {"kind": "lr", "top": "open"},
    "training": {"epochs": 8, "batch": 32, "learning_rate": 0.05, "momentum": 0.9, "validation_share": 0.1},
    "alignment": {"mode": "aligned"},
}


class Interrupt(ProgramTest):
    def wait_for_step(self, pair, party, step):
        def reached():
            try:
                return pair.metrics(party)[-1]["step"] >= step
            except (OSError, IndexError, ValueError):
                return False
        self.assertTrue(wait_until(reached))

    def test_both_stop_in_order_and_resume(self):
        undisturbed = self.pair(LR, both_have_all=True)
        undisturbed.both("train")
        for who in (0, 1):
            with self.subTest(party="ab"[who]):
                pair = self.pair(LR, both_have_all=True)
                parties = pair.start("train")
                self.wait_for_step(pair, "ab"[who], 12)
                parties[who].signal(signal.SIGINT)
                for name, party in zip("ab", parties):
                    self.assertEqual(party.end(), 1)
                    self.assertRegex(party.complaint(), r"^blindfl train: stopped after step \d+ of \d+; .*`blindfl resume`")
                    self.assertEqual(pair.summary(name)["state"], "interrupted")
                self.assertEqual(pair.summary("a")["steps"], pair.summary("b")["steps"])
                self.assertLess(pair.summary("a")["steps"], undisturbed.summary("a")["steps"])
                self.check_no_leftovers(pair)
                pair.both("resume")
                self.check_finished(pair, undisturbed.summary("b")["steps"])
                self.assert_same_results(pair.results(), undisturbed.results())

    def test_whoever_waits_for_the_peer_ends_at_once(self):
        for party, line in (("a", "dialling"), ("b", "listening")):
            with self.subTest(party=party):
                pair = self.pair(LR, both_have_all=True)
                lonely = Process("train", pair.folder / party, [])
                self.assertTrue(wait_until(lambda: line in lonely.printed()))
                begin = time.monotonic()
                lonely.signal(signal.SIGINT)
                self.assertEqual(lonely.end(), 1)
                self.assertLess(time.monotonic() - begin, 10)  # patience is 20 s
                self.assertRegex(lonely.complaint(), r"^blindfl train: .*(stopped|interrupted)")
                self.assertFalse((pair.folder / party / "run").exists())
                self.check_no_leftovers(pair)

    def with_epochs(self, epochs, **more):
        training = {**LR["training"], "epochs": epochs, **more}
        return self.pair({**LR, "training": training}, both_have_all=True)

    def failing(self, pair, command, **extra):
        """What both say, who must fail."""
        parties = pair.start(command, **extra)
        self.assertEqual([party.end() for party in parties], [1, 1])
        return [party.complaint() for party in parties]

    def test_a_finished_run_goes_on_to_more_epochs(self):
        schedule = {"schedule": [{"epoch": 2, "learning_rate": 0.02}]}
        expected, pair = self.with_epochs(5, **schedule), self.with_epochs(3, **schedule)
        expected.both("train")
        pair.both("train")
        pair.both("resume", extra=["--epochs", "5"])
        self.check_finished(pair, expected.summary("b")["steps"])
        self.assert_same_results(pair.results(), expected.results())
        # The model is one that predicts.
        pair.both("evaluate")
        # The slower of the two may hear of the other's end first.
        self.assertIn("say how far it goes with `blindfl resume --epochs N`", " ".join(self.failing(pair, "resume")))
        for said in self.failing(pair, "resume", extra_a=["--epochs", "6"], extra_b=["--epochs", "7"]):
            self.assertRegex(said, r"how far the run goes.*(6 here and 7|7 here and 6)")

    def test_an_encrypted_run_does_not_go_on_to_more_epochs(self):
        shared = {**LR, "training": {**LR["training"], "epochs": 1}, "scheme": {"update": "encrypted"}}
        pair = self.pair(shared, both_have_all=True, table=program.Table(3, 60), test=program.Table(4, 20, first_id=70000))
        pair.both("train")
        said = " ".join(self.failing(pair, "resume", extra=["--epochs", "2"]))
        self.assertIn("updates weights under encryption, in sums with room for the 1 epochs", said)

    def test_a_resume_with_other_options_names_them(self):
        pair = self.with_epochs(1)
        pair.both("train")
        kept = (pair.a / "run/job.yaml").read_text()
        self.assertIn("\n    batch: 32\n", kept)
        self.assertIn("# weight_seed: secret, and not kept", kept)
        for option, was, other in (("shared.training.batch", "32", "64"), ("shared.training.epochs", "1", "2"),
                                   ("private.data.delimiter", '","', "tab")):
            lonely = Process("resume", pair.a, ["--set", f"{option}={other}"])
            self.assertEqual(lonely.end(), 1)
            self.assertIn(f"{option} was {was}, is {other}", lonely.complaint())

    def test_the_second_time_ends_at_once(self):
        pair = self.pair(LR, both_have_all=True)
        parties = pair.start("train")
        self.wait_for_step(pair, "b", 3)
        # A sleeps, so that B cannot stop in order.
        parties[0].signal(signal.SIGSTOP)
        parties[1].signal(signal.SIGINT)
        time.sleep(1)
        self.assertTrue(parties[1].is_running())
        begin = time.monotonic()
        parties[1].signal(signal.SIGINT)
        self.assertEqual(parties[1].end(), 1)
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(pair.summary("b")["state"], "interrupted")
        parties[0].signal(signal.SIGCONT)
        self.assertEqual(parties[0].end(), 1)
        self.assertIn("peer", parties[0].complaint())
        pair.both("resume")
        self.check_finished(pair)


if __name__ == "__main__":
    program.run_tests("__main__")
