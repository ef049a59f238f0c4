"""Execute a run: take it, open its model, score the batches that are missing, and write each one whole or not at all."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import F

from lib import disk
from lib.jobs.leases import Lease, renew_connection, run_job
from scoring.backends.opening import open_backend
from scoring.backends.reading import Reading
from scoring.domain.backend import (
    PAIRS_PER_SLICE,
    Backend,
    Group,
    GroupResult,
    ScoringError,
    TextError,
    planned,
)
from scoring.domain.encoding import Encoded
from scoring.domain.generating import Usage
from scoring.domain.perplexity import VERSIONS, TextScore, score_versions, zlib_bytes
from scoring.domain.prompts import Prompt
from scoring.models import CorpusScore, ItemScore, ScoringRun, UnscoredText
from scoring.services import servers, token_store
from scoring.services.open_model import OneModel
from scoring.services.runs import fingerprint
from scoring.services.texts import EncodedText, Unscorable, encode_all, texts_of
from scoring.services.token_store import TokenRecord

# Parts of an identity that say where the numbers were made, and why as they were; they decide none, and may differ
EXPLANATIONS = frozenset({"machine", "rungs_refused", "probed_on", "warnings"})


def check_identity(run: ScoringRun, identity: Mapping[str, Any]) -> None:
    """Check that a model is the one that the run was begun with, in all that decides its numbers.

    Raises:
        ScoringError: it is another; the sentence says in what.
    """
    before = _flat(run.identity)
    now = _flat(stored_form(identity))
    differences = [
        f"{name} was {before.get(name, 'not there')}, is {now.get(name, 'not there')}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name) and name.partition(".")[0] not in EXPLANATIONS
    ]
    if differences:
        raise ScoringError(
            f"Run {run.pk} began with other settings: {'; '.join(differences)}. Start a new run, so that its numbers are "
            "comparable."
        )


def stored_form(values: Mapping[str, Any]) -> dict[str, Any]:
    """As the database gives it back."""
    as_json: dict[str, Any] = json.loads(json.dumps(dict(values), default=str))
    return as_json


def _flat(values: Any, name: str = "") -> dict[str, Any]:
    """Nested JSON as one level: {"versions": {"torch": 2}} -> {"versions.torch": 2}."""
    if not isinstance(values, dict):
        return {name: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{name}.{key}" if name else key)
    return flat


NAME_LENGTH = UnscoredText._meta.get_field("name").max_length


@dataclass
class BatchRows:
    """The rows of a batch in the database and in its Parquet file."""

    item_scores: list[ItemScore] = field(default_factory=list)
    corpus_scores: list[CorpusScore] = field(default_factory=list)
    unscored: list[UnscoredText] = field(default_factory=list)
    records: list[TokenRecord] = field(default_factory=list)


def batch_rows(
    run: ScoringRun, texts: Sequence[EncodedText], results: Sequence[GroupResult]
) -> BatchRows:
    """The rows of a scored batch. What a model gives no number for is named, and is not a tie."""
    if len(results) != len(texts):
        raise ScoringError(f"The backend answered {len(results)} of {len(texts)} groups of texts.")
    rows = BatchRows()
    for text, result in zip(texts, results, strict=True):
        try:
            source = text.text
            scores = score_versions(
                source.name, source.versions, text.encoded, result, run.mode == "paper"
            )
        except TextError as error:
            unscorable = Unscorable(source.name, source.item, source.unit, str(error))
            rows.unscored.extend(unscored_rows(run, [unscorable]))
            continue
        if source.item is None:
            (score,), by_paper = scores, run.mode == "paper"
            row = CorpusScore(
                run=run,
                row=source.unit,
                text_id=source.text_id,
                ppl=score.ppl,
                nll_nats=score.nll_all_nats if by_paper else score.nll_text_nats,
                tokens=score.tokens_all if by_paper else score.tokens_text,
                zlib_bytes=_zlib_bytes(run, source.texts[0].text, text.encoded[0]),
            )
            rows.corpus_scores.append(row)
        else:
            rows.item_scores.append(_item_score(run, text, scores))
        key, number = (source.item.key, source.item.version) if source.item else (None, None)
        for version, encoded, logprobs in zip(source.versions, text.encoded, result, strict=True):
            assert not isinstance(logprobs, TextError)
            record = TokenRecord(key, number, source.unit, version, encoded, logprobs)
            rows.records.append(record)
    return rows


def unscored_rows(run: ScoringRun, unscorable: Iterable[Unscorable]) -> list[UnscoredText]:
    return [
        UnscoredText(
            run=run,
            item=text.item,
            unit=text.unit,
            name=text.name[:NAME_LENGTH],
            reason=text.reason,
        )
        for text in unscorable
    ]


def _item_score(run: ScoringRun, text: EncodedText, scores: Sequence[TextScore]) -> ItemScore:
    columns: dict[str, Any] = {}
    scored = zip(VERSIONS, scores, text.text.texts, text.encoded, strict=True)
    for version, score, marked, encoded in scored:
        columns |= {
            f"ppl_{version}": score.ppl,
            f"nll_all_{version}_nats": score.nll_all_nats,
            f"nll_text_{version}_nats": score.nll_text_nats,
            f"tokens_all_{version}": score.tokens_all,
            f"tokens_text_{version}": score.tokens_text,
            f"zlib_{version}_bytes": _zlib_bytes(run, marked.text, encoded),
        }
    return ItemScore(run=run, item=text.text.item, unit=text.text.unit, **columns)


def _zlib_bytes(run: ScoringRun, text: str, encoded: Encoded) -> int:
    """Bytes of what the perplexity counts: as published, that is the prompt too in mode `paper`; of a text that was cut, what is left."""
    by_paper = run.mode == "paper"
    read, at = Prompt(run.prompt, run.prompt_text).place(text) if by_paper else (text, 0)
    begin = 0
    if Reading.of(run.model_args).overlong == "truncate":
        begin = next((at + int(start) for start, stop in encoded.spans if stop > start), 0)
    return zlib_bytes(read[max(begin, 0) :])


Opener = Callable[[str, Mapping[str, str]], Backend]
Progress = Callable[[ScoringRun], None]
Place = tuple[int | None, int]

# Of this process; the runs of one model follow each other without loading it again
models = OneModel()


def execute(
    run: ScoringRun,
    *,
    backend: Backend | None = None,
    opener: Opener | None = None,
    max_pairs: int | None = None,
    on_progress: Progress | None = None,
) -> ScoringRun:
    """Take the run and score what is missing; nothing happens if it is over, or another worker's.

    Args:
        backend: an open model; else `opener` gives one and closes it some time; else one is opened for this
            call alone.
        max_pairs: release the run after about so many pairs; it waits again.
        on_progress: called with the run at the start and after each batch.
    Returns:
        The run as it stands: finished, failed (its `error` says why), cancelled, or waiting.
    """

    def work(run: ScoringRun, lease: Lease) -> None:
        try:
            allowance = servers.begin(run, lease)
            with ExitStack() as stack:
                model = backend
                if model is None and opener is not None:
                    model = opener(run.backend, run.model_args)
                elif model is None:
                    own = closing(open_backend(run.backend, run.model_args))
                    model = stack.enter_context(own)
                execution = _Execution(run, lease, model, max_pairs, on_progress)
                execution.allowance = allowance
                execution.run_batches()
        except (OSError, DatabaseError) as error:  # a full disk, say: what is stored is whole
            if not (sentence := disk.sentence(error)):
                raise
            raise ScoringError(f"{sentence}. Then continue with --resume.") from error

    return run_job(run, work, expected=(ScoringError,))


def execute_slice(run: ScoringRun) -> None:
    """Does some more of the run, as a Celery worker with the one model of its process."""
    try:
        execute(run, opener=models.open, max_pairs=PAIRS_PER_SLICE)
    except Exception:
        models.close()  # whatever state it is in; the run says that it failed
        raise


class _Execution:
    """A run and an open model, for as long as one worker has them."""

    def __init__(
        self,
        run: ScoringRun,
        lease: Lease,
        model: Backend,
        max_pairs: int | None,
        on_progress: Progress | None,
    ) -> None:
        self.run, self.lease, self.model = run, lease, model
        self.max_pairs, self.on_progress = max_pairs, on_progress
        self.allowance: servers.Allowance | None = None  # at the model's server

    def run_batches(self) -> None:
        # Begin, or check that texts and model are those that the run was begun with
        self.encoded, unscorable = _encoded(self.run, self.model)
        if self.run.identity:
            check_identity(self.run, self.model.identity())
        else:
            self._begin([text.group for text in self.encoded.values()], unscorable)
        self._report_progress()

        # Places of what has a row, a score or the reason why there is none
        scores = (
            ItemScore.objects.filter(run=self.run).values_list("item_id", "unit")
            if not self.run.corpus
            else ((None, row) for row in self.run.corpus_scores.values_list("row", flat=True))
        )
        stored = {*scores, *self.run.unscored.values_list("item_id", "unit")}
        parts, n_pairs = token_store.part_indices(self.run), 0
        for index, members in enumerate(self.run.plan):
            batch = [self.encoded[member] for member in members]
            places = {text.text.place for text in batch}
            if places <= stored and index in parts:
                continue
            self.lease.check()
            if not self._may_spend(batch):
                return
            if self.max_pairs is not None and n_pairs >= self.max_pairs:
                self.lease.release()
                return
            self._score(index, batch, known=bool(places & stored))
            n_pairs += len(batch)
            self._report_progress()
        token_store.remove_drafts(self.run)

    def _may_spend(self, batch: Sequence[EncodedText]) -> bool:
        """False, and the run ends, where the batch may exceed the spending limit of the model's server."""
        if self.allowance is None or (now := self.allowance.again()) is None:
            return True
        n_texts = sum(len(text.encoded) for text in batch)
        if now.fits(Usage(sum(text.n_tokens for text in batch), n_texts)):
            return True
        left = self.run.total - self.run.done
        self.lease.end(ScoringRun.Status.CANCELLED, f"{now.refusal} Pairs of texts left: {left}.")
        return False

    def _begin(self, groups: Sequence[Group], unscorable: Sequence[Unscorable]) -> None:
        """Store the plan of all batches, made once, and name what cannot be scored."""
        run, model, indices = self.run, self.model, list(self.encoded)
        at_once = run.batch_tokens or Reading.of(run.model_args).batch_tokens(groups)
        plan = [[indices[n] for n in batch] for batch in planned(model, groups, at_once)]
        if sorted(member for batch in plan for member in batch) != indices:
            raise ScoringError("The backend's plan does not hold each pair of texts once.")
        rows = unscored_rows(run, unscorable)
        with transaction.atomic():
            self.lease.advance(identity=stored_form(model.identity()), plan=plan, done=len(rows))
            UnscoredText.objects.bulk_create(rows)
        run.refresh_from_db()

    def _score(self, index: int, batch: list[EncodedText], *, known: bool) -> None:
        """Score one batch, and store its file and its rows in one step; `known`: some of its rows are there."""
        started = perf_counter()
        results = self.model.score([text.group for text in batch])
        seconds = perf_counter() - started
        rows = batch_rows(self.run, batch, results)
        renew_connection()
        with (
            token_store.staged_part(self.run, index, rows.records) as publish,
            transaction.atomic(),
        ):
            # Rows whose file is lost, as after a backup without the files, are made anew
            n_before = 0
            for text in batch if known else ():
                item_id, unit = text.text.place
                n_before += self.run.unscored.filter(item=item_id, unit=unit).delete()[0]
                if item_id is None:
                    n_before += self.run.corpus_scores.filter(row=unit).delete()[0]
                else:
                    n_before += self.run.item_scores.filter(item=item_id, unit=unit).delete()[0]
            self.lease.advance(
                done=F("done") + len(batch) - n_before,
                scored_tokens=F("scored_tokens") + sum(text.n_tokens for text in batch),
                scoring_seconds=F("scoring_seconds") + seconds,
            )
            self.run.item_scores.bulk_create(rows.item_scores)
            self.run.corpus_scores.bulk_create(rows.corpus_scores)
            self.run.unscored.bulk_create(rows.unscored)
            publish()

    def _report_progress(self) -> None:
        self.run.refresh_from_db(fields=["done", "total", "scored_tokens", "scoring_seconds"])
        if self.on_progress is not None:
            self.on_progress(self.run)


def check_same_model(run: ScoringRun, model: Backend) -> None:
    """Check that a model would be scored as it was in the run.

    Raises:
        ScoringError: the model or the texts have changed.
    """
    _encoded(run, model)
    check_identity(run, model.identity())


def _encoded(run: ScoringRun, model: Backend) -> tuple[dict[int, EncodedText], list[Unscorable]]:
    """The run's texts as the model sees them, by index, and what cannot be scored; the model is prepared for them."""
    texts = texts_of(run)
    if fingerprint(run, texts) != run.fingerprint:
        raise ScoringError(
            f"The texts of run {run.pk} have changed since it was created. Start a new run."
        )
    prompt = Prompt(run.prompt, run.prompt_text)
    truncate = Reading.of(run.model_args).overlong == "truncate"
    encoded, unfit = encode_all(
        texts.texts, model.tokenizer, prompt, model.context_tokens, truncate
    )
    if encoded:
        model.prepare([text.group for text in encoded.values()])
    return encoded, [*texts.unscorable, *unfit]
