"""What a run records of the model that was scored, as lines for a table. Plain Python."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# What comes first, and its label; what is not listed comes after, under its own name
LABELS = {
    "model": "Model",
    "name": "Model",
    "label": "Note",
    "warnings": "Warnings",
    "numbers": "Numbers",
    "base_url": "Server",
    "server": "Server",
    "revision": "Revision",
    "weights_sha256": "Weights, SHA-256",
    "adapter": "Adapter",
    "adapter_sha256": "Adapter, SHA-256",
    "tokenizer_sha256": "Tokenizer, SHA-256",
    "architecture": "Architecture",
    "n_parameters": "Parameters",
    "dtype": "Number format",
    "quantization": "Quantization",
    "attention": "Attention",
    "rung": "Forward strategy",
    "rungs_refused": "Faster strategies refused",
    "probed_on": "Probed on",
    "head": "Output head",
    "context_tokens": "Window, tokens",
    "max_length": "Longest text read at once, tokens",
    "overlong": "Longer texts",
    "device": "Device",
    "libraries": "Libraries",
    "machine": "Machine",
    "harness": "Harness",
    "prompt": "Prompt as published",
    "units": "Sentences",
}
LEFT_OUT = ("backend", "files")  # shown elsewhere on the page


@dataclass(frozen=True, slots=True)
class Line:
    """A label, and one value or several that are named themselves; `is_code` for hashes and the like."""

    label: str
    value: str = ""
    values: tuple[tuple[str, str], ...] = ()
    is_code: bool = False


def lines(identity: Mapping[str, Any]) -> Iterator[Line]:
    """The known parts of an identity in their order, then whatever else it holds; empty parts are left out.

    >>> [(line.label, line.value) for line in lines({"zeal": 3, "n_parameters": 124000, "revision": ""})]
    [('Parameters', '124,000'), ('zeal', '3')]
    """
    order = [*(name for name in LABELS if name in identity), *sorted(identity.keys() - LABELS)]
    for name in order:
        value = identity[name]
        if name in LEFT_OUT or value in ("", None, {}, []):
            continue
        label = LABELS.get(name, name.replace("_", " "))
        if isinstance(value, Mapping):
            yield Line(label, values=tuple((str(k), _text(v)) for k, v in value.items()))
        else:
            yield Line(label, _text(value), is_code=name.endswith("sha256"))


@dataclass(frozen=True, slots=True)
class File:
    """A file that published numbers were read from."""

    name: str
    sha256: str
    shape: str


def files(identity: Mapping[str, Any]) -> list[File]:
    """The files of an imported run.

    >>> files({"files": {"a/PPL.npy": {"sha256": "ab", "shape": [200, 2]}}})
    [File(name='a/PPL.npy', sha256='ab', shape='200 x 2')]
    """
    found = identity.get("files") or {}
    return [
        File(name, _text(facts.get("sha256", "")), " x ".join(map(str, facts.get("shape", []))))
        for name, facts in found.items()
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(part) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    return str(value)
