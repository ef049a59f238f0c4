"""The options of commands that ask for trials, and what is said beside the trials that they write."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiment.domain import release, trial_query
from experiment.domain.release import CSV, USUAL_K, Form
from experiment.domain.trial_query import ALLOWED, QueryError, TrialQuery
from experiment.models import Study
from experiment.services.counts import kind_counts, kind_note, studies_joined
from experiment.services.export.files import Manifest
from experiment.services.export.release import nothing_left
from experiment.services.export.trials import completed
from experiment.services.reapplying import refuse_mixed_release

HELP = {
    "set": "all judged trials, or those of the analysis",
    "kind": (
        "kind of participants (default: the only kind that exists; if there are several, real, or imported if all other "
        "participants are simulated)"
    ),
    "rules": "apply the exclusions of version N of the study's rules (default: the newest)",
    "from": "first date (UTC) on which answers were received, such as 2026-03-31",
    "to": "last date (UTC) on which answers were received",
    "status": "stage of the participant",
    "channel": "channel of the participant",
    "source": "who altered the test case",
    "subfield": "subfield of the test case",
    "item": "keys of test cases",
    "participant": "pseudonyms",
    "reason": "codes of reasons for exclusion, at least one of which applies to the trial",
    "recognised": "answer to the question whether the participant knew the article",
}


def add_filters(parser: CommandParser) -> None:
    for name, sentence in HELP.items():
        parser.add_argument(
            f"--{name}",
            nargs="+" if name in trial_query.SEVERAL else None,
            choices=ALLOWED.get(name),
            required=name == "set",
            metavar=None if name in ALLOWED else name.upper(),
            help=sentence,
        )


def add_release(parser: CommandParser) -> None:
    parser.add_argument(
        "--release",
        action="store_true",
        help="for the public: group participants' answers about themselves, and omit answers that identify single people",
    )
    parser.add_argument(
        "--k",
        metavar="N",
        help=f"with --release: smallest group of people that shares a released combination of answers (default: {USUAL_K})",
    )
    parser.add_argument(
        "--words",
        action="store_true",
        help="with --release: include participants' written answers in the release; you confirm that you have read them and that they identify nobody",
    )


def asked(study: Study, options: Mapping[str, Any]) -> tuple[TrialQuery, Form]:
    """The query for what the options ask of the study, with its usual kind of participants where they name none.

    Raises:
        CommandError: an option's value is not known, or the study has no participants of that kind, but others.
    """
    given = {name: options[name] for name in HELP if options[name] is not None}
    values = {n: v if isinstance(v, list) else [str(v)] for n, v in given.items()}
    of_form = {"format": [options.get("format", CSV.format)], "k": [options["k"] or ""]}
    of_form |= {name: ["true"] for name in ("bom", "zip", "release", "words") if options.get(name)}
    try:
        query, form = trial_query.parse(values), release.parse(of_form)
        query = completed(study, query)
        refuse_mixed_release(study, query, form)
    except QueryError as error:
        raise CommandError(str(error)) from error
    counts, joined = kind_counts(study), studies_joined(study, query.kind)
    if (counts or joined) and query.kind not in counts:
        hint = f" They are exported with {', '.join(joined)}." if joined else ""
        raise CommandError(f"Nothing was written. {kind_note(study, query.kind)}{hint}")
    return query, form


def warn(command: BaseCommand, study: Study, written: Manifest) -> None:
    """A file may be called as one likes: what has to be said of its participants is said here, and stands in its column `kind`."""
    for note in (kind_note(study, written.kind), nothing_left(written.released)):
        if note:
            command.stderr.write(note, command.style.WARNING)
