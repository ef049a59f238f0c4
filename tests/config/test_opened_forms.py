"""Every address that takes a form says what the form was opened with, or why it need not: a new one without either fails here."""

from urllib.parse import urljoin

import pytest
from django.contrib import admin
from django.db import transaction
from django.urls import resolve, reverse
from rest_framework import serializers

from experiment.lab.routes import PUBLIC, routes
from lib.api.views import ApiView
from tests.config.rights_examples import address, arguments
from tests.factories import (
    make_channel,
    make_item,
    make_research_field,
    make_study,
    make_survey,
    make_user,
)
from tests.forms import Browser, forms_of

pytestmark = pytest.mark.django_db

CREATES = "makes a row, and changes none"
APPENDS = "adds to what is there, and changes nothing of it"
STARTS = "starts, stops or repeats work, which changes no setting"
SHOWN = "does what was shown, and compares it with what would be done now (`shown`)"
OWN = "concerns nobody but its sender"
ENDS = "takes away for good what its sender named, whatever else is said of it"
SWITCHES = "sets one switch to what its button says, whatever it is now"
WITHOUT = {
    **dict.fromkeys(
        (
            *("channel_new", "setup_new_arm", "setup_new_survey_question", "setup_survey_trust"),
            *("new_field", "add_subfield", "new_study", "first_study", "new_question"),
            *("new_question_template", "new_item", "invite", "people", "add_field_member"),
            "share_field_with_study",
            *("import_send", "paste_items", "imports_upload", "question_import"),
            *("question_template", "choosing_upload", "new_server"),
        ),
        CREATES,
    ),
    **dict.fromkeys(
        (
            *("comment_on_item", "answer_comment", "generated_draft_take"),
            "generated_draft_dismiss",
        ),
        APPENDS,
    ),
    **dict.fromkeys(
        (
            *("answering_start", "answering_stop", "answering_resume", "choosing_start"),
            *("choice_stop", "choice_resume", "grading_start", "grading_stop", "grading_resume"),
            *("scoring_queue", "scoring_cancel", "scoring_resume", "training_start"),
            *("training_stop", "training_resume", "training_score", "training_checkpoints"),
            *("drafting_start", "drafting_stop", "drafting_resume", "model_review"),
            *("model_review_stop", "dry_run_ask", "dry_run_stop", "dry_run_remove"),
            *("results_retry", "results_stop", "results_teams_retry", "results_teams_stop"),
            *("work_stop", "work_retry", "site_work_stop", "site_work_retry", "export_retry"),
            *("imports_start", "corpus_start", "open_demo", "export_identities", "server_try"),
        ),
        STARTS,
    ),
    **dict.fromkeys(("import_apply", "question_apply", "question_filling"), SHOWN),
    **dict.fromkeys(
        (
            *("account", "set_up_codes", "change_codes", "sign_out_elsewhere", "sign_in"),
            *("second_step", "sign_out", "welcome", "invitation", "tokens", "account_tokens"),
            *("save_view", "delete_view", "grade", "grade_undo"),
        ),
        OWN,
    ),
    **dict.fromkeys(
        (
            "revoke_invitation",
            "revoke_site",
            "privacy_withdraw",
            "privacy_purge",
            "leave_field",
            "server_remove",
        ),
        ENDS,
    ),
    **dict.fromkeys(("share_field", "unshare_field"), SWITCHES),
    "join_field": "answers what was asked, once",
    "exclude_participant": "is stored once, with a reason; a second one is refused",
    "include_participant": "takes back an exclusion, once",
    "pay_list": "names each person once for each reason, whatever its page showed",
    "adjudicate": "settles what its page showed, once (a token)",
    "setup_survey_move": "moves a question by one place, and another press moves it back",
    "setup_wording_load": "the file says it (its header X-Opened)",
    "setup_items_count": "only counts",
    "item_preview": "only shows",
    "items_together": "shows the page that asks, which does (tests/experiment/lab/test_together.py)",
    "preview": "only shows",
}


def test_every_form_of_the_lab_says_what_it_was_opened_with(client: Browser) -> None:
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    study, other = make_study("own"), make_study("other")
    make_survey(study, "text", "choice")
    make_channel(study, "sona")
    ada = make_user("ada", study)
    make_research_field("own", "sub", lead=ada, curators=[make_user("ben", study)])
    make_research_field(other.slug)
    make_item("own-1", field="own", status="draft")
    every = [r for r in routes() if r.address.startswith("lab/")]
    arm = next(r for r in every if r.name == "lab:setup_arm")
    arguments(arm, study)  # makes one, for the page that lists them
    said: dict[str, bool] = {}
    for route in every:
        if route.access == PUBLIC or "GET" not in route.methods:
            continue
        with transaction.atomic():
            url = address(route, arguments(route, study))
            answer = client.get(url)
            if answer.streaming:
                answer.getvalue()
            elif answer.status_code == 200 and "text/html" in answer["Content-Type"]:
                for form in forms_of(answer.text):
                    if form.method != "post":
                        continue
                    to = resolve(urljoin(url, form.action).partition("?")[0])
                    name = (to.url_name or "").removesuffix("_live")
                    said[name] = said.get(name, True) and bool(form.opened)
            transaction.set_rollback(True)
    silent = {name for name, opened in said.items() if not opened} - WITHOUT.keys()
    assert silent == set()
    posted = {r.name.removeprefix("lab:") for r in every if "POST" in r.methods}
    unseen = posted - said.keys() - WITHOUT.keys()
    assert unseen == set(), "no page shows a form for these"
    assert WITHOUT.keys() <= posted, "these take no form any more"


@pytest.mark.parametrize("model", list(admin.site._registry), ids=lambda model: model.__name__)
def test_every_form_of_the_administration_does(boss_of_all: Browser, model: type) -> None:
    if model.__name__ == "User":
        row = model._default_manager.first()
        url = reverse("admin:auth_user_change", args=[row.pk])
        assert any(form.opened for form in forms_of(boss_of_all.get(url).text))
    own = admin.site._registry[model]
    from experiment.admin import Merging, ReadOnlyAdmin

    assert isinstance(own, Merging | ReadOnlyAdmin), f"{model.__name__} can be overwritten unseen"


@pytest.fixture
def boss_of_all(client: Browser) -> Browser:
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    return client


# Of the API, what creates or stops work and changes no setting
WORK = {"report_start", "report_stop", "teams_start", "teams_stop", "runs_start", "run_stop"}


def test_every_change_by_the_api_takes_the_value_that_was_read() -> None:
    for route in routes():
        name = route.name.removeprefix("api:")
        if not route.name.startswith("api:") or "POST" not in route.methods or name in WORK:
            continue
        if name == "nothing":
            continue
        view = resolve("/" + route.address.replace("<slug:slug>", "x")).func
        cls: type[ApiView] = view.cls
        assert cls.body_class is not None
        asked = cls.body_class().fields["expected"]
        assert isinstance(asked, serializers.Field)
        assert asked.required, name
