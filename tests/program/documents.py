#!/usr/bin/env python3
"""What the documents say of the tree is so: namespaces, steps, fuzz targets, who knows schemes by their type, who writes what. And
documents, messages and comments use the field's words, which a newcomer can search for.

usage: documents.py PROJECT_FOLDER
"""

import re
import sys
import unittest
from pathlib import Path

PROJECT = Path(sys.argv[1]).resolve()
SOURCE = PROJECT / "src" / "blindfl"


def read(*names):
    return PROJECT.joinpath(*names).read_text(encoding="utf-8")


def rows_of(text, heading):
    """The cells of the first table behind a line that has `heading`."""
    lines = text[text.index(heading):].splitlines()
    begin = next(i for i, line in enumerate(lines) if re.match(r"\|[-|]+\|$", line))
    rows = []
    for line in lines[begin + 1:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names_in(text):
    return re.findall(r"`([^`]+)`", text)


class Architecture(unittest.TestCase):
    page = read("docs", "architecture.md")

    def test_every_folder_is_a_room(self):
        listed = set(re.findall(r"^  ([a-z_/]+)/ ", self.page, re.M))
        folders = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_dir()}
        self.assertEqual(listed, folders)

    def test_namespaces_are_those_of_the_rooms_but_for_the_exceptions(self):
        exceptions = {}
        for folders, namespace in rows_of(self.page, "Namespaces follow the rooms"):
            for folder in names_in(folders.split(";")[0]):
                exceptions[folder] = names_in(namespace)[0]
        self.assertGreater(len(exceptions), 3)
        schemes = {"he/lattice/lattice_scheme.h", "he/paillier/paillier_scheme.h"}
        for file in sorted(SOURCE.rglob("*/*.h")):
            path = file.relative_to(SOURCE)
            folder = path.parent.as_posix()
            expected = exceptions.get(folder, "blindfl::" + folder.replace("/", "::"))
            if path.as_posix() in schemes:
                expected = "blindfl::he"
            with self.subTest(header=path.as_posix()):
                for found in re.findall(r"^namespace (blindfl[\w:]*) \{", file.read_text(), re.M):
                    self.assertTrue(found == expected or found.startswith(expected + "::"), found)

    def test_only_he_knows_a_scheme_by_its_type(self):
        self.assertIn("never found by a cast", self.page)
        files = [path for path in SOURCE.rglob("*/*") if path.suffix in (".h", ".cpp") and SOURCE / "he" not in path.parents]
        self.assertGreater(len(files), 100)
        for path in files:
            with self.subTest(file=path.name):
                self.assertIsNone(re.search(r"_cast<[^>]*(Scheme|Multiplier|KeyOwner|Paillier|Lattice)|he/(paillier|lattice)/",
                                            path.read_text()))

    def test_no_torch_below_work(self):
        self.assertIn("No torch, so that it starts at once", self.page)  # program.start looks at the program itself


class WireFormat(unittest.TestCase):
    page = read("docs", "wire_format.md")

    def test_has_every_step_with_its_number_and_name(self):
        numbers = dict(re.findall(r"^  (k\w+) = (\d+),$", read("src", "blindfl", "net", "step.h"), re.M))
        names = dict(re.findall(r'StepInfo\{Step::(k\w+), Protection::\w+,\s+"([^"]+)"', read("src", "blindfl", "net", "step.cpp")))
        self.assertEqual(set(numbers), set(names))
        table = {(row[0], row[1]) for row in rows_of(self.page, "\n## Steps")}
        self.assertEqual(table, {(numbers[step], names[step]) for step in numbers})

    def test_has_the_sections_that_it_refers_to(self):
        headings = re.findall(r"^#+ (.*)$", self.page, re.M)
        for section in re.findall(r'see "([^"]+)"', self.page):
            self.assertTrue(any(heading.startswith(section) for heading in headings), section)

    def test_has_a_layout_for_every_step(self):
        covered = set()
        for heading in re.findall(r"^### .*$", self.page, re.M):
            for numbers in re.findall(r"\(([^)]*)\)", heading):
                for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
                    covered.update(range(int(first), int(last or first) + 1))
        missing = {int(row[0]) for row in rows_of(self.page, "\n## Steps")} - covered
        self.assertEqual(missing, set())


class Fuzzing(unittest.TestCase):
    def test_every_target_is_described_and_has_seeds(self):
        targets = {"fuzz_" + name for name in re.findall(r"^blindfl_fuzz\((\w+)", read("fuzz", "CMakeLists.txt"), re.M)}
        described = {names_in(row[0])[0] for row in rows_of(read("fuzz", "README.md"), "| target |")}
        self.assertEqual(targets, described)
        self.assertEqual(targets, {path.name for path in (PROJECT / "fuzz" / "corpus").iterdir()})

    def test_every_message_of_the_program_is_fuzzed(self):
        fuzzed = "".join(path.read_text() for path in (PROJECT / "fuzz").glob("*.cpp"))
        decoders = [name for path in (SOURCE / "app").glob("*.h") for name in re.findall(r"(\w+)\(ByteSource& in\);", path.read_text())]
        self.assertTrue({"read_shape", "read_offer"} <= set(decoders))
        for decoder in decoders:
            self.assertTrue(f"app::{decoder}(" in fuzzed, decoder)


