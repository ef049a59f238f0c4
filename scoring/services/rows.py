"""From a batch's log-probabilities to rows: scores, or why there is none, and the record of every token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scoring.backends.reading import Reading
from scoring.domain.backend import GroupResult, ScoringError, TextError
from scoring.domain.encoding import Encoded
from scoring.domain.memorisation import zlib_bytes
from scoring.domain.prompts import Prompt
from scoring.domain.versions import TextScore, score_versions
from scoring.models import CorpusScore, ItemScore, ScoringRun, UnscoredText
from scoring.services.texts import EncodedText, Unscorable
from scoring.services.token_store import TokenRecord

NAME_LENGTH = UnscoredText._meta.get_field("name").max_length


@dataclass
class BatchRows:
    """What a batch comes to in the database and in its Parquet file."""

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
        if text.text.item is None:
            rows.corpus_scores.append(_corpus_score(run, text, *scores))
        else:
            rows.item_scores.append(_item_score(run, text, *scores))
        rows.records.extend(_records(text, result))
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


def _item_score(
    run: ScoringRun, text: EncodedText, original: TextScore, altered: TextScore
) -> ItemScore:
    a, b = text.text.texts
    return ItemScore(
        run=run,
        item=text.text.item,
        unit=text.text.unit,
        ppl_original=original.ppl,
        ppl_altered=altered.ppl,
        nll_all_original_nats=original.nll_all_nats,
        nll_all_altered_nats=altered.nll_all_nats,
        nll_text_original_nats=original.nll_text_nats,
        nll_text_altered_nats=altered.nll_text_nats,
        tokens_all_original=original.tokens_all,
        tokens_all_altered=altered.tokens_all,
        tokens_text_original=original.tokens_text,
        tokens_text_altered=altered.tokens_text,
        zlib_original_bytes=_zlib_bytes(run, a.text, text.encoded[0]),
        zlib_altered_bytes=_zlib_bytes(run, b.text, text.encoded[1]),
    )


def _corpus_score(run: ScoringRun, text: EncodedText, score: TextScore) -> CorpusScore:
    by_paper = run.mode == "paper"
    return CorpusScore(
        run=run,
        row=text.text.unit,
        text_id=text.text.text_id,
        ppl=score.ppl,
        nll_nats=score.nll_all_nats if by_paper else score.nll_text_nats,
        tokens=score.tokens_all if by_paper else score.tokens_text,
        zlib_bytes=_zlib_bytes(run, text.text.texts[0].text, text.encoded[0]),
    )


def _zlib_bytes(run: ScoringRun, text: str, encoded: Encoded) -> int:
    """Of what the perplexity counts: as published, that is the prompt too in mode `paper`; of a text that was cut, what is left."""
    by_paper = run.mode == "paper"
    read, at = Prompt(run.prompt, run.prompt_text).place(text) if by_paper else (text, 0)
    begin = 0
    if Reading.of(run.model_args).overlong == "truncate":
        begin = next((at + int(start) for start, stop in encoded.spans if stop > start), 0)
    return zlib_bytes(read[max(begin, 0) :])


def _records(text: EncodedText, result: GroupResult) -> Iterable[TokenRecord]:
    item = text.text.item
    for version, encoded, logprobs in zip(text.text.versions, text.encoded, result, strict=True):
        assert not isinstance(logprobs, TextError)
        key, number = (item.key, item.version) if item else (None, None)
        yield TokenRecord(key, number, text.text.unit, version, encoded, logprobs)
