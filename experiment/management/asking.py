"""The options of commands that ask for trials."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from experiment.domain import release, trial_query
from experiment.domain.release import CSV, USUAL_K, Form
from experiment.domain.trial_query import ALLOWED, TrialQuery

HELP = {
    "set": "all judged trials, or those of the analysis",
    "kind": "of participants, and no others (default: real; imported where published people are all that is not simulated)",
    "rules": "decide what is included by version N of the study's rules (default: the newest)",
    "from": "the first day (UTC) on which answers were received, as 2026-03-31",
    "to": "the last such day",
    "status": "how far the participant has come",
    "channel": "how the participant came",
    "source": "who altered the test case",
    "subfield": "of the test case",
    "item": "keys of test cases",
    "participant": "pseudonyms",
    "reason": "codes of which one speaks against the trial",
    "recognised": "what was answered",
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
        help="for the public: coarsen what participants said about themselves, and leave out what tells one from all others",
    )
    parser.add_argument(
        "--k",
        default=str(USUAL_K),
        metavar="N",
        help=f"fewest people whom a released combination of answers fits (default: {USUAL_K})",
    )
    parser.add_argument(
        "--words",
        action="store_true",
        help="the release has what participants wrote in answer to questions: it was read, and names nobody",
    )


def asked(options: Mapping[str, Any]) -> tuple[TrialQuery, Form]:
    """
    Raises:
        QueryError: an option's value is not known.
    """
    given = {name: options[name] for name in HELP if options[name] is not None}
    values = {n: v if isinstance(v, list) else [str(v)] for n, v in given.items()}
    form = {"format": [options.get("format", CSV.format)], "k": [options["k"]]}
    form |= {name: ["true"] for name in ("bom", "zip", "release", "words") if options.get(name)}
    return trial_query.parse(values), release.parse(form)
