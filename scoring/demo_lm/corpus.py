"""Reads the demonstration model's corpus and parts it into training and held-out paragraphs. Reads no item."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CORPUS_DIR = Path(__file__).resolve().parent / "corpus"
LITERATURE_DIR = CORPUS_DIR.with_name("literature")  # abstracts that the model has not read
# One paragraph in so many of each subfield is held out.
HELD_OUT_EVERY = 8


@dataclass(frozen=True)
class Paragraph:
    """Sentences on one topic; the file's name is the subfield."""

    subfield: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


def parse_paragraphs(subfield: str, source: str) -> list[Paragraph]:
    r"""Read one file: a sentence a line, blank lines between paragraphs, comments after `#`.

    >>> [p.text for p in parse_paragraphs("x", "# Title\n\n# Cells\nA is b.\nC is d.\n\nE is f.\n")]
    ['A is b. C is d.', 'E is f.']
    """
    blocks: list[list[str]] = [[]]
    for line in source.splitlines():
        if not line.strip():
            blocks.append([])
        elif not line.startswith("#"):
            blocks[-1].append(line.strip())
    return [Paragraph(subfield, tuple(block)) for block in blocks if block]


def corpus_files(folder: Path = CORPUS_DIR) -> list[Path]:
    """The corpus's files, in an order that is the same everywhere."""
    return sorted(folder.glob("*.txt"), key=lambda path: path.name)


def read_corpus(folder: Path = CORPUS_DIR) -> list[Paragraph]:
    """All paragraphs, file by file."""
    return [
        paragraph
        for path in corpus_files(folder)
        for paragraph in parse_paragraphs(path.stem, path.read_text(encoding="utf-8"))
    ]


def corpus_sha256(folder: Path = CORPUS_DIR) -> str:
    """One hash of the files' names and bytes."""
    digest = hashlib.sha256()
    for path in corpus_files(folder):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def split(paragraphs: Sequence[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Part into (training, held-out): of each subfield the 8th, 16th, ... paragraph is held out.

    Whole paragraphs, because sentences of one topic repeat one another's words; without chance, so that models
    of different seeds are compared on the same text.

    >>> paragraphs = [Paragraph("x", (str(n),)) for n in range(1, 17)]
    >>> [p.text for p in split(paragraphs)[1]]
    ['8', '16']
    """
    seen: dict[str, int] = {}
    training: list[Paragraph] = []
    held_out: list[Paragraph] = []
    for paragraph in paragraphs:
        n = seen[paragraph.subfield] = seen.get(paragraph.subfield, 0) + 1
        (training if n % HELD_OUT_EVERY else held_out).append(paragraph)
    return training, held_out
