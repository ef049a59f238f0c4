"""Decisions about a submission that recruitment sites leave to a researcher, and the files that they take. One place, with the sites' own pages.

The rules are those of the sites' help pages, to which the page links beside each table: a site may change its terms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from experiment.domain.pay import CENT
from lib.csv_lines import line_of


class State(StrEnum):
    """Where a person is who came with an ID, over all of their participations."""

    FINISHED = "finished"
    SCREENED_OUT = "screened out"
    UNDER_WAY = "taking part"
    STOPPED = "stopped"
    WITHDREW = "withdrew after finishing"


class Act(StrEnum):
    """A proposal about a person's submission."""

    PAY = "pay"
    RETURN = "ask to return"  # Prolific's word
    DECIDE = "decide"
    REFUSE = "refuse"
    WAIT = "wait"


class Reason(StrEnum):
    """The reason of a line of a list. A person has one line for each reason at most."""

    FINISHED = "finished"
    SCREENED_OUT = "screened_out"
    BONUS = "bonus"
    REFUSED = "refused"


LISTS: dict[Reason, str] = {
    Reason.FINISHED: "participants who finished",
    Reason.SCREENED_OUT: "part payments to screened-out participants",
    Reason.BONUS: "bonuses",
    Reason.REFUSED: "refused submissions",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site's help."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Site:
    """The terms of one recruitment site.

    least_missed: attention checks that somebody must have missed before the site lets a researcher refuse them; None where the
    site accepts no reason that this study could know. `finished`, `screened_out` and `stopped` are reasons in the site's terms.
    """

    terms: str
    finished: str
    screened_out: str
    stopped: str
    least_missed: int | None
    pages: tuple[Page, ...]


PROLIFIC = Site(
    terms=(
        "Prolific expects that all who finished are approved. It lets you refuse for several missed attention checks, not for wrong "
        "answers or slow reading. It approves by itself after 21 days."
    ),
    finished="completed the study",
    screened_out="was screened out: ask to return the submission, and pay the part as a bonus",
    stopped="took only a part of the study",
    least_missed=2,
    pages=(
        Page(
            "Whom to accept or reject",
            "https://researcher-help.prolific.co/hc/en-gb/articles/360009092394-Reviewing-submissions-How-do-I-decide-who-to-accept-reject-",
        ),
        Page(
            "Return or reject",
            "https://researcher-help.prolific.co/hc/en-gb/articles/360014583000",
        ),
        Page(
            "Bonus payments",
            "https://researcher-help.prolific.co/hc/en-gb/articles/360009222573-Bonus-payments",
        ),
    ),
)
MTURK = Site(
    terms=(
        "Mechanical Turk expects that work that was done as asked is approved. An assignment without the right code can be refused; "
        "this page proposes no refusal, because it knows only those who came here."
    ),
    finished="completed the HIT",
    screened_out="was screened out: pay the part as a bonus",
    stopped="did not complete the HIT, which returns by itself unless they submitted it",
    least_missed=None,
    pages=(
        Page(
            "Approve and reject assignments",
            "https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI/ApprovingandRejectingWork.html",
        ),
        Page(
            "Review assignments offline",
            "https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI/ReviewingResultsOutsideoftheRUI.html",
        ),
    ),
)
SONA = Site(
    terms=(
        "SONA grants credit as participants open the completion address. Grant it by hand to those on the list who did not receive it. "
        "Your department's rules say what participants get who stop or are screened out."
    ),
    finished="participated",
    screened_out="was screened out: credit by the rules of your department",
    stopped="did not complete the study: an excused no-show by the rules of your department",
    least_missed=None,
    pages=(
        Page(
            "External study credit granting",
            "https://www.sona-systems.com/researcher/external-study-credit-granting/",
        ),
        Page(
            "Survey codes",
            "https://www.sona-systems.com/researcher/using-the-survey-code-feature/",
        ),
    ),
)
OTHER = Site(
    terms="The site's own terms hold. This page proposes no refusal for a site whose terms it does not know.",
    finished="completed the study",
    screened_out="was screened out",
    stopped="did not complete the study",
    least_missed=None,
    pages=(),
)
SITES: dict[str, Site] = {"prolific": PROLIFIC, "mturk": MTURK, "sona": SONA}


def site_of(platform: str) -> Site:
    return SITES.get(platform, OTHER)


@dataclass(frozen=True, slots=True)
class Proposal:
    """An act, and its reason in the site's terms."""

    act: Act
    reason: str


def propose(
    platform: str, state: State, *, n_missed_checks: int, excluded: str, part: Decimal
) -> Proposal:
    """A proposal about a person. Wrong answers, ratings and response times are no argument of this function.

    excluded: why they are left out of the analysis, which is no reason to refuse. part: what screened-out people were promised.

    >>> propose("prolific", State.FINISHED, n_missed_checks=2, excluded="missed a catch trial", part=Decimal(0)).act
    <Act.REFUSE: 'refuse'>
    >>> propose("mturk", State.FINISHED, n_missed_checks=2, excluded="missed a catch trial", part=Decimal(0))
    Proposal(act=<Act.PAY: 'pay'>, reason='completed the HIT; the exclusion is no reason to refuse')
    >>> propose("sona", State.STOPPED, n_missed_checks=0, excluded="", part=Decimal(0)).act
    <Act.DECIDE: 'decide'>
    """
    site = site_of(platform)
    unpaid = Act.RETURN if site is PROLIFIC else Act.DECIDE
    match state:
        case State.FINISHED if (
            site.least_missed is not None and n_missed_checks >= site.least_missed
        ):
            return Proposal(Act.REFUSE, f"failed {n_missed_checks} attention checks")
        case State.FINISHED:
            more = "; the exclusion is no reason to refuse" if excluded else ""
            return Proposal(Act.PAY, site.finished + more)
        case State.WITHDREW:
            return Proposal(
                Act.PAY, f"{site.finished}, and was promised pay also after a withdrawal"
            )
        case State.SCREENED_OUT:
            return Proposal(Act.PAY if part else unpaid, site.screened_out)
        case State.UNDER_WAY:
            return Proposal(Act.WAIT, "is still taking part")
    return Proposal(unpaid, site.stopped)


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of a file: the IDs that the site gave, and what the person gets."""

    external_id: str
    study_id: str
    session_id: str
    amount: Decimal
    note: str = ""


@dataclass(frozen=True, slots=True)
class File:
    content: str
    suffix: str
    content_type: str
    use: str


TEXT, CSV = "text/plain; charset=utf-8", "text/csv; charset=utf-8"
MTURK_COLUMNS = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject")


def file_of(platform: str, reason: Reason, lines: Sequence[Listed]) -> File:
    """The list in the form that the site takes.

    >>> two = [Listed("5f3a", "s", "u", Decimal("2")), Listed("5f3b", "s", "v", Decimal("0.7"))]
    >>> file_of("prolific", Reason.FINISHED, two).content, file_of("prolific", Reason.BONUS, two).content
    ('5f3a\\n5f3b\\n', '5f3a,2.00\\n5f3b,0.70\\n')
    >>> file_of("mturk", Reason.FINISHED, two[:1]).content.splitlines()
    ['HITId,AssignmentId,WorkerId,Approve,Reject', 's,u,5f3a,X,']
    """
    paid = ([line.external_id, f"{line.amount.quantize(CENT):f}"] for line in lines)
    if reason == Reason.REFUSED and platform != "mturk":
        rows: Iterable[Sequence[str]] = ([line.external_id, line.note] for line in lines)
        return File(_csv(rows), ".csv", CSV, use_of(platform, reason))
    match platform:
        case "prolific" if reason == Reason.FINISHED:
            return File(
                _csv([line.external_id] for line in lines), ".txt", TEXT, use_of(platform, reason)
            )
        case "prolific":
            return File(_csv(paid), ".csv", CSV, use_of(platform, reason))
        case "mturk" if reason in (Reason.FINISHED, Reason.REFUSED):
            is_refused = reason == Reason.REFUSED
            marked = (
                [
                    *(line.study_id, line.session_id, line.external_id),
                    *(("", line.note) if is_refused else ("X", "")),
                ]
                for line in lines
            )
            return File(_csv([MTURK_COLUMNS, *marked]), ".csv", CSV, use_of(platform, reason))
        case "mturk":
            bonuses = (
                [line.external_id, line.session_id, f"{line.amount.quantize(CENT):f}"]
                for line in lines
            )
            head = ("WorkerId", "AssignmentId", "BonusAmount")
            return File(_csv([head, *bonuses]), ".csv", CSV, use_of(platform, reason))
        case "sona":
            return File(
                _csv([("survey_code", "credits"), *paid]), ".csv", CSV, use_of(platform, reason)
            )
    return File(_csv([("id", "amount"), *paid]), ".csv", CSV, use_of(platform, reason))


def use_of(platform: str, reason: Reason) -> str:
    """Where the file goes at the site."""
    if reason == Reason.REFUSED and platform != "mturk":
        return (
            "Refuse each of these submissions at the site by hand, with the reason beside the ID."
        )
    match platform:
        case "prolific" if reason == Reason.FINISHED:
            return "At Prolific, open the study's submissions, choose to approve in bulk, and paste the IDs."
        case "prolific":
            return "At Prolific, open the study's submissions, choose “More”, “Bulk bonus payment”, and paste the lines."
        case "mturk" if reason in (Reason.FINISHED, Reason.REFUSED):
            return (
                "At Mechanical Turk, choose “Manage”, “Results”, “Review Results”, and download the CSV. Copy the columns Approve and Reject "
                "into it by AssignmentId, and upload it."
            )
        case "mturk":
            return "At Mechanical Turk, send each worker the bonus for this assignment, or give the file to a tool that does so."
        case "sona":
            return "At SONA, open the study's participants, and grant credit to those of these survey codes who have none yet."
    return "Pay these IDs in the way that your site offers."


def _csv(rows: Iterable[Sequence[str]]) -> str:
    """IDs come from addresses that anybody can write: none is to run as a formula."""
    return b"".join(map(line_of, rows)).decode()
