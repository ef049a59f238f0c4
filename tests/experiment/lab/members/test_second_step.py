"""Codes of an app as a second step of signing in: set up, asked for, replaced, required."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from experiment.models import AuditEvent
from experiment.services import sign_in
from experiment.services.sign_in import MOST_ATTEMPTS
from tests.experiment.lab.members.codes import shown_by_app, switch_on
from tests.experiment.lab_client import run
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
CODE_PAGE = "/lab/sign-in/code/"


@pytest.fixture(autouse=True)
def _no_failures() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def user() -> Any:
    return make_user("ruth", make_study())


def give_password(client: Client, next_page: str = "") -> str:
    sent = {"username": "ruth", "password": "ruth", "next": next_page}
    return client.post("/lab/sign-in/", sent)["Location"]


def is_in(client: Client) -> bool:
    return client.get("/lab/").status_code == 200


def test_codes_are_set_up_with_a_first_code_and_leave_recovery_codes_once(
    client: Client, user: Any
) -> None:
    client.force_login(user)
    page = client.get("/lab/account/codes/").text
    device = TOTPDevice.objects.get()
    assert sign_in.spelled_key(device) in page
    picture = client.get("/lab/account/codes/picture.svg")
    assert (picture["Content-Type"], picture.content[:5]) == ("image/svg+xml", b"<?xml")
    wrong = client.post("/lab/account/codes/", {"code": "000000"})
    assert wrong.context["form"].has_error("code", "wrong")
    assert not sign_in.has_second_step(user)
    done = client.post("/lab/account/codes/", {"code": shown_by_app(device)}).text
    codes = list(StaticToken.objects.values_list("token", flat=True))
    assert len(codes) == sign_in.N_RECOVERY_CODES
    assert all(code in done for code in codes)
    assert "no-store" in client.get("/lab/account/")["Cache-Control"]
    assert not any(code in client.get("/lab/account/").text for code in codes)
    assert client.get("/lab/account/codes/picture.svg").status_code == 410


def test_the_code_is_asked_for_and_leads_where_one_wanted_to_go(client: Client, user: Any) -> None:
    device, _ = switch_on(user)
    assert give_password(client, "/lab/studies/memory/") == f"{CODE_PAGE}?next=/lab/studies/memory/"
    assert not is_in(client)
    done = client.post(CODE_PAGE, {"code": shown_by_app(device), "next": "/lab/studies/memory/"})
    assert done["Location"] == "/lab/studies/memory/"
    assert is_in(client)


def test_a_right_code_at_once_after_a_wrong_one_is_asked_to_wait_a_moment(
    client: Client, user: Any
) -> None:
    device, _ = switch_on(user)
    give_password(client)
    right = {"code": shown_by_app(device)}
    assert client.post(CODE_PAGE, {"code": "000000"}).context["form"].has_error("code", "wrong")
    early = client.post(CODE_PAGE, right)
    assert early.context["form"].has_error("code", "soon")
    assert "Wait a moment" in early.text
    assert not is_in(client)
    before = timezone.now() - timedelta(minutes=1)
    TOTPDevice.objects.update(throttling_failure_timestamp=before)
    assert client.post(CODE_PAGE, right).status_code == 302
    assert is_in(client)


@pytest.mark.parametrize("of_app", [True, False])
def test_a_code_of_the_app_and_a_recovery_code_work_once(user: Any, of_app: bool) -> None:
    device, codes = switch_on(user)
    code = shown_by_app(device) if of_app else codes[0].upper()
    for is_right in (True, False):
        client = Client()
        give_password(client)
        client.post(CODE_PAGE, {"code": code})
        assert is_in(client) == is_right
    assert sign_in.n_recovery_codes(user) == sign_in.N_RECOVERY_CODES - (not of_app)


def test_nobody_comes_to_the_second_step_without_the_first_or_ten_minutes_after_it(
    client: Client, user: Any
) -> None:
    device, _ = switch_on(user)
    assert client.post(CODE_PAGE, {"code": shown_by_app(device)})["Location"] == "/lab/sign-in/"
    give_password(client)
    session = client.session
    pk, since, password = session["gave_password"]
    session["gave_password"] = [pk, since - 601, password]
    session.save()
    assert client.post(CODE_PAGE, {"code": shown_by_app(device)})["Location"] == "/lab/sign-in/"
    assert not is_in(client)


def test_a_new_password_ends_sign_ins_that_wait_for_a_code(client: Client, user: Any) -> None:
    device, _ = switch_on(user)
    give_password(client)
    user.set_password("seven grey herons")
    user.save()
    assert client.post(CODE_PAGE, {"code": shown_by_app(device)})["Location"] == "/lab/sign-in/"
    assert not is_in(client)


@pytest.mark.parametrize("change", ["password", "elsewhere"])
def test_a_key_that_another_browser_was_shown_is_not_confirmed_afterwards(
    client: Client, user: Any, change: str
) -> None:
    other = Client()
    other.force_login(user)
    other.get("/lab/account/codes/")
    [shown] = TOTPDevice.objects.all()
    client.force_login(user)
    if change == "password":
        new = "seven grey herons"
        sent = {"old_password": "ruth", "new_password1": new, "new_password2": new}
        client.post("/lab/account/", sent)
    else:
        client.post("/lab/account/elsewhere/")
    page = client.get("/lab/account/codes/").text
    assert sign_in.spelled_key(shown) not in page
    client.post("/lab/account/codes/", {"code": shown_by_app(shown)})
    assert not sign_in.has_second_step(user)
    device = TOTPDevice.objects.latest("pk")
    client.post("/lab/account/codes/", {"code": shown_by_app(device)})
    assert [(d.key, d.name) for d in TOTPDevice.objects.all()] == [(device.key, "app")]


def test_codes_cannot_be_tried_for_long_nor_a_new_start_made(client: Client, user: Any) -> None:
    device, _ = switch_on(user)
    for _ in range(MOST_ATTEMPTS):
        give_password(client)
        client.post(CODE_PAGE, {"code": "nonsense"})
    refused = client.post(CODE_PAGE, {"code": shown_by_app(device)})
    assert refused.context["form"].has_error("code", "too_many")
    assert not is_in(client)
    told = AuditEvent.objects.filter(action="sign_in_failed", details__step="code")
    assert told.count() == MOST_ATTEMPTS


def test_a_code_switches_codes_off_and_makes_new_recovery_codes(client: Client, user: Any) -> None:
    client.force_login(user)
    device, old = switch_on(user)
    change = "/lab/account/codes/change/"
    assert client.post(change, {"code": "000000", "off": ""}).context["code_form"].errors
    assert sign_in.has_second_step(user)
    shown = client.post(change, {"code": shown_by_app(device)}).text
    assert old[0] not in shown
    assert StaticToken.objects.filter(token=old[0]).count() == 0
    client.post(change, {"code": shown_by_app(device), "off": ""})
    assert not sign_in.has_second_step(user)
    said = AuditEvent.objects.filter(action="second_step").values_list("actor", "details__change")
    assert list(said) == [("ruth", "on"), ("ruth", "recovery codes"), ("ruth", "off")]


def test_a_one_time_link_is_no_second_step(client: Client) -> None:
    boss = make_user("admin", is_superuser=True, is_staff=True)
    switch_on(boss)
    path = run("create_admin", "admin").split("http://127.0.0.1:8000")[1].split()[0]
    form = client.get(path)["Location"]
    chosen = {"new_password1": "a-long-Passphrase", "new_password2": "a-long-Passphrase"}
    client.post(form, chosen)
    assert not is_in(client)


# Where the site asks for it


def test_without_codes_every_page_leads_to_setting_them_up(
    client: Client, user: Any, settings: Any
) -> None:
    settings.REQUIRE_TOTP = True
    client.force_login(user)
    for page in ("/lab/", "/lab/account/", reverse("lab:study", args=["memory"])):
        assert client.get(page, follow=True).redirect_chain == [
            (f"{CODE_PAGE}?next={page}", 302),
            ("/lab/account/codes/", 302),
        ]
    posted = client.post(reverse("lab:recruitment", args=["memory"]), {"recruitment": "closed"})
    assert posted["Location"].startswith(CODE_PAGE)
    client.post("/lab/account/codes/", {"code": shown_by_app(TOTPDevice.objects.get())})
    assert is_in(client)


def test_a_session_from_before_gives_its_code_first(
    client: Client, user: Any, settings: Any
) -> None:
    client.force_login(user)
    device, _ = switch_on(user)
    settings.REQUIRE_TOTP = True
    assert client.get("/lab/")["Location"] == f"{CODE_PAGE}?next=/lab/"
    client.post(CODE_PAGE, {"code": shown_by_app(device)})
    assert is_in(client)
