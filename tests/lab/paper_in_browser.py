#!/usr/bin/env python3
"""Runs the whole of `blindfl_lab paper --quick` and opens its page in a browser without a screen: every table and figure is
there, what the page says is what the CSV has, nothing is missing or cut off, and a second run measures nothing again.

usage: paper_in_browser.py BLINDFL_LAB DATA [FOLDER]

DATA is the folder with real data sets. What the page says is compared, not its pixels. With FOLDER, page, drawings and tables
stay there. Skips (77) where there is no data or no Chromium; what needs no browser is checked before.
"""
import csv
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "run"))
import report_in_browser as browser_test  # noqa: E402

MOST_SECONDS = 600  # of a quick run, which says so
NEEDED = ["a9a.xz", "connect-4.xz", "adult.data.xz"]
DENSE = {"higgs", "fmnist"}  # of the paper's data sets
NOT_MEASURED = ["of memory", "are allowed", "is not in the folder that BLINDFL_DATA names"]  # memory, time, data: the reasons there may be


def run_lab(program, data, *words):
    command = [program, "paper", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False, env={**os.environ, "BLINDFL_DATA": str(data)})
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def exhibits_of(program, data):
    """Names and titles of all tables and figures, as the program's help has them."""
    listed = re.findall(r"^  ((?:table|figure):\S+)\s+(\S.*)$", run_lab(program, data, "--help"), re.M)
    assert len(listed) >= 9, listed
    return listed


class Cells:
    """What an exhibit's CSV has."""

    def __init__(self, folder, name):
        stem = folder / name.replace(":", "-")
        with open(stem.with_suffix(".csv"), encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))
        series = folder / (stem.name + "-series.csv")
        self.series = []
        if series.exists():
            with open(series, encoding="utf-8", newline="") as file:
                self.series = list(csv.DictReader(file))
        for row in self.rows:
            because = row["not measured because"]
            assert not because or any(reason in because for reason in NOT_MEASURED), (name, because)

    def measured(self):
        return [row for row in self.rows if not row["not measured because"]]

    def line(self, name):
        return [float(row["y"]) for row in self.series if row["series"] == name]

    def check_finite(self):
        for row in self.measured():
            values = [float(value) for key, value in row.items() if value and is_number(value) and key != "seed"]
            assert values and all(math.isfinite(value) for value in values), row
        for row in self.series:
            assert math.isfinite(float(row["x"])) and math.isfinite(float(row["y"])), row


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def names_in(words, what):
    """{"a9a", "w8a"} of "faster in every row: on a9a and w8a (...); not faster on news20 (...)"."""
    words = re.sub(r"\([^)]*\)", "", words)
    found = re.search(rf"(?:^|; ){what} (?:in every row: )?on (.*?)(?:; |$)", words)
    return {name.strip() for name in re.split(r", | and ", found.group(1))} if found else set()


def check_efficiency(section, cells):
    ways = ["BlindFL, open top", "BlindFL, shared top", "SecureML, oblivious transfer", "SecureML, lattice", "SecureML, third party"]
    assert [row["cell"].split(", ", 1)[1] for row in cells.rows[:5]] == ways, cells.rows[0]
    found = re.search(r"with an open top is (.*?)\. Beside the client-aided one, on sparse data it is (.*?)\. A shared top, which the "
                      r"paper does not have, is beside SecureML without help (.*?), and beside the client-aided one on sparse data "
                      r"(.*)\.$", section, re.M)
    assert found, section
    compared = [(0, [2, 3], False), (0, [4], True), (1, [2, 3], False), (1, [4], True)]
    for said, (ours, others, sparse_only) in zip(found.groups(), compared):
        faster, slower = set(), set()
        for first in range(0, len(cells.rows), 5):
            name = cells.rows[first]["data set"]
            if sparse_only and name in DENSE:
                continue
            seconds = [float(row["seconds"] or "inf") for row in cells.rows[first:first + 5]]
            (faster if seconds[ours] < min(seconds[other] for other in others) else slower).add(name)
        assert names_in(said, "faster") == faster and names_in(said, "not faster") == slower, (said, faster, slower)
        assert ("in every row" in said) == (not slower), said
    return 40


