#!/usr/bin/env python3
"""What the documents say of the tree is so: rooms, namespaces, steps, fuzz targets, files of a run. Links lead somewhere, and
so do pages that sources name. Documents, messages and comments use the field's words, which a newcomer can search for.

usage: documents.py PROJECT_FOLDER
"""

import re
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch
from pathlib import Path

PROJECT = Path(sys.argv[1]).resolve()
SOURCE = PROJECT / "src" / "blindfl"
PUBLIC = PROJECT / "include" / "blindfl"


def read(*names):
    return PROJECT.joinpath(*names).read_text(encoding="utf-8")


def in_rooms(pattern):
    """Files of the rooms, public headers first: where each is, and its path in the rooms."""
    return [(path, path.relative_to(top)) for top in (PUBLIC, SOURCE) for path in sorted(top.rglob(pattern))]


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


def pages():
    """All documents of the project."""
    return sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"), *(PROJECT / "fuzz").glob("*.md"), *SOURCE.rglob("*.md")])


class Architecture(unittest.TestCase):
    page = read("docs", "architecture.md")

    def test_every_folder_is_a_room(self):
        rooms = self.page[self.page.index("\nsrc/blindfl/\n"):self.page.index("\ninclude/blindfl/")]
        listed = set(re.findall(r"^  ([a-z_/]+)/ ", rooms, re.M))
        folders = {path.as_posix() for file, path in in_rooms("*") if file.is_dir()}
        self.assertEqual(listed, folders)

    def test_namespaces_are_those_of_the_rooms_but_for_the_exceptions(self):
        exceptions = {}
        for folders, namespace in rows_of(self.page, "Namespaces follow the rooms"):
            for folder in names_in(folders.split(";")[0]):
                exceptions[folder] = names_in(namespace)[0]
        self.assertGreater(len(exceptions), 3)
        schemes = {"he/lattice/lattice_scheme.h", "he/paillier/paillier_scheme.h"}
        for file, path in in_rooms("*/*.h"):
            if path.as_posix() == "app/job/domain_names.h":  # in the namespaces of the types, as the page says
                self.assertIn("`app/job/domain_names.h`", self.page)
                continue
            folder = path.parent.as_posix()
            exception = [namespace for pattern, namespace in exceptions.items() if fnmatch(folder, pattern)]
            expected = exception[0] if exception else "blindfl::" + folder.replace("/", "::")
            if path.as_posix() in schemes:
                expected = "blindfl::he"
            with self.subTest(header=path.as_posix()):
                for found in re.findall(r"^namespace (blindfl[\w:]*) \{\n(?!(?:(?:class|struct) \w+;\n)+\})", file.read_text(), re.M):
                    self.assertTrue(found == expected or found.startswith(expected + "::"), found)

    def test_the_map_of_paillier_names_every_file(self):
        folder = SOURCE / "he" / "paillier"
        named = {name.removesuffix(".h") for name in names_in((folder / "README.md").read_text())}
        files = {path.stem for path in folder.iterdir() if path.suffix in (".h", ".cpp")}
        self.assertEqual(files - named, set())
    def test_only_he_knows_a_scheme_by_its_type(self):
        self.assertIn("never found by a cast", self.page)
        files = [file for file, path in in_rooms("*/*") if file.suffix in (".h", ".cpp") and path.parts[0] != "he"]
        self.assertGreater(len(files), 100)
        for path in files:
            with self.subTest(file=path.name):
                self.assertIsNone(re.search(r"_cast<[^>]*(Scheme|Multiplier|KeyOwner|Paillier|Lattice)|he/(paillier|lattice)/",
                                            path.read_text()))

    def test_no_torch_below_work(self):
        self.assertIn("No torch, so that it starts at once", self.page)  # program.start looks at the program itself


