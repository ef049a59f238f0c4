"""Use case: choices that a model made elsewhere become those of a run: all of a file's, or none."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from experiment.models import Item, Study
from lib.confined import ConfinedError, confined
from lib.files import read_regular
from scoring.domain.backend import ScoringError
from scoring.domain.choosing.files import Entry, read_choices
from scoring.domain.choosing.lines import ReadChoice
from scoring.domain.generating import storable
from scoring.models import ChoiceRun, ModelChoice
from scoring.services.choosing.prompts import CUSTOM, told
from scoring.services.imported_files import MOST_PROBLEMS, AnswersError, import_once


def import_choices(
    study: Study, path: Path, name: str, *, instructions: str = "", sheet: str = ""
) -> tuple[ChoiceRun, bool]:
    """As `store_choices`, of a file on this machine.

    Raises:
        ScoringError: also where the file cannot be read.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise ScoringError(f"{path} cannot be read: {error.strerror or error}.") from error
    return store_choices(study, path.name, content, name, instructions=instructions, sheet=sheet)


def store_choices(
    study: Study,
    file: str,
    content: bytes,
    name: str,
    *,
    instructions: str = "",
    sheet: str = "",
    by: User | None = None,
) -> tuple[ChoiceRun, bool]:
    """The run, over, and whether it is new, as `import_once` says it.

    Args:
        file: its name, which says how `read_choices` reads it.
        name: of the model that chose.
        instructions: what it was told, where that is known and the file does not say it.
        sheet: of a spreadsheet, where several have the columns.
    Raises:
        AnswersError: something in the file is wrong; nothing is stored.
        ScoringError: the file is empty; or no model can have the name; or the instructions lack {versions}.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    own = told(CUSTOM, instructions, study.field) if instructions.strip() else ""
    found = _Found(file, _known(study, Item.Kind.TEST))
    try:
        read = confined(read_choices, content, file, sheet, refusals=[ValueError])
    except ConfinedError as error:
        raise ScoringError(f"{file}: {error}") from error
    except ValueError as error:
        raise ScoringError(f"{file}: {error}.") from error
    found.add(read.entries)
    found.check()
    identity: dict[str, Any] = {"file": storable(file), "sha256": sha256}
    if sheet:
        identity["sheet"] = storable(sheet)
    if read.about:
        identity["log"] = read.about  # storable, as it is read
    draft = ChoiceRun(
        study=study,
        items=found.items,
        samples=1 + max(read.sample for _, read in found.choices),
        total=len(found.choices),
        identity=identity,
        created_by=by,
        **_asked(study, found, own),
    )

    def rows_of(run: ChoiceRun) -> Iterator[ModelChoice]:
        for item, read in found.choices:
            yield ModelChoice(
                run=run,
                item_id=item,
                original_side=read.original_side,
                sample=read.sample,
                side=read.side,
                confidence=read.confidence,
                is_below_half=read.is_below_half,
                log_odds=read.log_odds,
                unused=read.unused,
                text=read.text,
                thought=read.thought,
                finish=read.finish.value,
                detail=read.detail,
                model=read.model[:200],
                prompt_tokens=read.usage.prompt_tokens if read.usage else None,
                completion_tokens=read.usage.completion_tokens if read.usage else None,
                thought_tokens=read.usage.thought_tokens if read.usage else None,
                seconds=read.seconds,
                raw=read.raw,
            )

    return import_once(study, draft, name, own, rows_of)


@dataclass
class _Found:
    """The choices in a file, each with its item, and what is wrong with the file."""

    file: str
    known: Mapping[str, Mapping[int, int]]
    choices: list[tuple[int, ReadChoice]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    places: dict[tuple[int, str, int], str] = field(default_factory=dict)

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            try:
                if entry.read is None:
                    raise ValueError(entry.fault)
                self._add(entry.place, entry.read)
            except ValueError as error:
                self.problems.append(f"{self.file}, {entry.place}: {error}.")

    def _add(self, place: str, read: ReadChoice) -> None:
        # The newest version that the study holds, unless the answer names one
        versions = self.known.get(read.item)
        if versions is None:
            raise ValueError(f"the study does not have a test case “{read.item[:80]}”")
        version = max(versions) if read.version is None else read.version
        if version not in versions:
            raise ValueError(f"the study does not have version {version} of “{read.item[:80]}”")
        item = versions[version]

        key = (item, read.original_side, read.sample)
        if key in self.places:
            raise ValueError(
                f"its test case is already answered in this order in {self.places[key]}; number repeated answers with sample"
            )
        self.places[key] = place

        # All answers of a file are those of one model, which was asked in one way
        first = self.choices[0][1] if self.choices else read
        if read.asked != first.asked:
            raise ValueError(
                "the model was asked differently than in the first answer of the file; import the answers of each prompt as a "
                "separate file"
            )
        if read.model != first.model and not read.asked:
            raise ValueError(
                f"model is “{read.model[:80]}”, but “{first.model[:80]}” in the first answer of the file; import the answers of each "
                "model as a separate file"
            )
        self.choices.append((item, read))

    def check(self) -> None:
        """Raises AnswersError, ScoringError."""
        if self.problems:
            raise AnswersError(self.problems[:MOST_PROBLEMS], len(self.problems))
        if not self.choices:
            raise ScoringError(f"{self.file} does not contain any choices.")

    @property
    def items(self) -> list[int]:
        """By key, as runs have them."""
        named = {(read.item, item) for item, read in self.choices}
        return [item for _, item in sorted(named)]


def _known(study: Study, kind: Item.Kind) -> Mapping[str, Mapping[int, int]]:
    """A study's items of a kind: key -> version -> primary key."""
    rows = study.items.filter(kind=kind).values_list("key", "version", "pk")
    known: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for key, version, pk in rows:
        known[key][version] = pk
    return dict(known)


def _asked(study: Study, found: _Found, instructions: str) -> dict[str, Any]:
    """Columns on how the model was asked: by the file, where it says it."""
    reads = [read for _, read in found.choices]
    said = dict(reads[0].asked)
    # A file that gives log-odds alone holds no answers that were written
    is_scored = all(r.log_odds is not None and r.confidence is None and not r.text for r in reads)
    usual = ChoiceRun.Form.LIKELIHOOD if is_scored else ChoiceRun.Form.WRITTEN
    form = said.get("form") or usual.value
    if form not in ChoiceRun.Form.values:
        raise ScoringError(f"{found.file}: there is no form “{form[:80]}” of an answer.")
    layout = said.get("layout") or ChoiceRun.Layout.PAIR.value
    if layout not in ChoiceRun.Layout.values:
        raise ScoringError(f"{found.file}: there is no layout “{layout[:80]}”.")
    prompt = said.get("prompt", "") or (CUSTOM if instructions else "")
    words = said.get("instructions", "") or instructions
    about = {"form": form, "layout": layout, "prompt": prompt[:10], "instructions": words}

    # As examples the model saw practice items; of each the newest version
    practice = _known(study, Item.Kind.PRACTICE)
    shown = said.get("examples", "").splitlines()
    for key in shown:
        if key not in practice:
            raise ScoringError(
                f"{found.file}: the study does not have a practice item “{key[:80]}”."
            )
    return {**about, "examples": [practice[key][max(practice[key])] for key in shown]}
