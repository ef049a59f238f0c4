"""Addresses and parameters that lead elsewhere or break out: 200 and more of them, wherever the site is told where to go."""

import re
from itertools import cycle, islice, product
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client, RequestFactory

from experiment.lab.routes import Route, routes
from experiment.lab.sign_in import _next
from experiment.services.channels import host_problem
from scoring.backends.http.address import check_allowed, parse_address
from scoring.backends.opening import open_backend, open_generator
from scoring.domain.backend import ScoringError
from scoring.lab.forms import checked_model_args
from scoring.services.asking.settings import Asked
from tests.config.rights_examples import finished_run
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db

HERE = "https://testserver/lab/"
# Ways to begin an address that leads elsewhere, which browsers read as one; each between spaces
BEGINNINGS = r"""
    // /// //// /\ \\ \/ http:// HtTpS:// https: https:/ https:/// https:\\ ftp:// //testserver@
    https://testserver:x@ https://testserver%2f@ /%2f /%5c /%09/ /.// /..//
"""
BEFORE = [*BEGINNINGS.split(), "/\t/", "\t//", "\n//", " //", "/\r\n/", "/\x0b/", "\x00//"]
PLACES = r"""
    evil.example evil.example:443/lab/ testserver.evil.example/lab/ evil.example#testserver/lab/ 2130706433
    evil.example?testserver/lab/ evil.example\.testserver xn--xample-2of.com 0x7f000001 [::ffff:127.0.0.1]
"""
HOSTS = [*PLACES.split(), "\u0435xample.com", "evil\u3002example"]
SCHEMES = """
    javascript:alert(1) JaVaScRiPt:alert(1) javascript://testserver/%0aalert(1) vbscript:x file:///etc/passwd
    data:text/html,<script>alert(1)</script> blob:https://evil.example/x mailto:a@evil.example
    /lab/%0d%0aSet-Cookie:%20a=b
"""
OTHER = [*SCHEMES.split(), "java\tscript:alert(1)", "\x01javascript:x", "/lab/\r\nSet-Cookie: a=b"]
PAYLOADS = [*(before + host for before, host in product(BEFORE, HOSTS)), *OTHER]


def leads_elsewhere(location: str) -> bool:
    """As browsers read an address: without tabs and line breaks, any slash as good as the other (WHATWG's URL standard)."""
    text = re.sub("[\t\n\r]", "", location.strip("".join(map(chr, range(33)))))
    scheme = text.split(":", 1)[0].lower() if re.match("[A-Za-z][A-Za-z0-9+.-]*:", text) else ""
    if scheme not in ("", "http", "https"):
        return True
    text = text.replace("\\", "/")
    if re.match("https?:", text, re.IGNORECASE) and not re.match("https?://[^/]", text, re.I):
        return True
    return urlsplit(urljoin(HERE, re.sub("^//+", "//", text))).netloc != "testserver"


@pytest.mark.parametrize("parameters", [["next"], ["return", "url", "redirect_to"]])
def test_signing_in_and_out_lead_nowhere_else(parameters: list[str]) -> None:
    signed_in, stranger = Client(), Client()
    signed_in.force_login(make_user("ruth", make_study()))
    for payload in PAYLOADS:
        for client, method, address in (
            (signed_in, "get", "/lab/sign-in/"),
            (stranger, "post", "/lab/sign-out/"),
        ):
            answer = getattr(client, method)(
                address, dict.fromkeys(parameters, payload), secure=True
            )
            if answer.status_code == 400:  # a NUL
                continue
            assert answer.status_code == 302, (address, payload)
            assert not leads_elsewhere(answer["Location"]), (address, payload)
            assert not re.search("[\r\n]", answer["Location"])


def test_the_second_step_leads_nowhere_else(rf: RequestFactory) -> None:
    for payload in PAYLOADS:
        asked: list[HttpRequest] = [
            rf.get("/lab/sign-in/code/", {"next": payload}, secure=True),
            rf.post("/lab/sign-in/code/", {"next": payload}, secure=True),
        ]
        for request in asked:
            assert not leads_elsewhere(_next(request)), payload


def test_a_participant_is_sent_to_hosts_of_the_setting_alone(settings: Any) -> None:
    settings.RECRUITMENT_HOSTS = ["testserver"]
    for payload in PAYLOADS:
        if not host_problem(payload):
            assert not leads_elsewhere(payload), payload
            assert payload.startswith("https://"), payload
    assert host_problem("https://testserver/done?cc=C1") == ""


