from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Study
from experiment.services.study_language import (
    OPENED,
    TextsChangedError,
    as_file,
    load_texts,
    merge_texts,
    untranslated,
)
from lib import po
from lib.commands import ReportingCommand, add_json_argument
from lib.confined import ConfinedError
from lib.files import read_regular


class Command(ReportingCommand):
    help = (
        "List the texts of a study's pages that are still English; write all as a PO file for translators, "
        "or load the study's own wording from one."
    )
    prints = {
        "study": str,
        "language": str,
        "own?": int,
        "problems?": [str],
        "untranslated": [str],
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--write", type=Path, metavar="FILE.po")
        what.add_argument("--load", type=Path, metavar="FILE.po")
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="with --load, replace texts that others have changed since the file was written",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        data: dict[str, Any] = {"study": study.slug, "language": study.language}
        lines = []
        if options["load"]:
            data |= self._load(study, options["load"], overwrite=options["overwrite"])
            lines.append(f"The study has its own wording for {data['own']} texts.")
            lines += data["problems"]
        if options["write"]:
            options["write"].write_text(as_file(study), encoding="utf-8")
            lines.append(f"Wrote {options['write']}.")
        missing = [message.source for message in untranslated(study)]
        lines += [f"English: {source}" for source in missing]
        lines.append(f"{study.slug} ({study.language}): {len(missing)} texts are shown in English.")
        self.report(options, data | {"untranslated": missing}, lines)

    def _load(self, study: Study, path: Path, *, overwrite: bool) -> dict[str, Any]:
        try:
            sent = po.read_sent(read_regular(path))
        except (OSError, UnicodeDecodeError, po.PoError, ConfinedError) as error:
            raise CommandError(f"{path} cannot be read: {error}") from error
        try:
            loaded = (
                load_texts(study, sent.messages)
                if overwrite
                else merge_texts(study, sent.messages, sent.header.get(OPENED))
            )
        except TextsChangedError as changed:
            raise CommandError(
                f"Others have changed texts since the file was written, or it does not say when that was. Nothing was loaded. Give --overwrite to replace them.\n{changed}"
            ) from changed
        problems = list(map(str, loaded.problems))
        return {"own": loaded.n, "problems": problems}
