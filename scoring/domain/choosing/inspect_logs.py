"""Reads Inspect's logs: an `.eval` file is a ZIP of JSON members, of which each sample is one; a `.json` file is one object. Pure.

Members are compressed with Zstandard, which Python's `zipfile` reads from 3.14 on. So such a member's bytes are taken from the file
here, where the local header says that they begin (APPNOTE.TXT of PKWARE, 4.3.7).
"""

import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from lib import strict_json
from lib.files import not_json
from scoring.domain.answer_lines import MOST_TOKENS, text_of
from scoring.domain.choosing.lines import ReadChoice, asked_of, place_of
from scoring.domain.choosing.odds import Odds, read_odds, read_tokens
from scoring.domain.choosing.reading import read_choice
from scoring.domain.generating import Finish, Usage, storable, storable_json
from scoring.domain.thinking import apart

MOST_BYTES = 100 * 2**20  # of a member
MOST_MEMBERS = 50_000  # 500 test cases in both orders, 50 times
ZSTANDARD = 93
LOCAL_HEADER = (
    30  # bytes, before the name and the extra field, whose lengths are its last two numbers
)
# Of the header, what tells how the model was asked
ABOUT = ("task", "created", "model", "model_generate_config", "config", "packages")
# Of the reasons to stop; the others leave an answer that is whole
FINISHES: Mapping[str, Finish] = {
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.TOO_LONG,
    "content_filter": Finish.FILTERED,
}
_SAMPLE = re.compile(r"samples/.+\.json")


def read_log(content: bytes) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    """The header of a log, and its samples, each with its place in the file.

    Raises:
        ValueError: what is wrong, in words that go on after the file's name; also while samples are read.
    """
    if not content.startswith(b"PK"):
        whole = _json(content, "")
        samples = whole.get("samples")
        if not isinstance(samples, list):
            raise ValueError(
                "samples is missing: this is not an Inspect log, or it was written without its samples"
            )
        return _about(whole), ((f"sample {n}", sample) for n, sample in enumerate(samples, start=1))
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ValueError(f"this is not a ZIP file ({error})") from error
    if len(archive.infolist()) > MOST_MEMBERS:
        raise ValueError(f"it contains more than {MOST_MEMBERS:,} files; split it")
    members = {one.filename: one for one in archive.infolist()}
    unpack = partial(_member, archive, content)
    # A log that was not ended has no header yet
    header = members.get("header.json") or members.get("_journal/start.json")
    about = _about(unpack(header)) if header else {}
    names = sorted(name for name in members if _SAMPLE.fullmatch(name))
    return about, ((name, unpack(members[name])) for name in names)


def _about(header: Mapping[str, Any]) -> Mapping[str, Any]:
    said = header.get("eval")
    return {name: said[name] for name in ABOUT if name in said} if isinstance(said, dict) else {}


def _member(archive: zipfile.ZipFile, content: bytes, info: zipfile.ZipInfo) -> Mapping[str, Any]:
    if info.compress_type == ZSTANDARD:
        import pyarrow as pa

        start = info.header_offset + LOCAL_HEADER
        lengths = content[start - 4 : start]
        start += int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        packed = pa.BufferReader(content[start : start + info.compress_size])
        try:
            with pa.CompressedInputStream(packed, "zstd") as stream:
                data: bytes = stream.read(MOST_BYTES + 1)
        except OSError as error:
            raise ValueError(f"{info.filename} cannot be unpacked ({error})") from error
        if zlib.crc32(data) != info.CRC and len(data) <= MOST_BYTES:
            raise ValueError(f"{info.filename} cannot be unpacked (its checksum differs)")
    else:
        try:
            with archive.open(info) as file:
                data = file.read(MOST_BYTES + 1)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise ValueError(f"{info.filename} cannot be unpacked ({error})") from error
    if len(data) > MOST_BYTES:
        raise ValueError(f"{info.filename} has more than {MOST_BYTES:,} bytes")
    return _json(data, f"{info.filename}: ")


def _json(data: bytes, before: str) -> Mapping[str, Any]:
    try:
        value = strict_json.loads_with_gaps(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{before}this is not JSON ({not_json(error)})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{before}this is not a JSON object")
    return value


def is_greedy(about: Mapping[str, Any]) -> bool:
    """True if a log says that the temperature was 0."""
    config = about.get("model_generate_config")
    temperature = config.get("temperature") if isinstance(config, dict) else None
    return type(temperature) in (int, float) and temperature == 0


def read_inspect(sample: Any, *, is_greedy: bool = False) -> ReadChoice:
    """Read a sample of an Inspect log of the task that `export_inspect_task` writes; its epochs, from 1, are samples.

    Args:
        is_greedy: whether the temperature was 0.
    Raises:
        ValueError: what is wrong, in words that go on after the place.
    """
    about = _inner(sample, "metadata")
    if "order" not in about:
        raise ValueError(
            "metadata.order is missing: this is not a sample of a task of export_inspect_task"
        )
    epoch = sample.get("epoch", 1)
    place = place_of(about, "metadata.", epoch - 1 if type(epoch) is int else epoch)
    output = _inner(sample, "output")
    time: Any = output.get("time")
    usage, choices = output.get("usage"), output.get("choices")
    has_time = type(time) in (int, float) and 0 <= time < math.inf
    if isinstance(choices, list):
        # As it came, but for the likeliest tokens: they are hundreds of times longer than the text
        kept = [
            {name: one[name] for name in one if name != "logprobs"}
            if isinstance(one, dict)
            else one
            for one in choices
        ]
        output = {**output, "choices": kept}
    told = usage if isinstance(usage, dict) else {}
    counts = [
        n if type(n := told.get(name)) is int and 0 <= n < MOST_TOKENS else 0
        for name in ("input_tokens", "output_tokens", "reasoning_tokens")
    ]
    known: dict[str, Any] = {
        **place,
        "model": text_of(output, "model"),
        "usage": Usage(*counts) if isinstance(usage, dict) else None,
        "seconds": float(time) if has_time else 0.0,
        "raw": storable_json(dict(output)),
        "asked": asked_of(about, "metadata."),
    }
    error = sample.get("error")
    if error or not choices:
        detail = error.get("message", "") if isinstance(error, dict) else ""
        return ReadChoice(**known, finish=Finish.FAILED, detail=storable(str(detail)))
    first = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
    content = _inner(first, "message").get("content")
    texts, thoughts = list[str](), list[str]()
    if isinstance(content, str):
        texts = [content]
    else:  # a log may keep the thought apart
        parts = [part for part in content or () if isinstance(part, dict)]
        texts, thoughts = (
            [str(part.get(kind) or "") for part in parts if part.get("type") == kind]
            for kind in ("text", "reasoning")
        )
    text = "\n".join(map(storable, texts))
    thought = "\n\n".join(map(storable, thoughts))
    finish = FINISHES.get(str(first.get("stop_reason")), Finish.STOP)
    said = apart(text, finish, thought=thought)
    chosen = read_choice(said.text) if said.finish == Finish.STOP else None
    odds = Odds()
    if chosen and not said.thought:
        tokens = read_tokens(first.get("logprobs"))
        odds = read_odds(tokens, chosen.side, is_greedy=is_greedy)
    return ReadChoice(
        **known,
        finish=said.finish,
        side=chosen.side if chosen else "",
        confidence=chosen.confidence if chosen else None,
        is_below_half=bool(chosen and chosen.is_below_half),
        log_odds=odds.log_odds,
        unused=odds.fault,
        text=said.text,
        thought=said.thought,
        detail=text_of(output, "error"),
    )


def _inner(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is not a JSON object")
    return found
