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
from analysis.report.report import Report
from analysis.report.services.make import make_report
from analysis.services.export import DEFAULT_FORMATS, FORMATS, Written, write_report
from analysis.stats.arrays import Interval
from analysis.stats.estimates import PairedTest
from experiment.management.studies import find_study
from experiment.models import Study
from lib.commands import ReportingCommand, add_json_argument

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
            for name in ("source", "participants", "texts", "trials", "seed", "resamples")
        },
        models=tuple(options["models"]),
        subfields=tuple(options["subfields"]),
    )


def _lines(report: Report, written: Written | None, folder: Path) -> list[str]:
    study, participants = report.header.study, report.header.participants
    lines = [f"study        {study.slug} ({study.title})"]
    lines.append(f"participants {participants.label}. {participants.note}".rstrip())
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
    own = source.of(Accuracy)
    humans, mean, versus = own.humans, own.models_mean, own.models_vs_humans
    lines = {
        "humans": _missing(humans)
        if isinstance(humans, MissingResult)
        else _share(humans.trials.accuracy, humans.trials.ci95, humans.trials.n, "trials"),
        "models": _missing(mean)
        if isinstance(mean, MissingResult)
        else _share(mean.mean, mean.ci95, mean.n, "models"),
        "models less humans": _missing(versus)
        if isinstance(versus, MissingResult)
        else _difference(versus.test),
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


def _missing(why: MissingResult) -> str:
    return f"{why.reason} {why.needed}"


def _share(value: float, ci95: Interval | None, n: int, unit: str) -> str:
    interval = "" if ci95 is None else f"  95% interval {ci95[0]:.4f} to {ci95[1]:.4f}"
    return f"accuracy {value:.4f}{interval}  ({n:,} {unit[:-1] if n == 1 else unit})"


def _difference(test: PairedTest) -> str:
    low, high = test.ci95
    return (
        f"{test.mean_difference:+.4f}  95% interval {low:+.4f} to {high:+.4f}  t({test.df}) = {test.t:.2f}, "
        f"p = {test.p:.2g}, d_av = {test.d_av:.2f}"
    )
