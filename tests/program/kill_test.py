"""Processes are killed, and resume as if nothing had been: what only real processes show, files that are whole or not there,
locks, TLS. Kills at every step, early stopping and missing checkpoints are tests/train/training_loop_test.cpp, in one process."""

import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import program
from program import Pair, ProgramTest, wait_until

LR = {
    "model": {"kind": "lr", "top": "open"},
    "training": {"epochs": 14, "batch": 32, "learning_rate": 0.05, "momentum": 0.9, "validation_share": 0.1,
                 "checkpoint_every": 5},
    "alignment": {"mode": "aligned"},
}
INTERSECTION = {**LR, "alignment": {"mode": "intersection"}}
PATIENCE = {"link": {"patience": 5}}
KILLS = 6


class Reference:
    """The same run undisturbed, once for all tests. Rows that are found by their ids come in another order each time, so
    that runs can be compared only where row i is row i, or with themselves: `check_as_replayed`."""

    results, steps, seconds, bytes_sent = None, None, None, None

    @classmethod
    def make(cls):
        if cls.results is not None:
            return
        pair = Pair(LR, both_have_all=True)
        begin = time.monotonic()
        pair.both("train")
        cls.seconds = time.monotonic() - begin
        cls.results, cls.steps = pair.results(), pair.summary("b")["steps"]
        cls.bytes_sent = pair.summary("b")["sent"]["bytes"]
        pair.remove()
        print(f"undisturbed: {cls.steps} steps in {cls.seconds:.1f} s", flush=True)


def kill(parties, who):
    for name, party in zip("ab", parties):
        if name in who:
            party.signal(9)
    for name, party in zip("ab", parties):
        if name in who:
            party.process.wait()


def reached(pair, party, step):
    """Whether this party has a checkpoint of that step or a later one: a fast run may have removed its own again."""
    return max(pair.checkpoints(party), default=-1) >= step


def writes_checkpoint(pair, party):
    """Whether this party is in the midst of it."""
    try:
        return any(path.name.endswith(".blindfl-part") for path in (pair.folder / party / "run/checkpoints").iterdir())
    except OSError:
        return False


