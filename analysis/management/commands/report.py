from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.codec import MissingResult, present
from analysis.data.filters import SOURCE_CHOICES, ReportOptions, UnknownChoiceError
from analysis.management.arguments import Bar, add_trial_arguments, place
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.contents import CHAPTERS
from analysis.report.headline import Estimate, headline
from analysis.report.report import Report
from analysis.report.services.make import make_report
from analysis.services.export import DEFAULT_FORMATS, FORMATS, Written, write_report
from analysis.stats.arrays import Interval
from experiment.management.studies import find_study
from experiment.models import Study
from lib.commands import ReportingCommand, add_json_argument
from lib.formatting import is_known

NAIVE = "people and test cases as given"
INDEPENDENT = "trials as independent"
# What the first lines say already
IN_HEADLINE = ("humans", "models", "models_mean", "models_vs_humans")


class Command(ReportingCommand):
    help = (
        "Compute everything about a study's results, people and language models side by side, and write report.json, "
        "tables, figures, report.html and, for a BrainBench import, replication.md. docs/report.md explains report.json."
    )

    def add_arguments(self, parser: CommandParser) -> None:  # long, and only a list
        default = ReportOptions()
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--output", type=place, metavar="DIR", help="where to write; made if it is not there"
        )
        parser.add_argument(
            "--source",
            choices=SOURCE_CHOICES,
            default=default.source,
            help="who altered the test cases (default: all, each by itself)",
        )
        add_trial_arguments(parser)
        parser.add_argument(
            "--rules",
            type=int,
            metavar="N",
            help="leave out what version N of the study's rules leaves out (default: the newest; study_versions lists them)",
        )
        parser.add_argument(
            "--models", nargs="+", default=[], metavar="NAME", help="only these language models"
        )
        parser.add_argument(
            "--subfields", nargs="+", default=[], metavar="NAME", help="only these subfields"
        )
        parser.add_argument(
            "--formats",
            nargs="+",
            choices=FORMATS,
            default=list(DEFAULT_FORMATS),
            help="of the figures (default: svg png)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["output"] is None and not options["json"]:
            raise CommandError(
                "Say where to write with --output DIR, or print report.json with --json."
            )
        try:
            wanted = _report_options(options)
            with Bar(len(CHAPTERS) * len(wanted.sources)) as bar:
                report = make_report(
                    study, wanted, lambda source, part: bar.step(f"{part} ({source}-created)")
                )
                written = self._write(study, wanted, report, options, bar)
        except UnknownChoiceError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. report.json is written last: without a new one the folder is not of this report.",
                returncode=130,
            ) from None
        except OSError as error:
            raise CommandError(
                f"{error.filename or options['output']}: {error.strerror or error}"
            ) from error
        self.report(options, report.to_json(), _lines(report, written, options["output"]))

    def _write(
        self,
        study: Study,
        wanted: ReportOptions,
        report: Report,
        options: dict[str, Any],
        bar: Bar,
    ) -> Written | None:
        if options["output"] is None:
            return None
        return write_report(
            study, wanted, report, options["output"], options["formats"], bar.announce
        )


def _report_options(options: dict[str, Any]) -> ReportOptions:
    return ReportOptions(
        **{
            name: options[name]
            for name in ("source", "participants", "texts", "trials", "rules", "seed", "resamples")
        },
        models=tuple(options["models"]),
        subfields=tuple(options["subfields"]),
    )


def _lines(report: Report, written: Written | None, folder: Path) -> list[str]:
    study, participants = report.header.study, report.header.participants
    lines = [f"study        {study.slug} ({study.title})"]
    lines.append(f"participants {participants.label}. {participants.note}".rstrip())
    if participants.rules_version is not None:
        lines.append(f"rules        version {participants.rules_version} of the study")
    for name, source in report.sources.items():
        lines += ["", f"{name}-created test cases", *_headline(source)]
    if written is not None:
        lines += [
            "",
            (
                f"{written.n_files} files in {folder}: {', '.join(sorted(written.documents))}, "
                f"{len(written.tables)} tables, {len(written.figures)} figures"
            ),
        ]
    return lines


def _headline(source: SourceResults) -> list[str]:
    answer, own = headline(source), source.of(Accuracy)
    one = ("test cases", INDEPENDENT) if answer.model else ("models", NAIVE)
    lines = {
        "humans": _estimate(answer.humans, "trials", INDEPENDENT) or _missing(own.humans),
        "models": _estimate(answer.models, *one) or _missing(own.models_mean),
        "models less humans": _estimate(answer.difference, "models", NAIVE, "+")
        or _missing(own.models_vs_humans),
    }
    return [
        *(f"  {name:<18} {line}" for name, line in lines.items()),
        *(f"  {key}: {why.reason}" for key, why in _others_missing(source)),
    ]


def _others_missing(source: SourceResults) -> Iterator[tuple[str, MissingResult]]:
    """The results of which no line is printed and that the data could not support."""
    pairs = present(source.of(Accuracy).base_vs_chat)
    if pairs and isinstance(pairs.test, MissingResult):
        yield "base_vs_chat", pairs.test
    for chapter in CHAPTERS:
        for key, why in zip(chapter.keys, chapter.missing_in(source), strict=True):
            if why is not None and key not in IN_HEADLINE:
                yield key, why


def _missing(why: object) -> str:
    return f"{why.reason} {why.needed}" if isinstance(why, MissingResult) else ""


def _estimate(found: Estimate | None, unit: str, naive: str, sign: str = "") -> str:
    """The crossed interval, then the naive one under its name."""
    if found is None:
        return ""
    noun = unit[:-1] if found.n == 1 else unit
    crossed = _interval(found.ci95, sign) or "not known"
    line = f"{'' if sign else 'accuracy '}{found.value:{sign}.4f}  95% crossed {crossed}"
    if found.naive_ci95 and is_known(found.naive_ci95[0]):
        line += f"; naive, {naive}: {_interval(found.naive_ci95, sign)}"
    return f"{line}  ({found.n:,} {noun})"


def _interval(ci95: Interval | None, sign: str) -> str:
    return f"{ci95[0]:{sign}.4f} to {ci95[1]:{sign}.4f}" if ci95 else ""
