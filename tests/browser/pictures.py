"""Pictures for the docs that a test takes on its way: scripts/take_screenshots.py names their folder in SCREENSHOTS."""

import os
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page

SIZE = (1000, 640)
COLORS = 64  # which make a page's picture a third as large


def picture(page: Page, name: str, top: Locator | None = None) -> None:
    """Save what a window shows that begins above `top`; nothing where no pictures are asked for."""
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return
    before = page.viewport_size
    width, height = SIZE
    page.set_viewport_size({"width": width, "height": height})
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.scrollTop = 0; document.activeElement.blur()")
    if top is not None:
        top.first.evaluate(
            "element => window.scrollTo(0, element.getBoundingClientRect().top + scrollY - 16)"
        )
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(500)
    with Image.open(BytesIO(page.screenshot())) as whole:
        whole.convert("RGB").quantize(COLORS).save(Path(folder) / f"{name}.png", optimize=True)
    if before:
        page.set_viewport_size(before)