class Kill(ProgramTest):
    @classmethod
    def setUpClass(cls):
        Reference.make()

    def lr_pair(self, shared=LR, **run):
        private = {**PATIENCE, "run": run}
        return self.pair(shared, private_a=private, private_b=private, both_have_all=shared is LR)

    def check_survivor(self, party, resumable=False):
        """Whoever was left alone ends, and says why; only a run that was over ends well."""
        code = party.end()
        if code == 0:
            self.assertIn("model: ", party.printed())
            return
        self.assertEqual(code, 1, party.complaint())
        self.assertRegex(party.complaint(), r"^blindfl \w+: .*(peer|link)")
        if resumable:
            self.assertRegex(party.complaint(), r"Nothing is lost up to step \d+: `blindfl resume` at both parties")

    def kill_and_resume(self, pair, command, who, when, resumable=False, **extra):
        parties = pair.start(command, **extra)
        when(parties)
        kill(parties, who)
        for name, party in zip("ab", parties):
            if name not in who:
                self.check_survivor(party, resumable)

    def check_as_undisturbed(self, pair):
        pair.both("resume")
        self.check_finished(pair, Reference.steps)
        self.assert_same_results(pair.results(), Reference.results)
        self.assertGreaterEqual(pair.summary("b")["sent"]["bytes"], Reference.bytes_sent, "earlier processes count, too")

    def check_as_replayed(self, pair):
        """The run, which keeps all its checkpoints, ends where it ends again from its first step on."""
        pair.both("resume")
        self.check_finished(pair)
        results, steps = pair.results(), pair.summary("b")["steps"]
        for party in "ab":
            for step, path in pair.checkpoints(party).items():
                if step > 0:
                    path.unlink()
        pair.both("resume")
        self.check_finished(pair, steps)
        self.assert_same_results(results, pair.results())

    def one_kill(self, number):
        chance = random.Random(1000 + number)
        who = chance.choice(["a", "b", "ab"])
        fraction = chance.uniform(0, 1.15) if number % 2 else None
        after = chance.randrange(0, Reference.steps // 5) * 5
        watched = chance.choice("ab")
        by_ids = number % 3 == 1
        pair = self.lr_pair(INTERSECTION, keep=1000) if by_ids else self.lr_pair()

        def when(parties):
            if fraction is not None:
                time.sleep(fraction * Reference.seconds)
                return
            over = lambda: not any(party.is_running() for party in parties)
            wait_until(lambda: over() or reached(pair, watched, after))
            wait_until(lambda: over() or writes_checkpoint(pair, watched), seconds=2, tick=0)

        self.kill_and_resume(pair, "train", who, when)
        if by_ids:
            self.check_as_replayed(pair)
        else:
            self.check_as_undisturbed(pair)
        return f"{who} at {fraction:.2f}" if fraction is not None else f"{who} in a checkpoint after {after}"

    def test_a_run_survives_kills_at_any_moment(self):
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(self.one_kill, number) for number in range(KILLS)]
        for number, job in enumerate(jobs):
            with self.subTest(kill=number):
                print(f"kill {number}: {job.result()}", flush=True)

    def test_a_resumed_run_survives_a_kill_too(self):
        pair = self.lr_pair()
        self.kill_and_resume(pair, "train", "ab", lambda _: wait_until(lambda: reached(pair, "b", 10)))
        before = max(pair.checkpoints("b"))
        self.kill_and_resume(pair, "resume", "a", lambda parties: wait_until(
            lambda: max(pair.checkpoints("b"), default=-1) > before or not parties[1].is_running()), resumable=True)
        self.check_as_undisturbed(pair)

    def test_killed_before_anything_happened(self):
        pair = self.lr_pair()
        self.kill_and_resume(pair, "train", "ab", lambda _: None)
        self.kill_and_resume(pair, "resume", "ab", lambda _: time.sleep(0.05))
        self.check_as_undisturbed(pair)

    def test_a_resume_where_nothing_began_says_so(self):
        pair = self.lr_pair()
        for party in pair.both("resume"):
            self.assertRegex(party.printed(), "there is no run in .*run to continue: where the peer has none either, one begins")
        self.check_as_undisturbed(pair)

    def test_killed_when_the_folder_was_just_made(self):
        for party, file in (("a", "run/summary.json"), ("b", "run/alignment.bin")):
            with self.subTest(party=party, file=file):
                pair = self.lr_pair()
                self.kill_and_resume(pair, "train", "ab", lambda _: wait_until(
                    lambda: (pair.folder / party / file).exists(), tick=0))
                self.check_as_undisturbed(pair)

    def test_one_finished_and_the_other_was_killed_just_before(self):
        pair = self.lr_pair()
        self.kill_and_resume(pair, "train", "b", lambda parties: wait_until(
            lambda: (pair.b / "run/model/preparation.bin").exists() or not parties[0].is_running(), tick=0))
        self.check_as_undisturbed(pair)
        # And once more when the other surely is done.
        (pair.a / "run/model/model.bin").unlink()
        self.check_as_undisturbed(pair)

    def test_pieces_of_two_attempts_never_meet(self):
        """A has checkpoints that B has not: A is asked, and its old ones are set aside before B gets there again."""
        pair = self.lr_pair(keep=50)
        self.kill_and_resume(pair, "train", "ab", lambda _: wait_until(lambda: reached(pair, "b", 30)))
        newest = max(pair.checkpoints("a"))
        self.assertGreaterEqual(newest, 25)
        for step, path in pair.checkpoints("b").items():
            if step > newest - 20:
                path.unlink()
        old = pair.checkpoints("a")[newest].stat().st_ino
        a, b = pair.start("resume")
        self.assertEqual([a.end(), b.end()], [1, 1])
        self.assertRegex(a.complaint(), rf"checkpoints up to step {newest}, the peer up to step \d+.*--go-back")
        self.assertEqual(max(pair.checkpoints("a")), newest, "nothing is touched")
        again = lambda: any(newest - 20 < step < newest for step in pair.checkpoints("b"))
        left = []

        def when(_):
            wait_until(again)
            left.append(pair.checkpoints("a").get(newest))

        self.kill_and_resume(pair, "resume", "ab", when, extra_a=["--go-back"])
        self.assertTrue(left[0] is None or left[0].stat().st_ino != old)
        aside = {path.stat().st_ino for path in (pair.a / "run/checkpoints/superseded").iterdir()}
        self.assertIn(old, aside)
        self.check_as_undisturbed(pair)

    def test_a_resume_without_the_peer_changes_nothing(self):
        pair = self.pair(LR, private_a={"link": {"patience": 1}}, private_b={"link": {"patience": 20}}, both_have_all=True)
        pair.both("train", extra=["--set", "shared.training.epochs=1"])
        before = pair.summary("a")
        lonely = program.Process("resume", pair.a, ["--set", "shared.training.epochs=1"])
        self.assertEqual(lonely.end(), 1)
        self.assertIn("peer", lonely.complaint())
        self.assertEqual(pair.summary("a"), before)

    def wide_and_deep_killed_on_its_way(self, training, scheme):
        """Trained to its end, and once more with both killed on the way: the results are the same. Returns the pair, and what resumed."""
        shared = {
            "model": {"kind": "wdl", "top": "open", "hidden": [4], "embedding_dim": 2},
            "training": {"epochs": 3, "batch": 32, "learning_rate": 0.05, "checkpoint_every": 2, **training},
            "scheme": scheme,
            "alignment": {"mode": "aligned"},
        }
        pair = self.pair(shared, columns={"one_hot": False}, both_have_all=True, private_a=PATIENCE, private_b=PATIENCE,
                         table=program.Table(7, 90), test=program.Table(8, 40, first_id=50000))
        pair.both("train")
        expected, steps = pair.results(), pair.summary("b")["steps"]
        for party in (pair.a, pair.b):
            shutil.rmtree(party / "run")
        self.kill_and_resume(pair, "train", "ab", lambda _: wait_until(lambda: reached(pair, "b", 4)))
        resumed = pair.both("resume")
        self.check_finished(pair, steps)
        self.assert_same_results(pair.results(), expected)
        return pair, resumed

    def test_weights_under_encryption_survive(self):
        self.wide_and_deep_killed_on_its_way({}, {"update": "encrypted", "default": "paillier", "automatic": False})

    def test_tables_by_oblivious_transfer_survive(self):
        """Keys of look-ups are of a process: who resumes makes others, in a session of its own, and the model is the same."""
        pair, resumed = self.wide_and_deep_killed_on_its_way({"momentum": 0.9}, {"tables": "ot"})
        for party in resumed:
            self.assertRegex(party.printed(), r"resuming after step \d+ of ")
        for party in (pair.a, pair.b):
            ledgers = list((party / "run").glob("*.ledger"))
            self.assertGreaterEqual(len(ledgers), 2, "one of each process")
            for ledger in ledgers:
                self.assertIn("\tpadded table\t", ledger.read_text(), ledger)


if __name__ == "__main__":
    program.run_tests("__main__")