def check_convergence(section, cells):
    found = re.search(r"test AUC or accuracy is within 0\.01 of the joined model on (.*?)(?:, further from it on (.*?))?; it is above B alone "
                      r"on (.*?)\.$", section, re.M)
    assert found, section
    within, further, above = ({name for name in re.split(r", | and ", names)} if names and names != "none" else set() for names in found.groups())
    rows = {row["cell"]: row for row in cells.measured()}
    near = {name for name, row in rows.items() if abs(float(row["federated"]) - float(row["joined"])) <= 0.01}
    assert within == near and further == set(rows) - near, (within, further, near)
    assert above == {name for name, row in rows.items() if float(row["federated"]) > float(row["B only"])}
    for name, row in rows.items():
        line = rf"^{re.escape(name)}\t{row['measure']}\t{float(row['federated']):.4f}\t{float(row['joined']):.4f}\t{float(row['B only']):.4f}\t"
        assert re.search(line, section, re.M), (line, section)
        losses = [float(each["y"]) for each in cells.series if each["cell"] == name and each["series"] == "federated"]
        assert len(losses) > 1, name
    return len(rows)


def check_activations(section, cells):
    count = 0
    for row in cells.measured():
        bars = int(float(row["bars"]))
        first, last = float(row["success 0"]), float(row[f"success {bars - 1}"])
        assert f"on {row['cell']} from {first:.3f} in split learning to {last:.3f} with BlindFL" in section, section
        count += bars
    return count


def check_derivatives(section, cells):
    told = cells.line("directions")
    assert f"it tells {100 * min(told):.1f}% to {100 * max(told):.1f}% of training rows" in section, section
    ours = cells.rows[1]
    assert f"{float(ours['shares']):.3f} by A's shares of gradients, {float(ours['ciphertexts']):.3f} by ciphertexts" in section, section
    return len(told)


def check_model_shares(section, cells):
    row = cells.rows[0]
    parts = int(float(row["parts"]))
    within = sum(abs(float(row[f"correlation {i}"])) <= min(1, 2 / math.sqrt(float(row[f"coordinates {i}"]))) for i in range(parts))
    assert f"shares and weights of {within} of {parts} parts correlate within two standard errors" in section, section
    return parts


def check_scaling(section, cells):
    seconds = [float(row["seconds"]) for row in cells.rows]
    assert f", a mini-batch takes {seconds[-1] / seconds[0]:.2f} times as long here" in section, section
    for row in cells.rows:
        accuracy = float(row["accuracy"])
        assert 0.5 < accuracy <= 1, row  # better than guessing: two thirds of the rows are of one class
        assert re.search(rf"\t{100 * accuracy:.1f}%\t", section), section
    return len(cells.rows)


def check_features(section, cells):
    seconds = [float(row["seconds"]) for row in cells.rows]
    as_long = "as long (within 25%) from 1,000 to 10,000,000 features"
    assert (as_long in section) == (max(seconds) <= 1.25 * seconds[0]), section
    for row, each in zip(cells.rows, seconds):
        assert re.search(rf"^{int(row['features']):,}\t.*\t{each / seconds[0]:.2f}\t", section, re.M), section
    return len(seconds)


def check_parties(section, cells):
    times = {key: float(cells.rows[-1][key]) / float(cells.rows[0][key]) for key in ("seconds", "bytes")}
    assert f"takes {times['seconds']:.2f} times the seconds and {times['bytes']:.2f} times the bytes of one A with 5" in section, section
    return len(cells.rows)


CHECKS = {"table:efficiency": check_efficiency, "figure:convergence": check_convergence, "figure:activations": check_activations,
          "figure:derivatives": check_derivatives, "figure:model-shares": check_model_shares, "table:width": check_scaling,
          "table:depth": check_scaling, "table:features": check_features, "table:parties": check_parties}


def sections_of(text, exhibits):
    """The page's text, title by title, in the program's order."""
    starts = []
    for _, title in exhibits:
        at = text.find(f"\n{title}\n", starts[-1] if starts else 0)
        assert at >= 0, f"the page does not have '{title}', or not in its place"
        starts.append(at)
    return [text[begin:end] for begin, end in zip(starts, starts[1:] + [len(text)])]


def check_words(text, exhibits, folder):
    """What a reader sees: the browser's own text of the page. Returns the number of rows."""
    count = 0
    for (name, _), section in zip(exhibits, sections_of(text, exhibits)):
        cells = Cells(folder, name)
        rows = CHECKS[name](section, cells)
        lines = [line for line in section.splitlines() if "\t" in line]
        headings = len(cells.measured()) if name == "figure:activations" else 1
        assert len(lines) == rows + headings, f"{name}: {len(lines)} lines of tables for {rows} rows:\n{section}"
        for line in lines:  # what was not measured is said; elsewhere there is a figure in every place
            assert all(cell.strip() for cell in line.split("\t")), line
            assert name == "table:efficiency" or "-" not in line.split("\t"), line
        assert f"Command: blindfl_lab paper --out FOLDER --quick --only {name}\n" in section + "\n", section
        assert ("Not measured" in section) == any(row["not measured because"] for row in cells.rows), section
        count += rows
    return count


