#!/usr/bin/env python3
"""Pastes the blocks of README.md, section "Your own data", as they stand: from two files to scores.

usage: readme.py README.md PROGRAM_FOLDER [--show]

The blocks are those of docs/tutorial.md (tutorial.py), at the parties `app` and `bank`, with made-up tables of a few hundred people.
Exit codes: 0, 1.
"""

import csv
import math
import random
import re
import sys
import tempfile
from pathlib import Path

from tutorial import World, blocks_of, fail

kNames = {"a": "app", "b": "bank"}
kRows, kNew = 300, 60


def tables(seed, first, rows, with_labels):
    """What app and bank know about people, whose default follows from both tables; each in an order of its own."""
    chance = random.Random(seed)
    of_app, of_bank = [], []
    for i in range(first, first + rows):
        hours, friends, age = chance.gauss(0, 1), chance.randrange(0, 30), chance.randrange(18, 80)
        debt, city = round(math.exp(chance.gauss(7, 1)), 2), chance.choice(["Bern", "Oslo", "Rome"])
        risk = 1.5 * hours + 0.8 * math.log(debt / 1000) + (city == "Rome")
        of_app.append([f"c{i}", round(hours, 3), friends, city])
        label = [("yes" if risk + chance.gauss(0, 0.5) > 0.5 else "no")] if with_labels else []
        of_bank.append([f"c{i}", age, debt, *label])
    chance.shuffle(of_app)
    return of_app[rows // 10:], of_bank[:-rows // 10]  # each lacks some people


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def make_data(folder):
    for name, first, rows, labels in (("", 0, kRows, True), ("new_", 5000, kNew, False)):
        of_app, of_bank = tables(7 + first, first, rows, labels)
        write(folder / "app" / f"{name}people.csv", ["customer", "hours_online", "friends", "city"], of_app)
        write(folder / "bank" / f"{name}loans.csv", ["customer", "age", "debt", *(["default"] if labels else [])], of_bank)
        common = {row[0] for row in of_app} & {row[0] for row in of_bank}
    return common


def check_scores(path, common):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if {row["id"] for row in rows} != common or len(rows) != len(common):
        fail(path, "has", len(rows), "rows, and", len(common), "people are common")
    if not all(0 <= float(row["score_yes"]) <= 1 for row in rows):
        fail(path, "has a score that is no probability")


def main():
    page, programs = (Path(word).resolve() for word in sys.argv[1:3])
    section = re.search(r"^## Your own data\n(.*?)^## ", page.read_text(), re.M | re.S)
    blocks = blocks_of(section.group(1))
    said = {"app": "", "bank": "", "between": ""}
    with tempfile.TemporaryDirectory(prefix="blindfl-readme-") as folder:
        world = World(folder, programs, "", "--show" in sys.argv, kNames)
        common = make_data(world.folder)
        for info, text, _ in blocks:
            for name, output in world.run(info, text).items():
                said[name] += output
        check_scores(world.folder / "bank" / "scores.csv", common)
        if list((world.folder / "app").rglob("*score*")):
            fail("there are scores at the app")
    for words in ("positive class: yes; the other: no", "identity: keys/bank.crt", "time"):
        if words not in said["bank"]:
            fail("the bank was not told:", words, "but\n" + said["bank"])
    if "the scores are B's alone" not in said["app"]:
        fail("the app was told\n" + said["app"])
    print(f"{len(blocks)} blocks of {page.name} do what it says")


if __name__ == "__main__":
    main()
