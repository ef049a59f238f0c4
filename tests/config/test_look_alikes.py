"""Nobody takes a name that people would read as somebody else's: accounts, fields, studies, subfields, templates, models."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from experiment.domain.presets import PRESETS
from experiment.lab.fields import MemberForm
from experiment.models import QuestionTemplate, ResearchField, Study, Subfield
from experiment.services import members
from experiment.services.fields import add_subfield, change_field, create_field
from experiment.services.members import invite_to_site
from experiment.services.questions import save_template
from experiment.services.study_file import as_bytes, create_from_file
from experiment.services.study_setup import create_study, unused_slug
from lib import name_fields
from lib.name_fields import NameField
from lib.pages import refused
from scoring.models import LanguageModel, ModelServer, ScoringRun
from scoring.services.open_model import ensure_language_model
from tests.experiment.http_client import at_once
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
LATIN = "Brain science"
# Within Latin letters; what is read as the first is read as each other
SHAPES = (("Modern wave 10", "Modem vvave lO"), ("Phase I", "Phase l"))
# With a Cyrillic letter, a Greek one, mathematical ones, another space, other capitals, a joiner; a stroke through a letter, a line
# under one, a Coptic letter, Cherokee ones (a capital, a small one), one of Lisu
DOUBLES = ("Br\u0430in science", "Brain sc\u03b9ence", "\U0001d401rain science", "Brain\u2003science", "brain Science", "Brain\u200d science",
    "Brain sci\u0335ence", "Brain science\u0332", "Brain s\u2ca5ience", "B\u13a1ain science", "Brain s\uabafience", "\ua4d0rain science")  # fmt: skip
OTHERS = (
    "Brain-science",
    "Brain.science",
    "Braln science",
    "Brain sciences",
    "Br\u00e4in science",
    "Neuroscience",
    "\u041d\u0430\u0443\u043a\u0430",
)


def field() -> ResearchField:
    return ResearchField.objects.get_or_create(slug="own", defaults={"name": "Own"})[0]


MAKE: dict[str, Callable[[str], Any]] = {
    "field": lambda name: ResearchField.objects.create(slug=str(ResearchField.objects.count()), name=name),
    "study": lambda name: Study.objects.create(slug=f"s{Study.objects.count()}", title=name),
    "subfield": lambda name: field().subfields.create(name=name),
    "template": lambda name: field().question_templates.create(key=name, question="Q?"),
    "templates": lambda name: QuestionTemplate.objects.bulk_create([QuestionTemplate(field=field(), key=name, question="Q?")]),
    "model": lambda name: model_of_the_site(name),
    "server": lambda name: ModelServer.objects.create(name=name, kind="chat"),
}  # fmt: skip


def model_of_the_site(name: str) -> None:
    model, _ = LanguageModel.objects.get_or_create(name=name, defaults={"display_name": "m"})
    ScoringRun.objects.create(language_model=model, backend="imported", is_site_wide=True)


def test_each_name_that_is_one_of_a_kind_is_held_to_it() -> None:
    held = {
        str(f)
        for app in ("experiment", "scoring", "analysis")
        for model in apps.get_app_config(app).get_models()
        for f in model._meta.fields
        if isinstance(f, NameField) and f.unlike is not None
    }
    unique = {
        str(f)
        for app in ("experiment", "scoring", "analysis")
        for model in apps.get_app_config(app).get_models()
        for f in model._meta.fields
        if isinstance(f, NameField) and f.unique
    }
    assert unique <= held
    assert len(held) == len(MAKE) - 1


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("kind", MAKE)
def test_no_row_is_added_whose_name_looks_like_anothers(kind: str, double: str) -> None:
    MAKE[kind](LATIN)
    with (
        pytest.raises(ValidationError, match="looks like the name of another"),
        transaction.atomic(),
    ):
        MAKE[kind](double)


@pytest.mark.parametrize(
    "shapes", [pair for one, other in SHAPES for pair in ((one, other), (other, one))]
)
@pytest.mark.parametrize("kind", MAKE)
def test_nor_one_whose_latin_letters_look_like_others(kind: str, shapes: tuple[str, str]) -> None:
    MAKE[kind](shapes[0])
    with (
        pytest.raises(ValidationError, match="looks like the name of another"),
        transaction.atomic(),
    ):
        MAKE[kind](shapes[1])


@pytest.mark.parametrize("kind", MAKE)
def test_other_names_are_taken(kind: str) -> None:
    for name in (LATIN, *OTHERS):
        MAKE[kind](name)


def test_subfields_of_two_fields_may_be_called_alike() -> None:
    other = make_research_field("other")
    field().subfields.create(name=LATIN)
    Subfield.objects.create(field=other, name=DOUBLES[0])


def test_rows_of_before_keep_their_names_and_can_be_changed() -> None:
    ada, boss = make_user("ada"), User.objects.create_superuser("boss")
    first, second = create_field(LATIN, 1, ada), create_field("Another", 1, ada)
    ResearchField.objects.filter(pk=second.pk).update(name=DOUBLES[0])
    change_field(second, DOUBLES[0], 2, boss)
    second.refresh_from_db()
    assert (second.name, second.reviews_needed) == (DOUBLES[0], 2)
    with pytest.raises(ValidationError, match="looks like"):
        change_field(first, DOUBLES[1], 1, boss)
    study = make_study()
    make_study("other")
    Study.objects.filter(slug="other").update(title=study.title.swapcase())
    old = Study.objects.get(slug="other")
    old.contact = "new"
    old.full_clean()
    old.save()


def test_a_new_study_says_so_at_its_form_and_its_file_at_its_place(client: Client) -> None:
    create_study("one", "brainbench", title=LATIN)
    client.force_login(User.objects.create_superuser("boss"))
    sent = {"start": "brainbench", "title": DOUBLES[0], "slug": "two"}
    page = client.post(reverse("lab:new_study"), sent).content.decode()
    assert "looks like the name of another study of this site" in page
    content = as_bytes(Study.objects.get(slug="one"))
    with pytest.raises(Exception, match=r"study.*looks like the name of another study"):
        create_from_file(content, slug="two", title=DOUBLES[1])
    assert Study.objects.count() == 1


def test_a_title_that_the_site_gives_by_itself_looks_like_no_other() -> None:
    title = PRESETS["brainbench"].title
    create_study("one", "brainbench", title=title.swapcase())
    assert create_study("two", "brainbench").title == f"{title} (two)"


def test_a_model_that_looks_like_one_of_the_site_is_not_scored() -> None:
    model_of_the_site("org/Llama-2")
    assert ensure_language_model("org/Llama-2").name == "org/Llama-2"
    with pytest.raises(ValidationError, match="looks like the name of another language model"):
        ensure_language_model("org/Ll\u0430ma-2")


DOUBLE_BOSS = "b\u043ess"


def by_an_invitation(boss: Client, name: str) -> str:
    invited = invite_to_site("Somebody", False, User.objects.get(username="boss"))
    sent = {"username": name, "password1": "seven grey herons", "password2": "seven grey herons"}
    return Client().post(reverse("lab:invitation", args=[invited.secret]), sent).content.decode()


def by_an_administrator(boss: Client, name: str) -> str:
    sent = {"username": name, "usable_password": "true", "password1": "seven grey herons", "password2": "seven grey herons"}  # fmt: skip
    return boss.post(reverse("admin:auth_user_add"), sent).content.decode()


def by_a_change(boss: Client, name: str) -> str:
    user = make_user("ada")
    day, time = f"{user.date_joined:%Y-%m-%d}", f"{user.date_joined:%H:%M:%S}"
    sent = {"username": name, "is_active": "on", "date_joined_0": day, "date_joined_1": time}
    answer = boss.post(reverse("admin:auth_user_change", args=[user.pk]), sent)
    return answer.content.decode()


@pytest.mark.parametrize("take", [by_an_invitation, by_an_administrator, by_a_change])
def test_no_account_is_called_as_another_seems_to_be(take: Any) -> None:
    User.objects.create_superuser("boss")
    boss = Client()
    boss.force_login(User.objects.get())
    assert "looks like the name of another account" in take(boss, DOUBLE_BOSS)
    assert not User.objects.filter(username=DOUBLE_BOSS).exists()


def test_nor_is_an_administrator_that_a_command_makes() -> None:
    make_user("boss")
    with pytest.raises(CommandError, match="looks like the name of another account"):
        call_command("create_admin", DOUBLE_BOSS)


def joins(name: str) -> bool:
    """By an invitation's page; whether there is an account of this name then."""
    invited = invite_to_site("Somebody", False, User.objects.get(username="root"))
    sent = {"username": name, "password1": "seven grey herons", "password2": "seven grey herons"}
    answer = Client().post(reverse("lab:invitation", args=[invited.secret]), sent)
    assert answer.status_code in (200, 302)
    return answer.status_code == 302


