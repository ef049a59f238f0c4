from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from lib.shapes import OrNull
from scoring.management.asked_models import asked_models, asked_prompts
from scoring.management.results import rate, unscored_lines
from scoring.management.scoring_command import ScoringCommand, unscored_rows
from scoring.services.summary import KnownTexts, summarise_corpus
from scoring.services.texts import describe_corpus

# Of zlib bytes / perplexity of each text
RATIO_SHAPE = {"n": int, "q1": float, "median": float, "q3": float}


class Command(ScoringCommand):
    help = (
        "Score a reference corpus (one text per row). Ratios of zlib length to perplexity show how well "
        "a model knows the corpus, compared with a study's test cases and with a text that the model has certainly "
        "memorised (--anchor)."
    )
    default_prompt = "none"
    _beside = {"run": int, "prompt": str, "ratio": OrNull(RATIO_SHAPE)}
    prints = {
        "model": str,
        "corpus": str,
        "anchor": bool,
        "run": int,
        "tokens_per_s": float | None,
        "ratio": OrNull(RATIO_SHAPE),
        "study": OrNull({"study": str} | _beside),
        "anchors": [{"corpus": str} | _beside],
        "unscored": [{"name": str, "reason": str}],
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help=".xlsx, .ods, .csv, .tsv or .jsonl"
        )
        self.add_model_arguments(parser)
        parser.add_argument(
            "--name", metavar="NAME", help="name of the corpus (default: that of the file)"
        )
        parser.add_argument(
            "--anchor", action="store_true", help="models have certainly memorised these texts"
        )
        parser.add_argument("--text_column", default="text", metavar="NAME")
        parser.add_argument("--id_column", default="id", metavar="NAME")
        parser.add_argument(
            "--study", metavar="SLUG", help="study whose test cases are compared with it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        if len(asked_models(options)) * len(asked_prompts(options, self.default_prompt)) > 1:
            raise CommandError("A corpus is scored with one model and one prompt at a time.")
        path: Path = options["file"]
        settings = {
            "corpus": options["name"] or path.stem,
            "corpus_file": describe_corpus(path, options["text_column"], options["id_column"]),
            "is_anchor": options["anchor"],
            "limit": options["limit"],
        }
        (evaluation,) = self.score_all([settings], options)
        (run,) = evaluation.runs
        summary = summarise_corpus(run, study)

        items = summary.items
        data = {
            "model": run.language_model.name,
            "corpus": run.corpus,
            "anchor": run.is_anchor,
            "run": run.pk,
            "tokens_per_s": run.tokens_per_s,
            "ratio": summary.ratio,
            "study": study and items and {"study": study.slug, **_beside(items)},
            "anchors": [{"corpus": one.run.corpus, **_beside(one)} for one in summary.anchors],
            "unscored": unscored_rows(summary.unscored),
        }
        told = [
            f"zlib bytes / perplexity of {run.language_model.name} ({rate(run.tokens_per_s)} tokens/s):",
            _line(f"{'anchor' if run.is_anchor else 'corpus'} {run.corpus}", summary),
        ]
        if study is not None and items is not None:
            about = f"study {study.slug} (run {items.run.pk}, prompt {items.run.prompt})"
            told.append(_line(about, items))
        elif study is not None:
            told.append(f"  study {study.slug}: no finished run of this model on whole abstracts")
        for anchor in summary.anchors:
            told.append(_line(f"anchor {anchor.run.corpus} (run {anchor.run.pk})", anchor))
        self.report(options, data, [*told, *unscored_lines("not scored", summary.unscored)])
        self.refuse_unscored(summary.unscored)


def _beside(known: KnownTexts) -> dict[str, Any]:
    return {"run": known.run.pk, "prompt": known.run.prompt, "ratio": known.ratio}


def _line(name: str, known: KnownTexts) -> str:
    if (ratio := known.ratio) is None:
        return f"  {name}: nothing was scored"
    return (
        f"  {name}: median {ratio['median']:.4g} "
        f"(quartiles {ratio['q1']:.4g} to {ratio['q3']:.4g}, {ratio['n']} texts)"
    )
