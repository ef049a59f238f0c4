"""One lab's things are nothing to another: two fields, two labs, every address and every argument that takes an ID or a name."""

import inspect
import json
import re
import uuid
from collections.abc import Iterator
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import Resolver404, resolve, reverse
from rest_framework import serializers

from experiment.domain.roles import Right
from experiment.lab.access import CREATOR, SITE_ADMIN
from experiment.lab.routes import Route
from scoring.models import ScoringRun
from tests.config.rights_examples import POSTED, address
from tests.config.two_labs import (
    ADDRESSES,
    AUDITOR,
    CURATOR,
    LEAD,
    MARK,
    NOBODY,
    NOBODYS,
    OF_SITE,
    OTHER,
    OWN,
    RESEARCHER,
    UNKNOWN_PK,
    Answer,
    Form,
    World,
    forms_of,
    grow_run,
    make_world,
    share_a_run,
    written,
)
from tests.factories import NOW, sound_text

pytestmark = pytest.mark.django_db
PEOPLE = (LEAD, RESEARCHER, CURATOR, AUDITOR, NOBODY)
# Names that two rows of a site cannot both have: that one is taken is told, and nothing else of its row
TAKEN = {
    ("lab:new_field", "name"),
    ("lab:new_study", "slug"),
    ("lab:new_study", "title"),
    ("lab:setup_general", "title"),
}
# A new secret each time
SECRETS = ("lab:set_up_codes", "lab:codes_picture")
SECRET_FORMS = {"lab:account_tokens", "lab:tokens", "lab:invite"}
# Whatever its value, a page computes for seconds
COMPUTES = "now"
UUID = uuid.UUID("00000000-0000-4000-8000-000000000000")


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Made once, and what own people see of it before there is another lab; each request is undone, and in the end all of it."""

    def look(made: World) -> None:
        for who, _route, url in pages(made):
            made.before[who, url] = made.ask(who, "GET", url)

    undone = transaction.atomic()
    undone._from_testcase = True  # what is made in it ends as if it were committed
    with time_machine.travel(NOW, tick=False), django_db_blocker.unblock(), undone:
        yield make_world(look)
        transaction.set_rollback(True)


def pages(world: World) -> Iterator[tuple[str, Route, str]]:
    """Addresses that are read, with own arguments, and those whom they let in."""
    for route in ADDRESSES:
        if "GET" in route.methods and route.access != SITE_ADMIN and route.name not in SECRETS:
            url = address(route, world.arguments[route.name])
            for who in people(route):
                known = world.before.get((who, url))
                if known is None or known.status < 400:
                    yield who, route, url


def people(route: Route) -> tuple[str, ...]:
    """A researcher without a field sees what the lead sees, but where test cases are chosen and studies made."""
    if route.name.startswith("api:"):
        return (LEAD,)
    is_plain = route.access not in (CREATOR, Right.SET_UP)
    return tuple(who for who in PEOPLE if not (is_plain and who == RESEARCHER))


def is_of_site(url: str) -> bool:
    return url.startswith(OF_SITE)


def faults_of(answer: Answer, url: str) -> list[str]:
    """The traces of the other lab in an answer, and its things that were changed."""
    return [*answer.faults, *(() if is_of_site(url) else answer.marks)]


def test_no_page_changes_when_another_lab_comes(world: World) -> None:
    """No name, no count, no order, no hint: whatever the other lab has, own people see the same as before."""
    faults = []
    for who, _route, url in pages(world):
        answer = world.ask(who, "GET", url)
        if found := faults_of(answer, url):
            faults.append(f"{who}: {url}: {found}")
        elif answer.seen != world.before[who, url].seen and not is_of_site(url):
            faults.append(f"{who}: {url} differs")
    assert faults == [], "\n".join(faults)


def swapped(
    world: World, route: Route
) -> Iterator[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]]:
    """Own arguments with one, some or all of the other lab's; the same with ones that nobody has; and who asks for it."""
    own, other = world.arguments[route.name], world.others[route.name]
    names = [name for name in own if own[name] != other[name]]
    for n in range(1, len(names) + 1):
        outsiders = (NOBODY,) if n == len(names) and route.name.startswith("lab:") else ()
        for some in combinations(names, n):
            yield (
                own | {name: other[name] for name in some},
                own | {name: unknown(other[name]) for name in some},
                (LEAD, *outsiders),
            )


