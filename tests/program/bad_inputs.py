#!/usr/bin/env python3
"""Bad inputs to the program `blindfl`, one row each: what is wrong, who runs what, and what must be said.

usage: bad_inputs.py PROGRAM [--show] [--only WORD]

A row changes a little of a setup that works (bad_inputs_bench.py). For every row: the exit code, words that name the
place and words that say what to do are in the message; it holds no value of the data and nothing of a key; nothing
crashes or hangs; no file is left half written. --show prints all messages instead of only wrong ones.
"""

import argparse
import concurrent.futures
import fcntl
import pathlib
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the folder of the sources stays as it is

from bad_inputs_bench import MARK, Caller, Party, Stranger, files_in, free_port, make_good, state_of
from bad_inputs_table import APART, GROUPS, MEETING, USAGE

GOOD_PORT = "20999"  # stands in the job files of the good setup; each row has its own
GOOD_PATIENCE = "patience: 59"

CRASHES = ("terminate called", "what():", "Exception raised from", "c10::", "std::", "Aborted", "Segmentation", "#0 ",
           "AddressSanitizer", "blindfl::", "basic_string", "filesystem error", "bad_alloc")
GARBAGE = bytes(range(256)) * 16


class Lock:
    """The lock of a run's folder, held by another process: this one."""

    def __init__(self, path):
        self._file = open(path, "r+")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def close(self):
        self._file.close()


def stranger_of(case, folder, port):
    """Who else is there, and the port at which the parties meet them."""
    if case.stranger == "caller":
        return Caller(port, GARBAGE), port
    if case.stranger == "lock":
        return Lock(folder / "a/run/run.lock"), port
    manners = {"taken": (b"", 0), "garbage": (GARBAGE, 0.2), "closes": (b"", 0), "silent": (b"", 60)}
    stranger = Stranger(*manners[case.stranger])
    return stranger, stranger.port


def faults_of(case, party, run, secrets):
    """What is wrong with how one party failed."""
    faults = []
    if run.hung:
        return [f"{party} did not end"]
    if run.code != case.code:
        faults.append(f"{party} ended with {run.code} instead of {case.code}")
    if run.seconds > 28 and case.patience == MEETING:
        faults.append(f"{party} ended only when its patience did, after {run.seconds:.0f} s")
    words = case.says.get(party, ())
    message = " ".join(run.err.split())
    for word in words:
        either = word if isinstance(word, tuple) else (word,)  # who fails first says why, and the other that it did
        if not any(one in message for one in either):
            faults.append(f"{party} does not say {' or '.join(map(repr, either))}")
    if not run.err.startswith("blindfl") or len(run.err.splitlines()) > (2 if case.code == USAGE else 1):
        faults.append(f"{party}'s message is not one line of the program's")
    if len(message) < 40 or len(message) > 600:
        faults.append(f"{party}'s message has {len(message)} characters")
    both = run.out + run.err
    faults += [f"{party} crashed, or shows its inside: {word}" for word in CRASHES if word in both]
    # B is told the names of its own classes, on its own screen; no error may have them.
    told = both if party == "a" else re.sub(r"^positive class: .*$", "", run.out, flags=re.M) + run.err
    faults += [f"{party} tells a secret" for secret in secrets if secret in told]
    return faults


def faults_of_files(case, folder, before):
    """Files that a failed command must not leave."""
    faults = []
    for name in sorted(files_in(folder) - before):
        if not any(name.startswith(f"{party}/run/") for party in "ab") or name.endswith(".blindfl-part"):
            faults.append(f"left behind: {name}")
    for party in "ab":
        state = None if f"{party}/run/summary.json" in before else state_of(folder, party)
        if state not in (None, "failed"):
            faults.append(f"the run at {party} says that it is {state}")
    return faults


def run_case(case, program, good, folder):
    """Changes a copy of the good setup, runs it, and returns the faults and what the parties said."""
    needs_runs = any(getattr(change, "__qualname__", "").startswith("kept.") for change in case.changes)
    shutil.copytree(good, folder, ignore=None if needs_runs else shutil.ignore_patterns("kept_*"))
    port, stranger, runs = free_port(), None, {}
    for change in case.changes:
        change(folder)
    if case.stranger:
        stranger, port = stranger_of(case, folder, port)
    for party in "ab":
        path = folder / party / "job.yaml"
        if path.exists():
            text = path.read_text().replace(GOOD_PORT, str(port))
            path.write_text(text.replace(GOOD_PATIENCE, f"patience: {case.patience['ab'.index(party)]}"))
    before = files_in(folder)
    secrets = [MARK, "hush"] + [line for key in folder.glob("*/*.key") for line in key.read_text().splitlines()]
    begin = time.monotonic()
    for party, command in sorted(case.run.items(), reverse=True):  # B listens
        words = command.split() if isinstance(command, str) else command
        runs[party] = Party(program, folder, party, [word.replace("PORT", str(port)) for word in words])
        if len(case.run) > 1 and party == "b":
            runs[party].wait_until_it_listens()
    for run in runs.values():
        run.wait()
    if stranger:
        stranger.close()
    faults = [fault for party, run in runs.items() for fault in faults_of(case, party, run, secrets)]
    if any(not word for words in case.says.values() for word in words) or case.says.keys() != case.run.keys():
        faults.append("the row does not say what each party must")
    faults += faults_of_files(case, folder, before)
    shutil.rmtree(folder)
    said = {party: run.err.strip() for party, run in runs.items()}
    return faults, said, time.monotonic() - begin


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--show", action="store_true")
    options.add_argument("--only", default="")
    options.add_argument("--parallel", type=int, default=6)
    given = options.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    rows = [(f"{group}: {case.name}", case) for group, cases in GROUPS.items() for case in cases]
    rows = [(name, case) for name, case in rows if given.only in name]
    names = [name for name, _ in rows]
    assert len(set(names)) == len(names), "two rows have the same name"
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        make_good(program, scratch / "good", GOOD_PORT)
        with concurrent.futures.ThreadPoolExecutor(given.parallel) as pool:
            slow_first = sorted(rows, key=lambda row: (row[1].patience != APART, -len(row[1].run)))
            work = {name: pool.submit(run_case, case, program, scratch / "good", scratch / f"row{number}")
                    for number, (name, case) in enumerate(slow_first)}
            for name in names:
                try:
                    faults, said, seconds = work[name].result()
                except (AssertionError, OSError) as problem:
                    faults, said, seconds = [f"the row itself: {problem}"], {}, 0
                wrong += bool(faults)
                if faults or given.show:
                    print(f"{'WRONG' if faults else 'fine '} {name} ({seconds:.1f} s)")
                    for line in faults:
                        print(f"      - {line}")
                    for party, message in said.items():
                        print(f"      {party}: {message}")
    print(f"{len(rows)} bad inputs, {wrong} of them answered wrongly")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
