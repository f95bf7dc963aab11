#!/usr/bin/env python3
"""Does what docs/tutorial.md says, and compares what comes out with what it prints.

usage: tutorial.py TUTORIAL.md PROGRAM_FOLDER DATA_FOLDER [--show]

Blocks of the page that are run, in order, in the folders `ann` and `bob` of a scratch folder (readme.py has others):

  ```sh a, ```sh b   at Ann's, at Bob's
  ```sh both         at both at the same time: each line by both, or by the one whose name it begins with (`ann$ `)
  ```sh both stop    the same, and Ann presses Ctrl-C when her first epoch is over
  ```sh between      what is carried from one to the other, in the folder that has both

A ```text block after one of them is what comes out, abridged. Its lines that are the same on every machine (kExact) must
come out; an AUC must come out within kTolerance. Addresses become loopback ones. Exit codes: 0, 1, and 77 where the data is missing.
"""

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

kTolerance = 0.005
kLeastAuc = {"adult": 0.885, "breast": 0.975}
kSeconds = 300  # that one command may take on a busy machine
kData = ["adult.data.xz", "adult.test.xz", "fate-vertical/breast_hetero_guest.csv.xz",
         "fate-vertical/breast_hetero_host.csv.xz"]
kExact = re.compile(r"(aligned: |scored |the peer has |real rows: |positive class: |missing cells|the training rows have the same ids|rows \d|read \d+ rows$|The link works|The ledgers agree|"
                    r"run: |scores: |\s+\w+ +(id|label|numeric|categorical))")
kAuc = re.compile(r"(?:test +)?auc +([0-9.]+)")
kNames = {"a": "ann", "b": "bob"}


def fail(*words):
    print("tutorial:", *words)
    sys.exit(1)


def blocks_of(page):
    """(info, text, what comes out or None) of each block that is run."""
    found = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", page, re.M | re.S)
    blocks = []
    for language, info, text in found:
        if language == "sh" and info.strip():
            blocks.append([info.split(), text, None])
        elif language == "text" and blocks and blocks[-1][2] is None:
            blocks[-1][2] = text
    return blocks


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class World:
    """The scratch folder with Ann's and Bob's, and what they run."""

    def __init__(self, folder, programs, data, show, names=kNames):
        self.folder, self.show, self.names = Path(folder), show, names
        self.ports = {}  # that of each port on the page
        self.environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", BLINDFL_DATA=str(data))
        for name in names.values():
            (self.folder / name).mkdir()

    def port(self, of_page):
        return self.ports.setdefault(of_page, str(free_port()))

    def start(self, name, text):
        text = re.sub(r"(?:\w+\.example|0\.0\.0\.0):(\d+)", lambda found: "127.0.0.1:" + self.port(found[1]), text)
        log = open(self.folder / f"{name or 'between'}.log", "w+")
        process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder / name, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        return process, log, text

    def finish(self, job, may_fail=False):
        process, log, text = job
        try:
            code = process.wait(kSeconds)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "none in time"
        log.seek(0)
        output = log.read()
        log.close()
        if self.show:
            print(f"$ {text}\n{output}", flush=True)
        if code != 0 and not may_fail:
            fail("exit code", code, "of\n" + text + "\nwhich printed\n" + output)
        return code, output

    def stop_after_an_epoch(self, job):
        """Ctrl-C at the process that `exec` made of the shell, when it has printed its first epoch."""
        end = time.monotonic() + kSeconds
        while "epoch 1/" not in Path(job[1].name).read_text():
            if job[0].poll() is not None or time.monotonic() > end:
                fail("there was no first epoch to stop after:", Path(job[1].name).read_text())
            time.sleep(0.02)
        job[0].send_signal(signal.SIGINT)

    def run(self, info, text):
        """What each printed, by name."""
        if info[0] == "between":
            return {"between": self.finish(self.start("", text))[1]}
        if info[0] in self.names:
            name = self.names[info[0]]
            return {name: self.finish(self.start(name, text))[1]}
        stops = "stop" in info
        jobs = {}
        for name in self.names.values():
            mine = [re.sub(r"^\w+\$ ", "", line) for line in text.splitlines() if line.startswith(name + "$ ")
                    or not re.match(r"\w+\$ ", line)]
            jobs[name] = self.start(name, "\n".join(mine).replace("blindfl train", "exec blindfl train"))
        try:
            if stops:
                self.stop_after_an_epoch(jobs["ann"])
            done = {name: self.finish(job, may_fail=stops) for name, job in jobs.items()}
        finally:
            for process, _, _ in jobs.values():
                process.kill()  # does nothing to one that has ended
        for name, (code, output) in done.items():
            if stops and (code != 1 or "blindfl resume" not in output):
                fail("an interrupted run should end with 1 and words on resume at", name, "but:", code, output)
        return {name: output for name, (_, output) in done.items()}


