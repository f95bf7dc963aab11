#!/usr/bin/env python3
"""Does what docs/tutorial_three.md says, and looks whether its lines come out.

usage: tutorial_three.py TUTORIAL.md PROGRAM_FOLDER [--show]
"""

import re
import sys
import tempfile
from pathlib import Path

from tutorial import World, blocks_of, check_scores, fail

NAMES = {"lender": "lender", "shop": "shop", "phone": "phone"}


def main():
    page, programs = (Path(word).resolve() for word in sys.argv[1:3])
    lines = 0
    with tempfile.TemporaryDirectory(prefix="blindfl-tutorial-") as folder:
        world = World(folder, programs, "", "--show" in sys.argv, NAMES)
        for info, text, printed in blocks_of(page.read_text()):
            outputs = world.run(info, text)
            for line in (printed or "").splitlines():
                found = re.match(r"(\w+): (.*)", line)
                name, words = found.groups() if found and found[1] in outputs else (None, line)
                words = re.sub(r"port \d+", lambda m: "port " + world.ports[m[0].split()[1]], words)
                wanted = [outputs[name]] if name else outputs.values()
                if not any(words in output.splitlines() for output in wanted):
                    fail("the tutorial prints\n" + line + "\nwhich did not come out of\n" + text + "\nbut:\n" + "\n".join(wanted))
                lines += 1
        lender = Path(folder) / "lender"
        for other in ("shop", "phone"):
            people = Path(folder) / other / "test.csv"
            common = lender / f"with_{other}.csv"
            known = {row.split(",")[0] for row in people.read_text().splitlines()}
            rows = (lender / "test.csv" if other == "shop" else lender / "with_shop.csv").read_text().splitlines()
            common.write_text("\n".join(row for row in rows if row.split(",")[0] in known) + "\n")
        check_scores(lender / "scores.csv", lender / "with_phone.csv", lender / "test.csv", "score_yes")
    if lines < 12:
        fail("only", lines, "lines were looked at")
    print("everything on", page.name, "comes out")


if __name__ == "__main__":
    main()
