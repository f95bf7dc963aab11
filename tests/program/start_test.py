"""How the program starts: without torch, and as `blindfl-torch` only where a model is worked with."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import program

HEAVY = ("torch", "c10", "caffe2", "mkl", "openblas")


def run(*words, program_file=None, **options):
    return subprocess.run([program_file or program.program(), *words], capture_output=True, text=True, timeout=60, **options)


def loaded(*words):
    """The libraries that a call loads, in lines: the dynamic linker's own account of it. Without the addresses behind
    them, in which anything may be found that looks like a number: c10, too."""
    traced = run(*words, env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"})
    return "\n".join(line.split(" (0x")[0] for line in traced.stdout.splitlines())


class Start(unittest.TestCase):
    def test_the_program_loads_no_torch(self):
        libraries = loaded("--version")
        self.assertIn("libc.so", libraries)
        for name in HEAVY:
            self.assertNotIn(name, libraries)

    def test_the_other_program_does(self):
        traced = run("inspect", program_file=program.program() + "-torch", env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"})
        self.assertIn("libtorch", traced.stdout)

    def test_small_commands_are_small(self):
        commands = [line.split()[0] for line in run("--help").stdout.split("commands:\n")[1].split("\n\n")[0].splitlines()]
        self.assertIn("train", commands)
        self.assertIn("keygen", commands)
        for words in (["--version"], ["--help"], *([name, "--help"] for name in commands)):
            child = subprocess.Popen([program.program(), *words], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0, words)
            self.assertLess(used.ru_maxrss, 60_000, words)  # kB; with torch it is 170 MB

    def test_mistakes_are_told_without_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(program.program(), folder)  # there is no other program here
            job = Path(folder, "job.yaml")
            job.write_text("shared: {model: {kind: lrr}}\n")
            wrong = run("train", "--job", str(job), program_file=alone)
            self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
            self.assertRegex(wrong.stderr, r"^blindfl train: .*job.yaml:1:\d+: .*lrr")
            self.assertEqual(run("train", program_file=alone).returncode, 2)
            help_text = run("train", "--help", program_file=alone)
            self.assertEqual(help_text.returncode, 0)
            self.assertEqual(help_text.stdout, run("train", "--help", program_file=program.program() + "-torch").stdout)

    def test_says_where_it_looked_for_the_other_program(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(program.program(), folder)
            lost = run("inspect", "--folder", folder, program_file=alone)
            self.assertEqual(lost.returncode, 1)
            self.assertRegex(lost.stderr, r"^blindfl inspect: .*blindfl-torch.* neither .* nor .*libexec/blindfl/blindfl-torch; .*install")

    def test_finds_the_other_program_where_it_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            home, attic = Path(folder, "bin"), Path(folder, "libexec", "blindfl")
            home.mkdir()
            attic.mkdir(parents=True)
            installed = shutil.copy(program.program(), home)
            (attic / "blindfl-torch").symlink_to(program.program() + "-torch")
            link = Path(folder, "anywhere")
            link.symlink_to(installed)
            for name in (installed, str(link)):
                found = run("inspect", "--folder", folder, program_file=name)
                self.assertEqual(found.returncode, 1)
                self.assertRegex(found.stderr, r"^blindfl inspect: .*neither of a run nor of a model")

    def test_words_reach_the_other_program_as_they_were_written(self):
        with tempfile.TemporaryDirectory() as folder:
            name = "a b'\"=\\ \u00e9*"
            found = run("inspect", f"--folder={name}", cwd=folder)
            self.assertEqual(found.returncode, 1)
            self.assertIn(name, found.stderr)

    def test_a_job_may_come_through_a_pipe(self):
        piped = run("train", "--job", "/dev/stdin", input="shared: {model: {kind: lrr}}\n")
        self.assertEqual(piped.returncode, 1)
        self.assertRegex(piped.stderr, r"^blindfl train: .*lrr")

    def test_it_stays_the_same_process(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = Path(folder, "job.yaml")
            os.mkfifo(fifo)
            child = subprocess.Popen([program.program(), "train", "--job", str(fifo)], stderr=subprocess.PIPE)
            name = Path("/proc", str(child.pid), "exe")
            end = time.monotonic() + 30
            while time.monotonic() < end and not os.readlink(name).endswith("blindfl-torch"):
                time.sleep(0.01)
            self.assertTrue(os.readlink(name).endswith("blindfl-torch"))
            self.assertEqual(Path("/proc", str(child.pid), "cmdline").read_bytes().split(b"\0")[0], b"blindfl")
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=30)
            self.assertEqual(child.returncode, -signal.SIGTERM)


if __name__ == "__main__":
    program.run_tests("__main__")