def tried(make: Callable[[str], Any]) -> Callable[[str], bool]:
    def add(name: str) -> bool:
        try:
            make(name)
        except ValidationError:
            return False
        return True

    return add


AT_ONCE: dict[str, Callable[[str], bool]] = {
    "account": joins,
    "field": tried(lambda name: create_field(name, 1, User.objects.get(username="root"))),
    "study": tried(lambda name: create_study(unused_slug(name), "brainbench", title=name)),
    "subfield": tried(lambda name: add_subfield(field(), name, "", User.objects.get(username="root"))),
    "template": tried(lambda name: save_template(field(), name, "Q?", [{"when": "", "answer": "A."}], {})),
}  # fmt: skip


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("double", ["Brain", "Br\u0430in", "brain"])
@pytest.mark.parametrize("kind", AT_ONCE)
def test_only_one_of_two_similar_names_taken_at_once_is_given(
    kind: str, double: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_superuser("root")
    field()
    look, both_have_looked = name_fields.refuse_double, threading.Barrier(2)

    def look_together(*given: Any) -> None:
        look(*given)
        with suppress(threading.BrokenBarrierError):  # the other waits, and may not look yet
            both_have_looked.wait(timeout=1)

    for module in (name_fields, members):
        monkeypatch.setattr(module, "refuse_double", look_together)
    made = at_once([lambda name=name: AT_ONCE[kind](name) for name in ("Brain", double)])
    # A template of the very same name is one row, whoever asks for it
    same = kind == "template" and double == "Brain"
    assert sorted(made) == ([True, True] if same else [False, True])


def test_a_service_may_refuse_what_the_form_does_not_ask_for() -> None:
    form = MemberForm({"username": "ada", "role": "curator"})
    with refused(form):
        raise ValidationError({"slug": "Taken.", "username": "Unknown."})
    assert form.errors == {"__all__": ["Taken."], "username": ["Unknown."]}
