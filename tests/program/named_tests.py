#!/usr/bin/env python3
"""Every test that a document names as evidence is there.

usage: named_tests.py PROJECT_FOLDER
"""

import re
import sys
from pathlib import Path

DOCUMENTS = ["SECURITY.md", "CONTRIBUTING.md", "docs/protocols.md"]


def tests_in(folder):
    """Suite.Name of every test."""
    names = set()
    for path in sorted(folder.rglob("*.cpp")):
        for suite, name in re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text()):
            names.add(f"{suite}.{name}")
    return names


def is_there(word, tests, project):
    if word.endswith("_test.cpp"):
        return any(project.glob("tests/**/" + word.removeprefix("tests/")))
    # A suite, or the beginning of a name, ends in dots or a star.
    beginning = re.fullmatch(r"(.*?)(?:\.\.\.|\*)", word)
    return any(t.startswith(beginning[1]) for t in tests) if beginning else word in tests


def main():
    project = Path(sys.argv[1])
    tests = tests_in(project / "tests")
    named = 0
    missing = []
    for document in DOCUMENTS:
        for word in re.findall(r"`([^`\s]+)`", (project / document).read_text()):
            if not re.fullmatch(r"[\w/]+_test\.cpp|[A-Z]\w+\.(?:[A-Z]\w+(?:\.\.\.|\*)?|\*)", word):
                continue
            named += 1
            if not is_there(word, tests, project):
                missing.append(f"{document} names a test that is not there: {word}")
    for line in missing:
        print(line)
    if missing or named < 30:
        sys.exit(1)
    print(named, "tests are there")


main()
