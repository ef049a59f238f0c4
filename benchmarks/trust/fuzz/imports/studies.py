"""A study as a file, and its own wording as a PO file."""

import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

from django.core.management import call_command
from django.core.management.base import CommandError

from benchmarks.trust.fuzz.breaking.content import broken
from benchmarks.trust.fuzz.breaking.trees import broken_json
from benchmarks.trust.fuzz.imports.readers import Files, Reader, check, said
from benchmarks.trust.fuzz.material import Material
from experiment.models import Study
from experiment.services.file_places import StudyFileError
from experiment.services.study_file import create_from_file, document
from experiment.services.study_language import participant_texts
from lib import po

N_TEXTS = 12


def reader(material: Material) -> Reader:
    good = document(material.study)
    good["study"] |= {"slug": "from-file", "title": "From a file"}
    good["items"] = good["items"][:3]
    good["items"].append({"key": "new-one", "markup": "It is new. It [[rose, fell]]."})
    content = json.dumps(good).encode()
    names: tuple[Callable[[], dict[str, str]], ...] = (
        dict,
        lambda: {"slug": "named", "title": "Named"},
    )

    def make(rng: random.Random) -> Files:
        breaker = broken if rng.random() < 0.25 else broken_json
        return {"study": breaker(rng, content)}

    def read(files: Files, rng: random.Random) -> bool:
        try:
            study = create_from_file(files["study"], by=material.user, **rng.choice(names)())
        except StudyFileError as refused:
            return said(refused.messages)
        if rng.random() < 0.2:
            _check(study)
        return True

    return Reader("study", 17, make, read)


def _check(study: Study) -> None:
    """What was made says of itself what makes the same again."""
    said_of = document(study)
    again = create_from_file(json.dumps(said_of).encode(), slug="again", title="Again")
    for name in ("slug", "title"):
        said_of["study"].pop(name)
    told = document(again)
    for name in ("slug", "title"):
        told["study"].pop(name)
    check(told == said_of, "the study's file makes another study")


def texts_reader(material: Material) -> Reader:
    messages = [
        replace(m, forms=tuple(part for part in (m.source, m.plural) if part))
        for m in participant_texts()[:N_TEXTS]
    ]
    content = po.write("de", messages).encode()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))

    def make(rng: random.Random) -> Files:
        return {"texts": broken(rng, content)}

    def read(files: Files, rng: random.Random) -> bool:
        path = folder / "texts.po"
        path.write_bytes(files["texts"])
        out = StringIO()
        try:
            call_command("participant_texts", material.study.slug, load=path, json=True, stdout=out)
        except CommandError as refused:
            return said(refused)
        own = json.loads(out.getvalue())["own"]
        check(own == material.study.texts.count(), "another number of texts than it says")
        return True

    return Reader("texts", 5, make, read)