def unknown(value: Any) -> Any:
    """One of the same kind that nobody has."""
    if isinstance(value, int) or str(value).isdecimal():
        return UNKNOWN_PK
    if isinstance(value, uuid.UUID):
        return UUID
    return str(value).replace(OTHER[:2], NOBODYS)


def test_an_address_of_another_lab_is_as_good_as_none(world: World) -> None:
    faults = []
    for route in ADDRESSES:
        for values, nobodys, asking in swapped(world, route):
            url, other = address(route, values), address(route, nobodys)
            posted = POSTED.get(route.name, {})
            for method in route.methods:
                for who in asking:
                    answer = world.ask(who, method, url, posted.items())
                    if found := faults_of(answer, url):
                        faults.append(f"{who}: {method} {url}: {found}")
                    elif is_of_site(url):
                        continue
                    elif answer.status not in (403, 404, 405):
                        faults.append(f"{who}: {method} {url}: {answer.status}")
                    elif answer.status != world.ask(who, method, other, posted.items()).status:
                        faults.append(f"{who}: {method} {url} answers otherwise than {other}")
    assert faults == [], "\n".join(faults)


def every_form(world: World) -> list[Form]:
    """The forms of the lead and of people in no field, each kind once; the names that only views read; the values that the API takes."""
    found: dict[tuple[Any, ...], Form] = {}
    for (who, url), answer in world.before.items():
        if who in (LEAD, RESEARCHER, NOBODY) and answer.status == 200 and "<html" in answer.page:
            for form in forms_of(who, url, answer.page):
                found.setdefault((*place_of(form.url), form.method, form.kind), form)
    walked = {(key[0], name) for key, form in found.items() for name in form.choices}
    for route in ADDRESSES:
        url = address(route, world.arguments[route.name])
        if "GET" in route.methods and (LEAD, url) in world.before:
            choices = {
                name: world.some_names(is_number=is_number)
                for name, is_number in names_read(url)
                if (place_of(url)[0], name) not in walked
            }
            found[url, "read"] = Form(LEAD, "GET", url, (), choices, frozenset())
    return list(found.values())


def place_of(url: str) -> tuple[str]:
    """The view's name."""
    try:
        return (resolve(urlsplit(url).path).view_name,)
    except Resolver404:
        return ("",)


READ = re.compile(
    r"request\.(?:GET|POST)(?:\.get(?:list)?\(|\[)\"(\w+)\"|\"(\w+)\" in request\.(?:GET|POST)"
)


def names_read(url: str) -> Iterator[tuple[str, bool]]:
    """Parameters of an address that are in no form, and whether they are numbers: those that its view reads by name, or that the API describes."""
    view = inspect.unwrap(resolve(url).func)
    if cls := getattr(view, "cls", None):
        for name, field in cls.query_class().fields.items():
            if not isinstance(field, serializers.ChoiceField | serializers.DateField):
                yield name, isinstance(field, serializers.IntegerField)
    else:
        for one, other in READ.findall(inspect.getsource(view)):
            yield one or other, False


def attempts(world: World, form: Form) -> Iterator[tuple[str, str]]:
    """A name of the form, and what of the other lab could stand there."""
    for name, choices in form.choices.items():
        if name == COMPUTES or name.endswith("_FORMS"):
            continue
        others = [one for value in choices for one in world.stand_ins(value) if one not in choices]
        if name in form.typed:
            others = [one for one in others if not one.isdecimal()]
        # A button changes nothing of what the form's texts can be
        more = () if form.is_pressed and name in form.typed else (OTHER,)
        yield from ((name, one) for one in dict.fromkeys([*others, *more]))


def tells_names(form: Form, name: str) -> bool:
    """True if a form may say that a name is taken, or answers with a secret."""
    place = place_of(form.url)[0]
    return (place, name) in TAKEN or place in SECRET_FORMS or is_of_site(form.url)


def with_value(form: Form, name: str, value: str) -> list[tuple[str, str]]:
    return [*(pair for pair in form.values if pair[0] != name), (name, value)]