def test_texts_are_sent_to_hosts_of_the_setting_alone() -> None:
    """By name, without asking what a name leads to: 127.0.0.1 in other spellings is not on the list either."""
    taken = []
    for payload in PAYLOADS:
        try:
            check_allowed(parse_address(payload), ["testserver", "127.0.0.1", "[::1]"])
        except ScoringError:
            continue
        taken.append(payload)
    assert taken == []
    check_allowed(parse_address("http://testserver:8000"), ["testserver"])


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:6379", "http://localhost:5432/v1", "http://[::1]:22"]
)
def test_no_way_of_naming_a_model_asks_another_service_of_this_machine(
    settings: Any, url: str
) -> None:
    """Pages and commands say so before a run is stored; and what a run opens says so again."""
    settings.SCORING_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    chat = {"base_url": url, "model": "m"}
    completions = chat | {"tokenizer": "org/m"}
    for ask in (
        Asked("chat", chat).check,
        lambda: checked_model_args("completions", completions),
        lambda: open_generator("chat", chat),
        lambda: open_backend("completions", completions),
    ):
        with pytest.raises(ScoringError, match="Texts may not be sent to port"):
            ask()


PARAMETERS = """
    q page sort order by kind set status since until source subfield show run item v fit code preview condition model
    channel rules recognised reason participant after items query exclude method n level format limit cursor field
    state generator reviewer author min max from to role actor action
"""
NAMES = PARAMETERS.split()
BREAKING = r"""
    ' " -pk ? user__password trial__participant__withdrawal_digest __class__ %s%s%n -1 0 1e309 NaN inf 0x10 true [] {}
    [1 {"a":1} ../../etc/passwd \ 2026-02-30 0000-00-00 9999-12-31 10000-01-01 1970-01-01T00:00:00Z
    00000000-0000-0000-0000-00000000000g * % _ ((((( , ; | &x=1 #
"""
BREAKS = [
    *BREAKING.split(),
    *("' OR 1=1 --", "1; DROP TABLE experiment_trial", "id) UNION SELECT 1,2--"),
    *("\u0661\u0662", "\u00b2", "\u202e", "\ud7ff", "\U0010ffff", "\t", "\r\nX: y", "\x1b[31m"),
    *("9" * 40, "x" * 5000, "a" * 300, "a" * 30 + "!"),
]


def values() -> list[str]:
    """200 of them: each alone, and within what a list takes."""
    return [
        *BREAKS,
        *(f"1{b}" for b in BREAKS),
        *(f"-{b}" for b in BREAKS),
        *(f"a,{b}" for b in BREAKS),
    ]


def is_of_study(route: Route) -> bool:
    """A page of a study that shows some of many; its files and parts hold what pages show."""
    is_page = route.address.endswith("/") and not route.address.endswith("/file/")
    arguments = re.findall("<.*?>", route.address)
    is_form = re.search(
        "setup/(?!wording)|/(live|privacy|members|documents|recruit|dry-run)", route.address
    )
    return "GET" in route.methods and is_page and not is_form and arguments == ["<slug:slug>"]


def test_no_filter_and_no_order_breaks_a_page_or_a_query(client: Client) -> None:
    study = make_study(human=3, machine=1, catch=1)
    make_research_field(study.slug)
    run = finished_run(study)["pk"]
    client.force_login(User.objects.create_superuser("boss"))
    every = values()
    assert len(every) >= 200
    addresses = [
        "/lab/",
        "/lab/trail/",
        f"/lab/fields/{study.slug}/",
        f"/lab/studies/{study.slug}/models/{run}/",
        *(f"/{r.address}".replace("<slug:slug>", study.slug) for r in routes() if is_of_study(r)),
    ]
    found = 0
    for n, address in enumerate(addresses):
        # Each value at each address, with another name each time
        sent = cycle(every)
        next(islice(sent, 7 * n, None))
        for _ in range(len(every) // len(NAMES) + 1):
            query = dict(zip(NAMES, sent, strict=False))
            answer = client.get(address, query)
            assert answer.status_code < 500, (address, query)
            found += answer.status_code == 200
        for day in ("0001-01-01", "9999-12-31"):
            dates = dict.fromkeys(("since", "until", "from", "to"), day)
            assert client.get(address, dates).status_code < 500, (address, dates)
    assert found > len(addresses), "pages that take no filter show themselves"
