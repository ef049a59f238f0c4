from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.data.filters import SOURCES, UnknownChoiceError
from analysis.data.version import participants_kind
from analysis.management.arguments import Bar, add_trial_arguments, place
from analysis.stats import NotEnough
from analysis.teams.options import METHODS, MOST_HUMANS, OUT_OF, TeamOptions
from experiment.management.finding import find_study
from experiment.services.counts import kind_note
from lib.commands import ReportingCommand, StoppedError, add_json_argument


class Command(ReportingCommand):
    help = (
        "Combine people and language models into teams, evaluate them on held-out test cases, and print their accuracy and "
        "that of their best members. docs/results.md explains the numbers."
    )
    prints = Any  # teams.json

    def add_arguments(self, parser: CommandParser) -> None:  # long, and only a list
        default = TeamOptions()
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--source",
            choices=SOURCES,
            default=default.source,
            help="who altered the test cases (default: human)",
        )
        parser.add_argument(
            "--members",
            nargs="+",
            default=[],
            metavar="NAME",
            help=f"humans and language models, separated by commas or spaces. Write human once per person, up to {MOST_HUMANS} "
            "times; the participants are interchangeable. Name models in full or by a unique part of the name. Default for "
            "the published data: a human and the three Llama-2 chat models of the published teams; otherwise a human and "
            "the three most accurate models",
        )
        parser.add_argument("--method", choices=METHODS, default=default.method)
        parser.add_argument(
            "--all-subsets", action="store_true", help="every team that these members can form"
        )
        parser.add_argument(
            "--up-to",
            type=int,
            default=default.up_to,
            metavar="K",
            help="with --all-subsets: only teams of at most K members (default: any number)",
        )
        parser.add_argument(
            "--out-of",
            choices=OUT_OF,
            default=default.out_of,
            help="what a team is evaluated on: test cases that its fit did not use (item, the default), or test cases "
            "and participants that it did not use (participant)",
        )
        add_trial_arguments(parser)
        parser.add_argument(
            "--predictions",
            type=place,
            metavar="FILE.csv",
            help="write the held-out predictions to this file, one row per team and trial; its folder must exist",
        )
        parser.add_argument(
            "--output",
            type=place,
            metavar="DIR",
            help="write teams.json, tables and figures to this folder, and store them for the page; the parent folder must exist",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        # Here: what computes takes longer to load than everything else, and --help and refusals do without
        from analysis.management.team_text import lines, write
        from analysis.teams.services import make_teams

        try:
            if options["up_to"] and not options["all_subsets"]:
                raise CommandError("--up-to needs --all-subsets.")
            names = [name.strip() for part in options["members"] for name in part.split(",")]
            given = {n: v for n, v in options.items() if n in TeamOptions.__dataclass_fields__}
            wanted = TeamOptions(**given | {"members": tuple(filter(None, names))})
            # Before minutes of computing, whether what they give could be written
            file, folder = options["predictions"], options["output"]
            if file and file.is_dir():
                raise CommandError(f"--predictions: {file} is a folder. Name a file.")
            for option, chosen in (("--predictions", file), ("--output", folder)):
                if chosen and not (above := chosen.absolute().parent).is_dir():
                    raise CommandError(
                        f"{option}: the folder {above} does not exist. Create it first."
                    )
            if folder and folder.exists() and not folder.is_dir():
                raise CommandError(f"--output: {folder} is not a folder.")
            with Bar(None) as bar:
                report = make_teams(study, wanted, bar.step)
            written = write(study, wanted, report, file, folder)
        except UnknownChoiceError as error:
            raise CommandError(str(error)) from error
        except NotEnough as error:
            note = kind_note(study, participants_kind(study, wanted.of_report()))
            raise CommandError(f"{error} {note}".rstrip()) from error
        except KeyboardInterrupt:
            raise StoppedError("Stopped; nothing was written.") from None
        except OSError as error:
            place = error.filename or options["output"] or options["predictions"]
            raise CommandError(f"{place}: {error.strerror or error}") from error
        self.report(options, report.values, [*lines(report.document), *written])