class RunFolder(unittest.TestCase):
    page = read("docs", "run_folder.md")

    def test_files_are_written_by_the_rooms_that_it_names(self):
        self.assertIn("`src/blindfl/app/torch` writes what the program needs again", self.page)

        def rooms_that_say(name):
            return {room for room in ("run", "app/torch")
                    for path in [*(SOURCE / room).glob("*.h"), *(SOURCE / room).glob("*.cpp")] if f'"{name}"' in path.read_text()}
        for name in ("run.lock", "summary.json", "metrics.jsonl", "report.html"):
            self.assertIn("run", rooms_that_say(name), name)
        for name in ("preparation.bin", "alignment.bin", "keys.bin", "model.bin", "test_scores.csv"):
            self.assertEqual(rooms_that_say(name), {"app/torch"}, name)


class Evidence(unittest.TestCase):
    """Tests that are named as such are there."""

    def setUp(self):
        self.tests = set()
        for path in sorted((PROJECT / "tests").rglob("*.cpp")):
            for suite, name in re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text()):
                self.tests.add(f"{suite}.{name}")

    def is_there(self, word):
        if word.endswith("_test.cpp"):
            return any(PROJECT.glob("tests/**/" + word.removeprefix("tests/")))
        beginning = re.fullmatch(r"(.*?)(?:\.\.\.|\*)", word)  # of a test's name, or all tests of a suite
        return any(t.startswith(beginning[1]) for t in self.tests) if beginning else word in self.tests

    def test_every_test_that_a_document_names_is_there(self):
        named = [(page, word) for page in ("SECURITY.md", "CONTRIBUTING.md", "docs/protocols.md")
                 for word in names_in(read(page))
                 if re.fullmatch(r"[\w/]+_test\.cpp|[A-Z]\w+\.(?:[A-Z]\w+(?:\.\.\.|\*)?|\*)", word)]
        self.assertGreater(len(named), 50)
        self.assertEqual([(page, word) for page, word in named if not self.is_there(word)], [])

    def test_that_of_masks_looks_at_integers_and_at_bytes(self):
        page = " ".join(read("SECURITY.md").split())
        for words in ("`tests/he/lattice/reply_bytes_test.cpp` (the bytes that travel", "above the mask or below",
                      "`make mutants`"):
            self.assertIn(words, page)


class Roles(unittest.TestCase):
    def test_readme_and_architecture_say_who_is_host_and_who_is_guest(self):
        for name in (["README.md"], ["docs", "architecture.md"]):
            text = " ".join(read(*name).split())
            self.assertTrue(re.search(r"\bA is[^.]*\bpassive\b[^.;]*\bhost\b", text), name)
            self.assertTrue(re.search(r"\bB\b[^.]*\bactive\b[^.;]*\bguest\b", text), name)


# What this project once said, and the word that the field has for it. What a pattern lets pass is ordinary English.
WORDS = {
    r"\b(go|goes|going|went) on\b(?! at the same time)": "resume, or continue",
    r"\b(stand|stands|standing|stood) in\b|\bstand-ins?\b": "placeholder",
    r"\btwins?\b": "negative control",
    r"(?<!standard )(?<!initial )(?<!initial_)(?<!table_)\bdeviations?\b(?! in\b)": "standard deviation",
    r"\bfalse alarms?\b|\bpositives found\b": "FPR, TPR",
    r"\bpieces? of (the |its |a |his |her |initial |trained |this party's )?(weights?|model|gradients?|embeddings?|tables?|E|W|Z)\b": "share",
}
# Formulas and code, where a name may be short.
NAMES = re.compile(r"`[^`]*`|\bdouble deviation\b|\bdeviation\(|[.*/] ?deviation\b|\bdeviation [=*/<]|, deviation,")


def said(text):
    """What a source says, in comments and literals that take several lines, too."""
    text = re.sub(r'"\s*\n\s*"', "", re.sub(r"\n\s*//[/<]* ?", "\n// ", text))
    for match in re.finditer(r'(//[^\n]*(\n// [^\n]*)*)|"(?:\\.|[^"\\\n])*"', text):
        yield re.sub(r"\n// ", " ", match[0])


class Words(unittest.TestCase):
    def check(self, path, text):
        text = NAMES.sub("", text)
        for pattern, better in WORDS.items():
            for found in re.finditer(pattern, text):
                around = text[max(found.start() - 50, 0):found.end() + 50]
                self.complaints.append(f"{path.relative_to(PROJECT)}: '{found[0]}': the field says {better}: ...{around}...")

    def setUp(self):
        self.complaints = []

    def test_documents_use_those_of_the_field(self):
        pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").glob("*.md"), *(PROJECT / "fuzz").glob("*.md")]
        self.assertGreater(len(pages), 10)
        for path in sorted(pages):
            self.check(path, re.sub(r"[ \n]+", " ", path.read_text(encoding="utf-8")))
        self.assertFalse(self.complaints, "\n" + "\n".join(self.complaints))

    def test_messages_and_comments_use_those_of_the_field(self):
        sources = sorted([*SOURCE.rglob("*.h"), *SOURCE.rglob("*.cpp")])
        self.assertGreater(len(sources), 100)
        for path in sources:
            for words in said(path.read_text(encoding="utf-8")):
                self.check(path, words)
        self.assertFalse(self.complaints, "\n" + "\n".join(self.complaints))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
