"""Put the figures that `manage.py report --output FOLDER` wrote on one picture, to look at them side by side."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

PPI = 300  # of the figures
GAP = 24  # dots


def sheet(files: Sequence[Path], columns: int, ppi: int) -> Image.Image:
    """The pictures at their size in print, at `ppi` dots per inch, each in the column that is shortest so far."""
    pictures = []
    for file in files:
        with Image.open(file) as figure:
            size = (round(figure.width * ppi / PPI), round(figure.height * ppi / PPI))
            pictures.append(figure.convert("RGB").resize(size, Image.Resampling.LANCZOS))
    wide = max(picture.width for picture in pictures) + GAP
    heights = [GAP] * columns
    places = []
    for picture in pictures:
        column = heights.index(min(heights))
        places.append((GAP + column * wide, heights[column]))
        heights[column] += picture.height + GAP
    whole = Image.new("RGB", (GAP + columns * wide, max(heights)), "white")
    for picture, place in zip(pictures, places, strict=True):
        whole.paste(picture, place)
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the figures")
    parser.add_argument("output", type=Path, help="PNG or WebP")
    parser.add_argument(
        "--prefix", default="", help="beginning of the figures' names, such as human_"
    )
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--ppi", type=int, default=110, help="dots per inch of print")
    options = parser.parse_args()
    files = sorted(options.folder.glob(f"{options.prefix}*.png"))
    if not files:
        parser.error(f"{options.folder} holds no {options.prefix}*.png")
    sheet(files, options.columns, options.ppi).save(options.output, optimize=True)
    print(f"{options.output}: {len(files)} figures")


if __name__ == "__main__":
    main()
