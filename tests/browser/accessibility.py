"""The faults that axe finds in a page, and things that do not fit a narrow window or large letters."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from playwright.sync_api import Page

from tests.conftest import SWEEP

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = "only => axe.run(document, {runOnly: only, resultTypes: ['violations']})"
EVERY_RULE = {"type": "tag", "values": TAGS}
CONTRAST = {"type": "rule", "values": ["color-contrast"]}
# Scrolls sideways, sticks out of the window, or is cut off; what is hidden on purpose, scaled down, or scrolls in a frame of its own, does not count.
MISFITS = """() => {
  const found = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
  for (const node of document.body.querySelectorAll("*")) {
    if (node.closest(".visually-hidden, .skip-link, .scroller, [hidden], .preview-frame, details:not([open]) > :not(summary)")) continue;
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    if (!box.width || !box.height) continue;
    const name = () => `${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 40)}`;
    if (box.right > root.clientWidth + 1 || box.left < -1) found.push(`sticks out: ${name()}`);
    const cut = style.overflowX !== "visible" && !["SELECT", "PROGRESS", "INPUT"].includes(node.tagName);
    if (cut && node.scrollWidth > node.clientWidth + 1) found.push(`is cut off: ${name()}`);
  }
  return found;
}"""
Scheme = Literal["dark", "light"]
WIDE, NARROW, ZOOMED = (1280, 900), (320, 640), (640, 900)


@cache
def axe_source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, only: dict[str, Any] = EVERY_RULE) -> list[str]:
    """Violations of WCAG 2.2, levels A and AA, one line for each element."""
    if not page.evaluate("'axe' in window"):
        # Put in by the debugger's way, which the page's policy does not reach.
        page.evaluate(axe_source())
    result: dict[str, Any] = page.evaluate(RUN, only)
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]


def faults(page: Page, schemes: Sequence[Scheme] = ("dark", "light")) -> list[str]:
    """The faults of the page at 320 pixels, on a desktop, and with letters of twice the size.

    axe reads it in the first of these schemes, and its contrast in the other one; in the sweep it reads all in full.
    """
    found = []
    for size, scheme in ((NARROW, "dark"), (WIDE, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        wrong: list[str] = page.evaluate(MISFITS)
        if scheme in schemes or SWEEP:
            wrong += violations(page, EVERY_RULE if scheme == schemes[0] or SWEEP else CONTRAST)
        own = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
        wrong += [] if own == scheme else [f"controls are drawn in {own or 'no'} colours"]
        found += [f"at {size[0]} px, {scheme}: {fault}" for fault in wrong]
    page.set_viewport_size({"width": ZOOMED[0], "height": ZOOMED[1]})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    found += [f"with text at 200% {fault}" for fault in page.evaluate(MISFITS)]
    page.evaluate("document.documentElement.style.fontSize = ''")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    return [f"{page.title()}: {fault}" for fault in found]


def look(page: Page) -> None:
    """Nothing is wrong with it, once all of it is there."""
    page.wait_for_load_state()
    assert "\n".join(faults(page)) == ""
