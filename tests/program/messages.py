#!/usr/bin/env python3
"""Every message that docs/troubleshooting.md quotes is one that the program has.

usage: messages.py PROJECT_FOLDER
"""

import re
import sys
from pathlib import Path


def literals(folder):
    """The sources' text, with string literals that continue on the next line put together."""
    text = "\n".join(path.read_text() for path in sorted(folder.rglob("*.cpp")))
    text = re.sub(r'"\s*\n\s*"', "", text)
    return text


def main():
    project = Path(sys.argv[1])
    source = literals(project / "src" / "blindfl")
    quoted = 0
    missing = []
    for line in (project / "docs" / "troubleshooting.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) < 5 or not cells[1].strip() or cells[1].strip() in ("it says", "---"):
            continue  # tables of messages have three columns
        for words in re.findall(r"`([^`]+)`", cells[1]):
            quoted += 1
            if words not in source:
                missing.append(words)
    for words in missing:
        print("docs/troubleshooting.md quotes what no source says:", words)
    if missing or quoted < 30:
        sys.exit(1)
    print(quoted, "messages are there")


main()