class Formats(unittest.TestCase):
    page = read("docs", "formats.md")

    def test_has_every_step_with_its_number_and_name(self):
        steps = [step for path, _ in in_rooms("steps.h")
                 for step in re.findall(r'StepInfo k\w+\{\s*(\d+),\s+(?:net::)?Protection::\w+,\s+"([^"]+)"', path.read_text())]
        self.assertGreater(len(steps), 30)
        table = {(row[0], row[1]) for row in rows_of(self.page, "\n## Steps")}
        self.assertEqual(table, set(steps))

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
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, PROJECT / "fuzz" / "make_seeds", folder], check=True)
            self.assertEqual(targets, {path.name for path in Path(folder).iterdir()})
        found = {path.name.removesuffix(".tar.xz") for path in (PROJECT / "fuzz" / "corpus").iterdir()}
        self.assertEqual(found - targets, set())

    def test_every_message_of_the_program_is_fuzzed(self):
        fuzzed = "".join(path.read_text() for path in (PROJECT / "fuzz").glob("*.cpp"))
        # Headers of messages have a function that exchanges them.
        headers = [text for text in (path.read_text() for path, _ in in_rooms("*.h")) if re.search(r"\bexchange_\w+\(", text)]
        decoders = {name for text in headers for name in re.findall(r"\b(read_\w+)\(ByteSource& in\);", text)}
        self.assertTrue({"read_shape", "read_offer", "read_vote", "read_alignment_offer"} <= decoders, decoders)
        for decoder in decoders:
            self.assertTrue(f"::{decoder}(" in fuzzed, decoder)


class RunFolder(unittest.TestCase):
    def test_every_file_that_is_listed_is_one_that_the_sources_name(self):
        sources = "".join(path.read_text() for path, _ in [*in_rooms("*.cpp"), *in_rooms("*.h")])
        rows = rows_of(read("docs", "formats.md"), "\n### The run folder")
        listed = [part for row in rows for name in names_in(row[0]) for part in name.split("/") if part and not re.search(r"[*0-9]", part)]
        self.assertGreater(len(listed), 14)
        for name in listed:
            self.assertTrue(re.search(rf'"(\w+/)?({re.escape(name)}|{name.split(".")[0]})"', sources), name)


class Links(unittest.TestCase):
    """Of pages to pages and sections, and of sources to pages."""

    @staticmethod
    def sections(path):
        """The anchors of a page, as GitHub makes them of its headings."""
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        found = set()
        for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
            plain = re.sub(r"[`*]|\]\([^)]*\)", "", heading).replace("[", "")
            anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            while anchor in found:
                anchor += "-1"
            found.add(anchor)
        return found

    def test_of_pages_lead_somewhere(self):
        broken = []
        links = 0
        for page in pages():
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                links += 1
                name, _, anchor = target.partition("#")
                to = (page.parent / name).resolve() if name else page
                if not to.exists() or (anchor and anchor not in self.sections(to)):
                    broken.append(f"{page.relative_to(PROJECT)}: {target}")
        self.assertGreater(links, 50)
        self.assertEqual(broken, [])

    def test_of_sources_to_pages_lead_somewhere(self):
        files = [path for folder in ("include", "src", "tests", "bench", "examples", "fuzz", "scripts", "cmake")
                 for path in (PROJECT / folder).rglob("*")
                 if path.is_file() and (path.suffix in (".h", ".cpp", ".txt", ".cmake", ".py") or not path.suffix)
                 and "corpus" not in path.parts and "crashes" not in path.parts]
        named = 0
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace")
            for name, section in re.findall(r"\b(docs/[\w/]+\.md)(?:,\s(?://+ )?\"([^\"]+)\")?", text):
                named += 1
                with self.subTest(source=path.relative_to(PROJECT).as_posix(), page=name):
                    page = PROJECT / name
                    self.assertTrue(page.exists())
                    if section:
                        self.assertTrue(any(part.startswith(section.lower().replace(" ", "-").replace("'", "")) for part in self.sections(page)), section)
        self.assertGreater(named, 30)


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
        self.assertGreater(len(pages()), 10)
        for path in pages():
            self.check(path, re.sub(r"[ \n]+", " ", path.read_text(encoding="utf-8")))
        self.assertFalse(self.complaints, "\n" + "\n".join(self.complaints))

    def test_messages_and_comments_use_those_of_the_field(self):
        sources = [path for path, _ in [*in_rooms("*.h"), *in_rooms("*.cpp")]]
        self.assertGreater(len(sources), 100)
        for path in sources:
            for words in said(path.read_text(encoding="utf-8")):
                self.check(path, words)
        self.assertFalse(self.complaints, "\n" + "\n".join(self.complaints))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
