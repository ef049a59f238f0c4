from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from analysis.management.arguments import add_bert_arguments, open_vectors, place
from lib.commands import ReportingCommand, add_json_argument
from lib.files import open_regular
from lib.shapes import OrNull

if TYPE_CHECKING:
    from analysis.management.graded import Counts, GradedLine
    from analysis.management.graded_words import Words


class Command(ReportingCommand):
    help = (
        "Compute the response quality, safety and abstention rate of each model from a judge's replies. Each line of "
        "the file is a JSON object {model, question, template, categories, raw}, graded by BioScore. docs/results.md "
        "explains the numbers."
    )
    _ci95 = OrNull([float])
    prints = {
        "rubric": str,
        "models": {
            str: {
                "n": int,
                "n_good": int,
                "n_abstained": int,
                "n_bad": int,
                "n_unparsed": int,
                "n_clusters": int,
                "quadrant": str | None,
                **dict.fromkeys(("rqr", "sr", "ar"), float | None),
                **dict.fromkeys(("rqr_ci95", "sr_ci95", "ar_ci95"), _ci95),
                **dict.fromkeys(
                    ("rqr_ci95_method", "sr_ci95_method", "ar_ci95_method"), str | None
                ),
                **dict.fromkeys(("rqr_ci95_wilson", "sr_ci95_wilson", "ar_ci95_wilson"), _ci95),
                **dict.fromkeys(
                    ("rqr_ci95_clustered", "sr_ci95_clustered", "ar_ci95_clustered"), _ci95
                ),
                "words?": {
                    str: {
                        "mean": float | None,
                        "n": int,
                        "rho": float | None,
                        "rho_ci95": _ci95,
                        "tau": float | None,
                        "tau_ci95": _ci95,
                    }
                },
            }
        },
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=place, metavar="FILE.jsonl")
        parser.add_argument(
            "--words",
            action="store_true",
            help="also compute BLEU and ROUGE and their correlations with the points; lines need answer and expert_answer",
        )
        add_bert_arguments(parser, "also compute BERTScore (implies --words)")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["words"] or options["bert_score"] is not None
        counts, words = _read(options["file"], options, with_words=wanted)
        # Here: what computes takes longer to load than it takes to refuse a file
        from analysis.management.graded import rate_lines, values_of
        from analysis.stats.graded.rates import rates_of_counts
        from scoring.domain.grading.rubric import BIOSCORE, Fate

        models = {
            name: (
                one,
                rates_of_counts(list(one.by_cluster.values())) if one.is_read else None,
            )
            for name, one in counts.items()
        }
        overlap = {name: one.values() for name, one in words.items()}
        data = {
            "rubric": BIOSCORE.name,
            "models": {
                name: values_of(one) | ({"words": overlap[name]} if wanted else {})
                for name, one in models.items()
            },
        }
        totals = {name: one.totals for name, one in counts.items()}
        rates = {
            name: (sum(totals[name].values()), totals[name][Fate.UNPARSED], found)
            for name, (_, found) in models.items()
        }
        lines = [*rate_lines(rates)]
        if overlap:
            from analysis.management.graded_words import lines as word_lines

            lines += ["", *word_lines(overlap)]
        self.report(options, data, lines)


def _read(
    path: Path, options: dict[str, Any], *, with_words: bool
) -> "tuple[dict[str, Counts], dict[str, Words]]":
    """Both of each model, from one reading of the file."""
    from analysis.management.graded import BadLine, tally
    from scoring.domain.grading.rubric import BIOSCORE

    vectors, words = open_vectors(options), dict[str, "Words"]()

    def count(line: "GradedLine", points: float | None) -> None:
        from analysis.management.graded_words import Words  # what counts words loads slowly

        if line.texts is None:
            raise BadLine(line.number, "its answer and expert_answer are not texts.")
        own = words.setdefault(line.model, Words(BIOSCORE, vectors))
        own.add(line.cluster, points, *line.texts)

    try:
        with open_regular(path) as file:
            counts = tally(file, BIOSCORE, count if with_words else None)
    except BadLine as error:
        raise CommandError(f"{path}, {error}") from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not counts:
        raise CommandError(f"{path} has no line with a graded answer.")
    return counts, words
