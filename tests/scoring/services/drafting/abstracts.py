"""Abstracts to draft from, and a model that drafts as a lesson says: each answer to an abstract is named by a word."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OPENING = (
    "Slow cooking changes how onions taste, but which compounds matter is debated. We cooked sliced onions in butter at "
    "a low heat and sampled them every ten minutes over two hours in a trained panel. All samples were coded and served "
    "in random order with water between them, and ratings were collected on paper forms by an assistant. "
)


def abstract(n: int) -> str:
    return f"{OPENING}In batch {n}, sweetness rose with time while pungency fell. Time thus mellows onions."


def right(n: int) -> str:
    """The abstract with alterations that no check objects to."""
    text = abstract(n).replace("rose with time", "[[rose with time, fell with time]]")
    return text.replace("pungency fell", "pungency [[fell, rose]]").replace(
        "mellows", "[[mellows, sharpens]]"
    )


def csv_of(numbers: Sequence[int], path: Path) -> Path:
    lines = [f'"{abstract(n)}",10.1234/onion.{n},Vegetables,2025-0{n}-01' for n in numbers]
    path.write_text("abstract,doi,subfield,publication_date\n" + "\n".join(lines) + "\n")
    return path


class Lessons:
    """The stub model's answers: to abstract n the words of `lessons[n]`, one after the other, then the right answer."""

    def __init__(self, **lessons: Sequence[str]) -> None:
        self.lessons = {int(name[1:]): list(words) for name, words in lessons.items()}

    def __call__(self, request: dict[str, Any]) -> str:
        said = [m["content"] for m in request["messages"] if m["role"] == "user"]
        found = re.search(r"In batch (\d+),", " ".join(said))
        assert found, "no abstract was sent"
        n, asked = int(found.group(1)), len(said) - 1
        words = self.lessons.get(n, [])
        return self._text(words[asked] if asked < len(words) else "right", n)

    def _text(self, word: str, n: int) -> str:
        match word:
            case "right":
                return json.dumps({"markup": right(n)})
            case "changed":
                return json.dumps({"markup": right(n).replace("trained panel", "panel")})
            case "unbalanced":
                return json.dumps({"markup": right(n).replace("]]", "]", 1)})
            case "wrong json":
                return '{"words": ["Yes."]}'
            case "prose":
                return f"Gladly! Here is the altered abstract:\n\n{right(n)}\n\nI turned the result round."
            case "fenced":
                return f"```json\n{json.dumps({'markup': right(n)}, indent=1)}\n```"
            case _:
                return word