def test_no_form_and_no_filter_takes_what_is_another_labs(world: World) -> None:
    """Neither its pages nor what they refuse tell it from what nobody has."""
    faults, n = [], 0
    for form in every_form(world):
        place, unknowns = f"{form.who}: {form.method} {form.url}", dict[str, str]()
        for name, value in attempts(world, form):
            n, nobodys = n + 1, str(unknown(value))
            answer = world.ask(form.who, form.method, form.url, with_value(form, name, value))
            if found := faults_of(answer, form.url):
                faults.append(f"{place} {name}={value}: {found}")
            elif not tells_names(form, name):
                # As good as any other name of its form
                shape = re.sub(r"\w+", "x", value) if not value.isdecimal() else "1"
                if (key := f"{name} {shape}") not in unknowns:
                    sent = with_value(form, name, nobodys)
                    other = world.ask(form.who, form.method, form.url, sent)
                    unknowns[key] = other.seen_as(nobodys)
                if answer.seen_as(value) != unknowns[key]:
                    faults.append(f"{place} {name}={value} is not answered as {nobodys}")
    assert n > 300
    assert faults == [], "\n".join(faults)


def test_a_run_on_shared_texts_tells_nothing_else_of_the_lab_that_asked_for_it(
    world: World,
) -> None:
    """Scores that the site believes are every study's that draws the texts; the other lab's people, machines and texts are not."""
    with transaction.atomic():
        share_a_run(world)
        known = [
            (who, url) for who, _, url in pages(world) if "/own/" in url and who in (LEAD, AUDITOR)
        ]
        run = ScoringRun.objects.get(language_model__name="lab/shared")
        own = world.own.slug
        more = (
            *(
                reverse(f"lab:{name}", args=[own, run.pk])
                for name in ("scoring_run", "scoring_run_live", "scoring_scores")
            ),
            reverse("api:run", args=[own, run.pk]),
        )
        faults, seen = [], dict[str, str]()
        for who, url in [*known, *((LEAD, url) for url in more)]:
            answer = world.ask(who, "GET", url)
            seen[url] = answer.seen
            if answer.status >= 400 and url in more:
                faults.append(f"{url}: {answer.status}")
            elif answer.marks:
                faults.append(f"{who}: {url}: {answer.marks}")
        grow_run(run)
        faults += [url for url in more if world.ask(LEAD, "GET", url).seen != seen[url]]
        transaction.set_rollback(True)
    assert faults == [], "\n".join(faults)


# What a command is told that would take it into the other lab, after the person in whose name it acts
COMMANDS: dict[str, tuple[str, ...]] = {
    "create_token": ("{user}", "--study", OTHER),
    "fill_template": ("{table}", "--field", OTHER, "--template", "counts", "--by", "{user}"),
    "import_items": ("{items}", "--field", OTHER, "--by", "{user}"),
    "set_adviser": (OTHER, "--planted", "70", "--name", "a model", "--by", "{user}"),
    "import_questions": (
        "{questions}",
        "--accept",
        "--field",
        OWN,
        "--study",
        OTHER,
        "--by",
        "{user}",
    ),
}
PERSON = {"by", "user", "username", "owner"}


def test_every_command_that_acts_for_a_person_is_walked() -> None:
    ours = {"lib", "lib.jobs", "experiment", "scoring", "analysis"}
    named = {
        command
        for command, app in get_commands().items()
        if app in ours
        and not PERSON.isdisjoint(
            action.dest
            for action in load_command_class(str(app), command).create_parser("", command)._actions
        )
    }
    assert named == COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_acts_for_a_person_does_what_they_may_and_without_one_all(
    world: World, tmp_path: Path, command: str
) -> None:
    files = {
        "table": {"n": 1},
        "items": {"markup": sound_text()},
        "questions": {"question": "Why?", "answer": "So."},
    }
    places = {name: str(tmp_path / f"{name}.jsonl") for name in files}
    for name, row in files.items():
        Path(places[name]).write_text(json.dumps(row))
    told = [part.format(user=f"{OWN}-0", **places) for part in COMMANDS[command]]
    with transaction.atomic(), written() as tables:
        with pytest.raises(CommandError, match=f"{OWN}-0 is not a") as refused:
            call_command(command, *told, stdout=StringIO())
        assert not MARK.findall(str(refused.value).replace(OTHER, ""))
        assert list(world.broken(tables)) == []
        if "--by" in told:
            call_command(command, *told[:-2], stdout=StringIO())
            assert list(world.broken(tables)) != []
        transaction.set_rollback(True)