def check_that_it_can_fail(text, exhibits, folder):
    """A page that says something else than the CSV, or has a row or a title less, must be found."""
    row = next(line for line in text.splitlines() if line.startswith("connect-4 MLP\t"))
    for wrong in (text.replace(row + "\n", "", 1), text.replace("with an open top is faster", "with an open top is not faster", 1),
                  re.sub(r"takes \d+\.\d+ times as long here", "takes 0.01 times as long here", text, count=1),
                  text.replace(f"\n{exhibits[-1][1]}\n", "\nSomething else\n", 1)):
        assert wrong != text, "nothing was changed"
        try:
            check_words(wrong, exhibits, folder)
        except AssertionError:
            continue
        raise SystemExit("paper_in_browser: a wrong page was not found")


def check_files(folder, exhibits, page):
    for name, title in exhibits:
        Cells(folder, name).check_finite()
        assert name == "table:efficiency" or (folder / f"{name.replace(':', '-')}-1.svg").exists(), f"{name} has no figure"
        assert f"## {title}\n" in (folder / "paper.md").read_text(encoding="utf-8")
    drawings = sorted(folder.glob("*.svg"))
    for drawing in drawings:
        root = ElementTree.parse(drawing).getroot()
        marks = [each for each in root.iter() if each.tag.split("}")[-1] in ("polyline", "path", "circle", "rect", "line")]
        assert marks, f"{drawing.name} shows nothing"
    assert page.count("<figure") == len(drawings), f"{page.count('<figure')} figures on the page, {len(drawings)} files"
    for text in (page, (folder / "paper.md").read_text(encoding="utf-8")):
        seen = re.search(r"(?i)(?<![\w-])-?(nan|inf|infinity)(?![\w-])", re.sub(r"<style>.*?</style>", "", text, flags=re.S))
        assert not seen, f"the page says {seen.group(0)}"


def check_output(said, said_again):
    cells = int(re.search(r"cell \d+ of (\d+) ", said).group(1))
    assert f"cell {cells} of {cells} " in said, said
    assert said_again.count("was measured before") == cells, said_again


def text_in_browser(browser, page, scratch):
    """The page as the browser shows it: cells of a table with tabs between them."""
    script = "<pre id='said'></pre><script>document.getElementById('said').textContent = document.body.innerText;</script>"
    copy = scratch / "said.html"
    copy.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*/>', "", page).replace("</body>", script + "</body>"),
                    encoding="utf-8")
    dom = browser_test.run_browser(browser, ["--virtual-time-budget=5000", "--dump-dom", copy.as_uri()], scratch / "profile")
    found = re.search(r"<pre id=\"said\">(.*?)</pre>", dom, re.S)
    assert found, dom[-2000:]
    return browser_test.html.unescape(found.group(1))


def main():
    program, data = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    missing = [name for name in NEEDED if not (data / name).exists()]
    if missing:
        print(f"paper_in_browser: skipped, {data} has no {missing[0]}")
        return browser_test.SKIPPED
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        folder = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else scratch / "lab"
        exhibits = exhibits_of(program, data)
        begin = time.monotonic()
        said = run_lab(program, data, "--out", str(folder), "--quick")
        took = time.monotonic() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{said}paper_in_browser: the quick run took {took:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")
        assert took < MOST_SECONDS
        page = (folder / "paper.html").read_text(encoding="utf-8")
        check_output(said, run_lab(program, data, "--out", str(folder), "--quick"))
        assert (folder / "paper.html").read_text(encoding="utf-8") == page, "the second run's page is another one"
        check_files(folder, exhibits, page)
        browser = browser_test.find_browser()
        if browser is None:
            print("paper_in_browser: the rest is skipped, there is no Chromium (scripts/setup --with-browser)")
            return browser_test.SKIPPED
        text = text_in_browser(browser, page, scratch)
        rows = check_words(text, exhibits, folder)
        check_that_it_can_fail(text, exhibits, folder)
        faults = []
        for name, width in browser_test.WIDTHS.items():
            result = browser_test.measured(browser, page, width, scratch)
            assert result["width"] == width and result["drawings"] == page.count("<svg"), result
            faults += [f"{name}: {fault}" for fault in result["faults"]]
        print("\n".join(faults) or f"paper_in_browser: {rows} rows of {len(exhibits)} tables and figures are those of the CSV; nothing is cut off")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