def compare(printed, outputs, where):
    """Lines of the page that should be the same, and AUCs, against what came out. Gives the AUCs."""
    lines = [line.rstrip() for output in outputs.values() for line in output.splitlines()]
    aucs = []
    for line in printed.splitlines():
        line = re.sub(r"^(ann|bob): ", "", line.rstrip())
        found = kAuc.match(line)
        if found:
            real = [float(m.group(1)) for m in map(kAuc.match, lines) if m]
            if not real or min(abs(float(found.group(1)) - value) for value in real) > kTolerance:
                fail("the tutorial prints", line, "but", real, "came out of", where)
            aucs += real
        elif kExact.match(line) and line not in lines:
            fail("the tutorial prints\n" + line + "\nwhich did not come out of\n" + where + "\nbut:\n" + "\n".join(lines))
    return aucs


def ids_of(path):
    with open(path, newline="") as file:
        return [row["id"] for row in csv.DictReader(file)]


def check_scores(path, theirs, ours, column):
    """One score between 0 and 1 for each person that both have, and for nobody else."""
    common = set(ids_of(theirs)) & set(ids_of(ours))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if sorted(row["id"] for row in rows) != sorted(common):
        fail(path, "has", len(rows), "rows, and", len(common), "people are common")
    if not all(0 <= float(row[column]) <= 1 for row in rows):
        fail(path, "has a score that is no probability")


def check_no_scores(folder):
    """Nothing at Ann's tells of labels or scores."""
    work = {"rows_per_second", "seconds_per_step", "seconds_computing", "seconds_waiting", "bytes_sent", "bytes_received",
            "memory_bytes", "learning_rate"}
    for path in folder.rglob("*"):
        if "score" in path.name:
            fail("there is", path, "at A")
        if path.name == "metrics.jsonl":
            for line in path.read_text().splitlines():
                more = set(json.loads(line)["values"]) - work
                if more:
                    fail(path, "tells of", more)
        if path.name == "summary.json" and json.loads(path.read_text())["results"]:
            fail(path, "has results")


def check_files(folder):
    for data in ("adult", "breast"):
        ann, bob = folder / "ann" / data, folder / "bob" / data
        rows = "new.csv" if data == "adult" else "test.csv"
        column = "score_>50K" if data == "adult" else "score_1"  # of the positive class
        check_scores(bob / "scores.csv", ann / rows, bob / rows, column)
        check_scores(bob / "run" / "test_scores.csv", ann / "test.csv", bob / "test.csv", column)
    check_no_scores(folder / "ann")
    # Rows that are in order as they are get the same bytes each time.
    bob = folder / "bob" / "breast"
    if (bob / "scores.csv").read_bytes() != (bob / "run" / "test_scores.csv").read_bytes():
        fail("the scores of breast's test rows are others than at the end of training")


def main():
    show = "--show" in sys.argv
    page, programs, data = (Path(word).resolve() for word in sys.argv[1:4])
    data = Path(os.environ.get("BLINDFL_DATA", data))
    for name in kData:
        if not (data / name).exists():
            print("skipped: real data set", name, "is missing; set BLINDFL_DATA to the folder that has it")
            sys.exit(77)
    blocks = blocks_of(page.read_text())
    aucs = {name: [] for name in kLeastAuc}
    with tempfile.TemporaryDirectory(prefix="blindfl-tutorial-") as folder:
        world = World(folder, programs, data, show)
        for info, text, printed in blocks:
            outputs = world.run(info, text)
            which = "breast" if "breast" in text else "adult"
            if printed:
                aucs[which] += compare(printed, outputs, text)
        check_files(world.folder)
    for which, least in kLeastAuc.items():
        if not aucs[which] or min(aucs[which]) < least:
            fail("AUCs of", which, "are", aucs[which], "and should be", least, "at least")
    print(f"{len(blocks)} blocks of {page.name} do what it says; AUCs {aucs}")


if __name__ == "__main__":
    main()
