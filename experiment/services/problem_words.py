"""Words for participants about what went wrong, and the status of the answer; problems.py shows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from experiment.models import Study
from experiment.services.flow import Refusal
from lib.http import UNPROCESSABLE

Text = str | Promise

GO_ON = _("Continue where you left off")
LEAVE = _("Leave the study")
FIRST_PAGE = _("Go to the first page")


@dataclass(frozen=True, slots=True)
class Problem:
    """action: what the link that leads on is called; "" where nothing does."""

    title: str
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The values that the sentences may name."""

    study: Study | None = None
    parameter: str = ""  # of a link, which should hold an id
    max_length: int = 0
    was_sent: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """message: or what makes it of a case. only_of_study: whether the way on exists only within a study."""

    status: int
    title: Text
    message: Text | Callable[[Case], str]
    action: Text = ""
    only_of_study: bool = False

    def worded(self, case: Case) -> Problem:
        message = self.message(case) if callable(self.message) else self.message
        has_way = case.study is not None or not self.only_of_study
        return Problem(str(self.title), str(message), str(self.action) if has_way else "")


def _unfilled(case: Case) -> str:
    return gettext(
        "The recruitment site did not add your ID to the link: %(parameter)s is not filled in. Nothing was stored. Please open the study from the recruitment site again, or tell the study team."
    ) % {"parameter": case.parameter}


def _too_late(case: Case) -> str:
    study = case.study
    assert study is not None
    if study.resume_days > 1:
        return gettext(
            "Participants can come back within %(n)s days of their last visit. This period is over."
        ) % {"n": study.resume_days}
    return ngettext(
        "Participants can come back within %(n)s hour of their last visit. This period is over.",
        "Participants can come back within %(n)s hours of their last visit. This period is over.",
        study.resume_hours,
    ) % {"n": study.resume_hours}


def _bad_link(case: Case) -> str:
    if not case.parameter:
        return gettext("The link of a simulated participant is not valid.")
    return gettext(
        "The link must contain %(parameter)s, an ID of at most %(max_length)s characters. Please use the complete link that you were given."
    ) % {"parameter": case.parameter, "max_length": case.max_length}


def _unavailable(case: Case) -> str:
    if case.was_sent:
        return gettext(
            "The site could not store what you just sent. Please send it again in a few seconds: reload the page in your browser, or go back. All your earlier answers are stored."
        )
    return gettext(
        "The site cannot respond at the moment. This page tries again automatically in a few seconds. Everything you have sent is stored."
    )


def _server_error(case: Case) -> str:
    if case.was_sent:
        return gettext(
            "This is a fault on our side. Perhaps the last page that you sent was not stored. All your earlier answers are stored. Please go back and send it again in a minute."
        )
    return gettext(
        "This is a fault on our side. The answers that you have already sent are stored. Please try again in a minute."
    )


KINDS: Mapping[str, Kind] = {
    Refusal.ANOTHER_PAGE: Kind(
        409,
        _("You are at a different step"),
        _(
            "You have already passed this page, or have not reached it yet. Nothing was lost. Please continue where you left off."
        ),
        GO_ON,
    ),
    Refusal.ALREADY_ANSWERED: Kind(
        409,
        _("Already answered"),
        _(
            "This task has already been answered, perhaps in another tab. Your first answer is stored."
        ),
        GO_ON,
    ),
    Refusal.ALREADY_SENT: Kind(
        409,
        _("Already sent"),
        _(
            "This page has already been sent, perhaps from another tab. Your first answers are stored."
        ),
        GO_ON,
    ),
    Refusal.FOREIGN_TRIAL: Kind(
        403, _("This is not your page"), _("This page belongs to another participant."), GO_ON
    ),
    Refusal.CONSENT_CHANGED: Kind(
        409,
        _("Please read again"),
        _("The consent text has changed since you opened the page. Please read it again."),
        _("Read again"),
    ),
    Refusal.KNOWN_ID: Kind(
        409,
        _("You have been here before"),
        _(
            "Somebody has already started this study with your ID from the recruitment site, and each person can take part only once. If that was you, continue in the browser in which you started, or with your own code. Otherwise, please tell the study team."
        ),
        LEAVE,
    ),
    Refusal.UNFILLED_LINK: Kind(400, _("Your link is not complete"), _unfilled),
    "already_taking_part": Kind(
        409,
        _("You are taking part"),
        _(
            "You have already agreed to take part, perhaps in another tab. You can stop at any time by closing the page, and you can withdraw the answers you have given."
        ),
        _("Continue"),
    ),
    Refusal.STUDY_FULL: Kind(
        403,
        _("This study is full"),
        _("All places have been taken. Thank you for your interest in taking part."),
        LEAVE,
    ),
    Refusal.GROUP_FULL: Kind(
        403,
        _("Your group is full"),
        _(
            "All places for people in your group have been taken. Thank you for your interest. Your answers were not stored."
        ),
        LEAVE,
    ),
    Refusal.STUDY_ENDED: Kind(
        403,
        _("This study has ended"),
        _("This study no longer accepts new participants. Thank you for your interest."),
        LEAVE,
    ),
    Refusal.STUDY_NOT_STARTED: Kind(
        403,
        _("This study has not started"),
        _("This study is still being prepared, so you cannot take part yet."),
        LEAVE,
    ),
    "no_item_left": Kind(
        503,
        _("No tasks left"),
        _("There are no more tasks to show. Your answers are stored; please tell the study team."),
    ),
    "too_late": Kind(403, _("It is too late to continue"), _too_late),
    "unknown_participant": Kind(
        403,
        _("This browser is not recognised"),
        _(
            "Your browser did not send a cookie from this study. The cookie may have been deleted, or you may have started in another browser or in a private window. Any answers that you have already given are stored. If you have not started yet, please go to the first page."
        ),
        FIRST_PAGE,
    ),
    "no_cookie": Kind(
        400,
        _("Cookies are needed"),
        _(
            "Your browser did not send back this study's cookie. Please allow cookies, and open the link again."
        ),
        _("Continue"),
    ),
    "wrong_side": Kind(UNPROCESSABLE, _("Not this one"), _("Please read again.")),
    "bad_link": Kind(400, _("This link is not valid"), _bad_link),
    "bad_request": Kind(
        400,
        _("This page could not be opened"),
        _("This site cannot read the address or the form. Nothing was changed."),
    ),
    "permission_denied": Kind(
        403,
        _("You do not have access to this page"),
        _("You may need to sign in with another account."),
    ),
    "not_found": Kind(
        404,
        _("This page does not exist"),
        _("Please check the address, or use the link that you were given."),
        FIRST_PAGE,
        only_of_study=True,
    ),
    "unknown_channel": Kind(
        404,
        _("This link is not valid"),
        _(
            "The link names a recruitment channel that this study does not have. Please use the complete link that you were given, or tell the study team."
        ),
    ),
    "csrf_failure": Kind(
        403,
        _("The form could not be checked"),
        _(
            "Your browser did not send back the cookie that protects this form. Please allow cookies for this site, reload the page and try again. Answers that you have already given are stored."
        ),
        FIRST_PAGE,
        only_of_study=True,
    ),
    "unavailable": Kind(503, _("One moment, please"), _unavailable),
    "server_error": Kind(500, _("Something went wrong"), _server_error),
}


def worded(name: str, case: Case) -> Problem:
    return KINDS[name].worded(case)
