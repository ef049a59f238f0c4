"""What was found out about a model is kept: other conditions and prompts, and later runs, need not try it again.

A verdict is a small file, named by a hash of all that it depends on; that is written into it too, and compared when it is
read. One that is cut off, changed or of another model is as good as none, and a disk that takes none is no obstacle.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lib.files import write_file

# A text so much longer than those that were tried on the real weights asks for another try
LEEWAY = 1.125


@dataclass(frozen=True)
class Verdict:
    """The names of a chosen strategy and head, why each faster strategy was not, and the longest text they were tried on."""

    strategy: str
    refused: dict[str, str]
    probed_on: str
    head: str
    longest: int


class Verdicts:
    """Verdicts on one model; `about` is all that they depend on but the texts. folder: None keeps them in memory alone."""

    def __init__(self, about: Mapping[str, Any], folder: Path | None = None) -> None:
        self.about = json.loads(json.dumps(about, default=str))
        self.folder = folder
        self._kept: dict[str, Verdict] = {}

    def find(self, longest: int, **question: Any) -> Verdict | None:
        """What is known of texts up to this length."""
        key = {**self.about, **question}
        name = _name(key)
        verdict = self._kept.get(name) or self._read(name, key)
        return verdict if verdict and longest <= LEEWAY * verdict.longest else None

    def keep(self, verdict: Verdict, **question: Any) -> None:
        """Write it down."""
        key = {**self.about, **question}
        name = _name(key)
        self._kept[name] = verdict
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"about": key, "verdict": asdict(verdict)}, indent=1, sort_keys=True)
            write_file(self.folder / name, text, durable=False)
        except OSError:
            return  # it is found out again

    def _read(self, name: str, key: Mapping[str, Any]) -> Verdict | None:
        if self.folder is None:
            return None
        try:
            stored = json.loads((self.folder / name).read_text())
            verdict = Verdict(**stored["verdict"])
            same = stored["about"] == key and _well_formed(verdict)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return verdict if same else None


def code_version() -> str:
    """SHA-256 over the code that decides: another release may find otherwise."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _name(key: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:40] + ".json"


def _well_formed(verdict: Verdict) -> bool:
    texts = [verdict.strategy, verdict.probed_on, verdict.head]
    return (
        isinstance(verdict.refused, dict)
        and all(isinstance(text, str) for text in [*texts, *verdict.refused.values()])
        and isinstance(verdict.longest, int)
    )
