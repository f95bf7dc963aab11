#!/usr/bin/env python3
"""Runs `blindfl_lab paper --quick` on one table and opens its page in a browser without a screen: the page says what the CSV
has, no text is cut off, and a second run measures nothing again.

usage: paper_in_browser.py BLINDFL_LAB DATA [FOLDER]

DATA is the folder with real data sets. What the page says is compared, not its pixels. With FOLDER, page, drawings and tables
stay there. Skips (77) where there is no data or no Chromium; what needs no browser is checked before.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "run"))
import report_in_browser as browser_test  # noqa: E402

TABLE = "table:depth"
LAYERS = ["3", "4", "5", "6"]


def run_lab(program, data, folder):
    command = [program, "paper", "--out", str(folder), "--quick", "--only", TABLE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "BLINDFL_DATA": str(data)})
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def rows_of(folder):
    with open(folder / "table-depth.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(LAYERS), rows
    assert all(not row["not measured because"] for row in rows), rows
    return rows


def check_output(said, said_again):
    assert "cell 4 of 4" in said and "was measured before" not in said, said
    assert said_again.count("was measured before") == len(LAYERS), said_again


def check_numbers(rows):
    for row in rows:
        assert 0 < float(row["seconds"]) < 60 and float(row["bytes"]) > 1e5, row
        assert 0.5 < float(row["accuracy"]) <= 1, row  # better than guessing: two thirds of the rows are of one class


def check_words(text, rows):
    """What a reader sees: the browser's own text of the page."""
    for words in ("Scalability by the number of layers", "Command: blindfl_lab paper --out FOLDER --quick --only table:depth",
                  "Accuracies are those of one epoch"):
        assert words in text, f"the page does not say '{words}'"
    for layers, row in zip(LAYERS, rows):
        accuracy = f"{100 * float(row['accuracy']):.1f}%"
        line = rf"^{layers}\t.*\t{re.escape(accuracy)}\t"
        assert re.search(line, text, re.M), f"the page has no line of {layers} layers with {accuracy}:\n{text}"
    assert "Efficiency" not in text, "the page has a table that was not asked for"


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
    if not (data / "connect-4.xz").exists():
        print(f"paper_in_browser: skipped, {data} has no connect-4.xz")
        return browser_test.SKIPPED
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        folder = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else scratch / "lab"
        said = run_lab(program, data, folder)
        page = (folder / "paper.html").read_text(encoding="utf-8")
        check_output(said, run_lab(program, data, folder))
        assert (folder / "paper.html").read_text(encoding="utf-8") == page, "the second run's page is another one"
        rows = rows_of(folder)
        check_numbers(rows)
        for drawing in folder.glob("*.svg"):
            ElementTree.parse(drawing)
        assert (folder / "table-depth-1.svg").exists()
        browser = browser_test.find_browser()
        if browser is None:
            print("paper_in_browser: the rest is skipped, there is no Chromium (scripts/setup --with-browser)")
            return browser_test.SKIPPED
        check_words(text_in_browser(browser, page, scratch), rows)
        faults = []
        for name, width in browser_test.WIDTHS.items():
            result = browser_test.measured(browser, page, width, scratch)
            assert result["width"] == width and result["drawings"] > 0, result
            faults += [f"{name}: {fault}" for fault in result["faults"]]
        print("\n".join(faults) or f"paper_in_browser: {len(rows)} rows of the page are those of the CSV; nothing is cut off")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
