from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.services.readiness import preflight
from experiment.services.study_file import MAX_BYTES, as_bytes, create_from_file
from lib.commands import ReportingCommand, add_json_argument
from lib.files import read_regular
from lib.shapes import Either


class Command(ReportingCommand):
    help = (
        "Write a whole study as one JSON file (settings, rules, texts, test cases), or create a study from such a "
        "file. A new study is a draft without members."
    )
    prints = Either(write={"file": str}, create={"study": str, "problems": [str]})

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--write", type=Path, metavar="FILE.json")
        what.add_argument("--create", type=Path, metavar="FILE.json")
        parser.add_argument(
            "--title", default="", help="title of the new study (default: that in the file)"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["write"] or options["create"]
        try:
            if options["write"]:
                path.write_bytes(as_bytes(find_study(options["study"])))
                self.report(options, {"file": str(path)}, [f"Wrote {path}."])
                return
            content = read_regular(path, MAX_BYTES)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}.") from error
        try:
            study = create_from_file(content, slug=options["study"], title=options["title"])
        except ValidationError as error:
            raise CommandError("\n".join(error.messages)) from error
        missing = [str(found) for found in preflight(study) if found.is_blocking]
        lines = [f"Created study {study.slug} ({study.recruitment}) from {path}."]
        lines += [f"Before you can open it: {problem}." for problem in missing]
        self.report(options, {"study": study.slug, "problems": missing}, lines)
