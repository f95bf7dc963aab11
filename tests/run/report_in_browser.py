#!/usr/bin/env python3
"""Looks at reports in a browser without a screen: no text is cut off, and none lies on a number of an axis.

usage: report_in_browser.py REPORT_SAMPLES [FOLDER]

REPORT_SAMPLES is the program that writes reports of every kind. A copy of each page gets a script that measures, with
the browser's own fonts, where every text of every drawing is, and writes what is wrong into the page; at the width of a
screen and at that of a phone. With FOLDER, pages and pictures of them stay there. Skips (77) where there is no Chromium.
"""
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
WIDTHS = {"screen": 1200, "phone": 400}
NO_DRAWINGS = "attacks.html"  # the page of an audit: tables alone

# Boxes of texts must lie in the drawing's own box, and those of two texts of one drawing must not overlap. Half a pixel is
# rounding. The page must not be wider than the window: only tables and drawings may scroll inside it.
SCRIPT = r"""
<pre id="measured"></pre><script>
const near = 0.5, faults = [];
let texts = 0, drawings = 0;
for (const details of document.querySelectorAll('details')) details.open = true;
for (const svg of document.querySelectorAll('svg')) {
  const around = svg.getBoundingClientRect(), seen = [];
  if (around.width === 0) faults.push('a drawing has no width');
  drawings += 1;
  for (const text of svg.querySelectorAll('text')) {
    const box = text.getBoundingClientRect(), words = text.textContent;
    texts += 1;
    if (box.width === 0) faults.push(`"${words}" is not drawn`);
    if (box.left < around.left - near || box.right > around.right + near || box.top < around.top - near ||
        box.bottom > around.bottom + near) {
      faults.push(`"${words}" is cut off in "${svg.getAttribute('aria-label')}"`);
    }
    for (const other of seen) {
      if (box.left < other.box.right - near && box.right > other.box.left + near &&
          box.top + 2 < other.box.bottom - near && box.bottom - 2 > other.box.top + near) {
        faults.push(`"${words}" lies on "${other.words}" in "${svg.getAttribute('aria-label')}"`);
      }
    }
    seen.push({box, words});
  }
}
for (const tile of document.querySelectorAll('.card, .card *, h1, h2, figcaption, summary')) {
  if (tile.scrollWidth > tile.clientWidth + 1 && tile.clientWidth > 0) faults.push(`"${tile.textContent}" is cut off`);
}
const wide = document.documentElement.scrollWidth;
if (wide > window.innerWidth + 1) faults.push(`the page is ${wide} wide in a window of ${window.innerWidth}`);
document.getElementById('measured').textContent =
    JSON.stringify({faults, texts, drawings, width: window.innerWidth});
</script>
"""

# A frame has the width that it is given; windows of headless browsers do not become as narrow as phones.
FRAME = """<!DOCTYPE html><html><body style="margin:0"><iframe src="{page}" style="border:0;width:{width}px;height:9000px">
</iframe></body></html>"""


def find_browser():
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    return None


def run_browser(browser, arguments, profile):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
               "--disable-dev-shm-usage", "--hide-scrollbars", "--allow-file-access-from-files",
               f"--user-data-dir={profile}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"report_in_browser: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def with_script(page):
    """The page with the script at its end, and without the policy that forbids scripts."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*/>', "", page)
    assert text != page, "the page has no policy"
    return text.replace("</body>", SCRIPT + "</body>")


# The page is put into a frame of the width that is wanted, as text: pages of files may not look into each other.
def framed(page, width):
    return (f'<!DOCTYPE html><html><body style="margin:0"><iframe id="frame" srcdoc="{html.escape(page, quote=True)}" '
            f'style="border:0;width:{width}px;height:9000px"></iframe><pre id="result"></pre><script>'
            "document.getElementById('frame').addEventListener('load', event => {"
            "document.getElementById('result').textContent ="
            " event.target.contentDocument.getElementById('measured').textContent; });</script></body></html>")


def measured(browser, page, width, folder):
    copy = folder / "measured.html"
    copy.write_text(framed(with_script(page), width), encoding="utf-8")
    dom = run_browser(browser, ["--window-size=1300,1000", "--virtual-time-budget=5000", "--dump-dom", copy.as_uri()],
                      folder / "profile")
    found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    assert found and found.group(1), f"the browser measured nothing:\n{dom[-2000:]}"
    return json.loads(html.unescape(found.group(1)))


def take_pictures(browser, pages, scratch):
    for page in pages:
        for name, width in WIDTHS.items():
            frame = scratch / "frame.html"
            frame.write_text(FRAME.format(page=page.as_uri(), width=width), encoding="utf-8")
            run_browser(browser, [f"--window-size={max(width, 500)},4200", f"--screenshot={page.with_suffix('')}_{name}.png",
                                  frame.as_uri()], scratch / "profile")


def check_that_it_can_fail(browser, page, scratch):
    """A drawing whose texts are cut off and on top of each other must be found."""
    broken = re.sub(r'(<text class="tick" x=")[0-9.]+"', r'\g<1>-5.0"', page)
    faults = measured(browser, broken, WIDTHS["screen"], scratch)["faults"]
    assert any("is cut off" in fault for fault in faults) and any("lies on" in fault for fault in faults), faults


def main():
    samples = Path(sys.argv[1])
    browser = find_browser()
    if browser is None:
        print(f"report_in_browser: skipped, none of {', '.join(BROWSERS)} is installed (scripts/setup --with-browser)")
        return SKIPPED
    failed = False
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        folder = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else scratch
        subprocess.run([samples.resolve(), folder], check=True)
        pages = sorted(folder.glob("*.html"))
        assert len(pages) >= 5, pages
        for page in pages:
            text = page.read_text(encoding="utf-8")
            for name, width in WIDTHS.items():
                result = measured(browser, text, width, scratch)
                assert result["width"] == width, result
                assert page.name == NO_DRAWINGS or (result["texts"] > 20 and result["drawings"] > 3), result
                for fault in result["faults"]:
                    print(f"{page.name}, {name}: {fault}")
                failed = failed or bool(result["faults"])
                print(f"{page.name}, {name}: {result['texts']} texts in {result['drawings']} drawings, "
                      f"{len(result['faults'])} faults, {len(text)} bytes")
        check_that_it_can_fail(browser, pages[0].read_text(encoding="utf-8"), scratch)
        if len(sys.argv) > 2:
            take_pictures(browser, pages, scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
