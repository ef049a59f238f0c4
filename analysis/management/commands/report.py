from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.data.filters import METHODS, SOURCE_CHOICES, ReportOptions, UnknownChoiceError
from analysis.management.arguments import (
    Bar,
    add_bert_arguments,
    add_trial_arguments,
    open_vectors,
    place,
)
from analysis.store import DEFAULT_FORMATS, FORMATS
from experiment.management.finding import find_study
from lib.commands import ReportingCommand, StoppedError, add_json_argument

# Options of the command that a report has by the same name
AS_GIVEN = ("source", "participants", "texts", "trials", "rules", "method", "seed", "resamples")


class Command(ReportingCommand):
    help = (
        "Compute the results of a study for people and language models, and write report.json, "
        "tables, figures, report.html and, for a BrainBench import, replication.md. docs/results.md explains report.json."
    )
    prints = Any  # report.json

    def add_arguments(self, parser: CommandParser) -> None:  # long, and only a list
        default = ReportOptions()
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--output",
            type=place,
            metavar="DIR",
            help="output folder; created if it does not exist",
        )
        parser.add_argument(
            "--source",
            choices=SOURCE_CHOICES,
            default=default.source,
            help="who altered the test cases (default: all, in separate parts)",
        )
        add_trial_arguments(parser)
        parser.add_argument(
            "--rules",
            type=int,
            metavar="N",
            help="apply the exclusions of version N of the study's rules (default: the newest; study_versions lists them)",
        )
        parser.add_argument(
            "--method",
            choices=METHODS,
            default=default.method,
            help="only models that were scored by perplexity, or only those that were asked (default: both)",
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
            help="file formats of the figures (default: svg png)",
        )
        add_bert_arguments(parser, "also compute BERTScore of graded answers")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["output"] is None and not options["json"]:
            raise CommandError(
                "Name the output folder with --output DIR, or print report.json with --json."
            )
        # Here: what computes takes longer to load than everything else, and --help and refusals do without
        from analysis.management.report_text import lines
        from analysis.report.services.make import make_report, n_steps
        from analysis.services.export import write_report

        written = None
        try:
            vectors = open_vectors(options)
            wanted = ReportOptions(
                **{name: options[name] for name in AS_GIVEN},
                models=tuple(options["models"]),
                subfields=tuple(options["subfields"]),
                bert_score=vectors.name if vectors else "",
            )
            with Bar(n_steps(study, wanted)) as bar:
                report = make_report(study, wanted, bar.step, vectors)
                if folder := options["output"]:
                    written = write_report(
                        study, wanted, report, folder, options["formats"], bar.step, bar.announce
                    )
        except UnknownChoiceError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise StoppedError(
                "Stopped. report.json is written last. If the folder has no new report.json, the report in it is incomplete."
            ) from None
        except OSError as error:
            raise CommandError(
                f"{error.filename or options['output']}: {error.strerror or error}"
            ) from error
        self.report(options, report.to_json(), lines(report, written, options["output"]))
