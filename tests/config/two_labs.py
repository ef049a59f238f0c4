"""Two labs on one site: `own`, whose people ask, and `qzother`, of whose every text at least one word is marked.

Long: the site that is furnished, and what is sent to it, for one module of tests.
"""

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from http.cookies import SimpleCookie
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F
from django.test import Client
from lxml import html

from analysis.data.filters import ReportOptions
from analysis.services.compute import Asked
from experiment.domain.roles import Scope
from experiment.lab.routes import PUBLIC, Route, routes
from experiment.models import Item, ResearchField, Study
from experiment.services.advisers import set_adviser
from experiment.services.curation import remarks
from experiment.services.rights import create_token
from experiment.services.study_setup import pin_items
from lib.name_fields import NameField
from scoring.models import Corpus, ItemScore, LanguageModel, ScoringRun, Training
from tests.config.rights_examples import EXAMPLES, arguments
from tests.conftest import forget
from tests.factories import (
    FILLER,
    make_item,
    make_question,
    make_research_field,
    make_study,
    make_user,
)
from tests.scoring.lab.rows import ask, finish

OWN, OTHER = "own", "qzother"
MARK = re.compile(r"[\w.@-]*qzother[\w.@-]*", re.IGNORECASE)
NOBODYS = "qx"  # instead of "qz" in a name: one that nobody has
# Of the other lab, and of nobody; an example of rows numbers an arm by its study, in two bytes
FIRST_PK, UNKNOWN_PK = 20_000, 30_000
NEW_PK = re.compile(
    r"(?<!\d)2\d{4}(?!\d)"
)  # PostgreSQL gives no key twice, even where its row was undone
LEAD, RESEARCHER, CURATOR, AUDITOR, NOBODY = (
    "lead of the field and researcher of the study",
    "researcher of the study",
    "curator of both",
    "auditor of the study",
    "member of nothing, who may create studies",
)
APPS = ("experiment", "scoring", "analysis")
ADDRESSES = [
    route for route in routes() if route.access != PUBLIC and route.name[:3] in ("lab", "api")
]
# Corpora, trainings and the models that these make belong to the site, whose researchers share them
OF_SITE = ("/lab/training/",)
MODELS_OF_SITE = (Corpus, LanguageModel, Training)
# What parameters of addresses are about
NUMBERED = {("scoring.ScoringRun", "id")}
NAMED = NUMBERED | {
    ("experiment.Study", "slug"),
    ("experiment.Item", "key"),
    ("experiment.ItemScratch", "uid"),
    ("experiment.Participant", "public_id"),
    ("scoring.LanguageModel", "name"),
}
# What differs between two answers to one question
UNSTEADY = re.compile(
    r'name="csrfmiddlewaretoken" value="\w+"|nonce="[\w=+/-]+"|name="(?:token|window|seen|opened|begun)" value="[^"]*"'
    r"|[?&]begun=[\w-]+|[\w-]{8}-[\w-]{4}-4[\w-]{3}-[\w-]{4}-[\w-]{12}"
)


def furnish(slug: str) -> Study:
    """A lab: a study and a field of this name, with rows of every kind that an address takes."""
    study = make_study(
        slug, human=1, machine=1, catch=1, human_items=1, machine_items=1, catch_items=1,
        title=f"{slug}-title", field=slug,
    )  # fmt: skip
    lead = make_user(f"{slug}-lead")
    research_field = make_research_field(slug, f"{slug}-subfield", lead=lead)
    research_field.subfields.update(purpose=f"{slug}-purpose")
    study.members.add(lead)
    set_adviser(study, {"kind": "planted", "planted_accuracy": 0.6, "shown_name": f"{slug}-adviser"}, by=lead)  # fmt: skip
    about = {"field": slug, "subfield": f"{slug}-subfield", "publication_date": date(2020, 1, 1)}
    Item.objects.filter(key__startswith=f"{slug}-").update(**about)
    template = research_field.question_templates.create(
        key="counts",
        question=f"{slug}-template-question {{{{ n }}}}?",
        rules=[{"when": "", "answer": f"{slug}-template-answer"}],
    )
    for status in ("draft", "in_review", "accepted", "retired"):
        item = make_item(
            f"{status}-of-{slug}",
            markup=f"{FILLER}The {slug}-text-{status} [[{slug}-rose-{status}, {slug}-fell-{status}]].",
            generator=f"{slug}-generator",
            doi=f"10.1234/{slug}-{status}-doi",
            note=f"{slug}-note",
            status=status,
            created_by=lead,
            **about,
        )
        question = make_question(
            f"{status}-question-of-{slug}",
            markup=f"Which {slug}-asked-{status}?",
            expert_answer=f"The {slug}-expert-{status}.",
            categories={f"{slug}-dimension": [f"{slug}-category"]},
            template=template,
            status=status,
            **about,
        )
        for one in (item, question):
            remarks.add_comment(one, lead, f"{slug}-comment", quote="")
            one.reviews.create(
                reviewer=lead, verdict="accept", text=f"{slug}-review", sha256=one.reviewed_sha256
            )
            one.changes.create(action="status", by=lead, reason=f"{slug}-reason")
        if status == "accepted":
            pin_items(study, [item, question])
    # That of the examples, which is accepted too
    make_question(
        f"question-of-{slug}",
        markup=f"What of {slug}-second?",
        expert_answer=f"{slug}-sound.",
        **about,
    )
    research_field.scratches.create(user=lead, values={"markup": f"{slug}-scratch"})
    research_field.saved_views.create(user=lead, name=f"{slug}-view", query="status=draft")
    return study


def mark(rows: Mapping[type[models.Model], set[int]], slug: str) -> None:
    """Every long text of these rows gets a marked word, where a trigger does not forbid it."""
    for model, pks in rows.items():
        for column in model._meta.concrete_fields:
            if not isinstance(column, models.TextField) or column.choices or model is Item:
                continue
            word = f"{slug}-{model._meta.model_name}-{column.name}"
            try:
                with transaction.atomic():
                    model._base_manager.filter(pk__in=pks).exclude(**{column.name: ""}).update(
                        **{
                            column.name: models.functions.Concat(
                                column.name, models.Value(f" {word}")
                            )
                        }
                    )
            except DatabaseError:  # a trigger, or a constraint
                continue


def every_row() -> dict[type[models.Model], set[int]]:
    return {
        model: set(model._base_manager.values_list("pk", flat=True))
        for app in APPS
        for model in apps.get_app_config(app).get_models()
    }


@dataclass(frozen=True)
class Answer:
    """text: the page and what a redirect leads to. wrote: models of which rows were written, before it was undone."""

    status: int
    location: str
    text: str
    sent: str
    faults: Sequence[str]
    page: str = ""

    @property
    def marks(self) -> list[str]:
        """Marked words that were not in the question, but for names that are made of one in it."""
        words = {
            word.removeprefix("survey_").removesuffix("-2") for word in MARK.findall(self.text)
        }
        return sorted(word for word in words if word.lower() not in self.sent)

    @property
    def seen(self) -> str:
        """All of the answer that can tell anything."""
        return f"{self.status} {self.location} {UNSTEADY.sub('', self.text)}"

    def seen_as(self, sent: str) -> str:
        """Without the question's own word, which may be cut or written otherwise, and without keys of rows that it made."""
        seen = NEW_PK.sub("", as_theirs(self.seen))
        return re.sub(rf"\b{re.escape(as_theirs(sent))}\b", "", seen)


@dataclass(frozen=True)
class Form:
    """A page's form: where it leads, how, and the values that it sends unchanged. choices: the values that a name can have."""

    who: str
    method: str
    url: str
    values: tuple[tuple[str, str], ...]
    choices: Mapping[str, frozenset[str]] = field(hash=False, compare=False)
    typed: frozenset[str] = field(hash=False, compare=False)
    is_pressed: bool = False

    @property
    def kind(self) -> tuple[Any, ...]:
        """The difference between two forms of an address: the names, and the button."""
        return tuple(sorted(self.choices)), self.values[-1:] if self.is_pressed else ()


@dataclass
class World:
    own: Study
    cookies: dict[str, SimpleCookie]
    secret: str
    arguments: dict[str, dict[str, Any]]
    # By the model and the column, of those that name a row
    names: Mapping[tuple[str, str], tuple[Any, ...]]
    own_names: Mapping[str, set[tuple[str, str]]]
    theirs: Mapping[type[models.Model], set[int]]
    rows: Mapping[type[models.Model], set[int]]
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: dict[tuple[str, str], Answer] = field(default_factory=dict)
    stored: dict[type[models.Model], Any] = field(default_factory=dict)

    def ask(self, who: str, method: str, url: str, data: Iterable[tuple[str, str]] = ()) -> Answer:
        """The answer to a request; its changes are looked at, and undone."""
        forget()
        client = Client(raise_request_exception=False)
        headers = {}
        if url.startswith("/api/"):
            headers = {"Authorization": f"Bearer {self.secret}"}
        else:
            client.cookies = SimpleCookie(self.cookies[who].output(header="", sep=";"))
        data = list(data)
        body, kind = urlencode(data), "application/x-www-form-urlencoded"
        if url.startswith("/api/") and method == "POST":
            body, kind = json.dumps(dict(data)), "application/json"
        if method == "GET" and data:
            url, body = f"{url.partition('?')[0]}?{body}", ""
        with transaction.atomic(), written() as tables:
            response = client.generic(method, url, body, kind, headers=headers)
            page = text_of(response)
            text, location = page, response.headers.get("Location", "")
            if location.startswith("/"):
                text += text_of(client.get(location, headers=headers))
            if not connection.needs_rollback:
                connection.do_last()  # type: ignore[attr-defined]
            faults = list(self.broken(tables)) if tables else []
            transaction.set_rollback(True)
        sent = unquote(f"{url} {body if isinstance(body, str) else ''}".replace("+", " ")).lower()
        if response.status_code >= 500:
            faults.append(f"answers {response.status_code}")
        return Answer(response.status_code, location, text + location, sent, faults, page)

    def broken(self, tables: set[str]) -> Iterator[str]:
        """Rows of the other lab that are changed, or new."""
        for model, pks in self.theirs.items():
            if model._meta.db_table not in tables:
                continue
            if self.stored[model] != values_of(model, pks):
                yield f"changed {model.__name__}"
            new = model._base_manager.exclude(pk__in=self.rows[model])
            for column in model._meta.concrete_fields:
                target: Any = column.remote_field and column.remote_field.model
                if target in self.theirs and target not in MODELS_OF_SITE:
                    found = new.filter(**{f"{column.name}__in": self.theirs[target]})
                    if found.exists():
                        yield f"new {model.__name__}.{column.name}: {found[0]!r}"
            if model is Item and new.filter(field=OTHER).exists():
                yield f"new Item {new.filter(field=OTHER)[0]!r}"

    def some_names(self, *, is_number: bool) -> frozenset[str]:
        """One of each kind that addresses name by themselves."""
        columns = NUMBERED if is_number else NAMED
        own = {kind: value for value, kinds in self.own_names.items() for kind in kinds & columns}
        return frozenset(own.values())

    def stand_ins(self, value: str, most: int = 2) -> list[str]:
        """Values of the other lab, of the kinds that this value of one's own is."""
        kinds = self.own_names.get(value, set())
        found = [str(other) for kind in sorted(kinds) for other in self.names.get(kind, ())[:most]]
        return list(dict.fromkeys(found))


def as_theirs(text: str) -> str:
    return re.sub(NOBODYS, OTHER[:2], text, flags=re.IGNORECASE).lower()


def values_of(model: type[models.Model], pks: set[int]) -> list[Any]:
    return list(model._base_manager.filter(pk__in=pks).order_by("pk").values())


@contextmanager
def written() -> Iterator[set[str]]:
    """The tables that are written to."""
    tables: set[str] = set()

    def look(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if found := re.match(r'(?:INSERT INTO|UPDATE|DELETE FROM) "(\w+)"', sql):
            tables.add(found[1])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield tables


ESCAPED = re.compile(r"\\u([0-9a-f]{4})")


def text_of(response: Any) -> str:
    content = response.getvalue() if response.streaming else response.content
    for close in response._resource_closers:  # a file's; the connection stays open
        close()
    if content[:2] == b"PK":
        with zipfile.ZipFile(BytesIO(content)) as archive:
            content = b"\n".join(archive.read(name) for name in archive.namelist())
    text: str = content.decode(errors="replace")
    if "json" in response.headers.get("Content-Type", ""):
        return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return text


def forms_of(who: str, url: str, page: str) -> Iterator[Form]:
    """Every form, each of its buttons by itself, and every link with a query."""
    document = html.document_fromstring(page)
    for form in document.forms:
        choices, typed = controls_of(form)
        values = tuple((n, v or "") for n, v in form.form_values() if n != TOKEN)
        method, action = form.method.upper(), urljoin(url, form.action or "")
        yield Form(who, method, action, values, choices, typed)
        for name, target in form.attrib.items():
            if name.endswith("-url"):  # where a script sends it
                yield Form(who, "POST", urljoin(url, target), values, choices, typed)
        for button in form.xpath(".//button[@name or @formaction]"):
            target = urljoin(action, button.get("formaction") or "")
            name, value = button.get("name"), button.get("value") or ""
            pressed = ((name, value),) if name else ()
            with_it = choices | {name: frozenset({value}) for name, value in pressed}
            yield Form(who, method, target, (*values, *pressed), with_it, typed, bool(pressed))
    for link in document.xpath("//a[starts-with(@href, '/lab/') or starts-with(@href, '?')]/@href"):
        target = urlsplit(urljoin(url, link))
        if pairs := parse_qsl(target.query, keep_blank_values=True):
            about = {name: frozenset({value}) for name, value in pairs}
            yield Form(who, "GET", target.path, tuple(pairs), about, frozenset())


TOKEN = "csrfmiddlewaretoken"
CHOSEN = ("checkbox", "radio", "hidden")


def controls_of(form: Any) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """The values that each of a form's names can have, and the names that hold text."""
    choices: dict[str, set[str]] = defaultdict(set)
    typed = set()
    for control in form.inputs:
        name, kind = control.name, control.get("type", "text")
        if not name or name == TOKEN:
            continue
        if control.tag == "select":
            choices[name] |= set(control.value_options)
        elif kind in CHOSEN:
            choices[name].add(control.get("value") or "on")
        elif control.tag == "textarea" or kind in ("text", "search"):
            typed.add(name)
            choices[name].add(control.value or "")
    return {name: frozenset(some) for name, some in choices.items()}, frozenset(typed)


def make_world(snapshot: Callable[[World], None]) -> World:
    """`snapshot` is taken of what the own lab sees before there is another one."""
    _made.clear()
    before = every_row()
    own = furnish(OWN)
    Asked(own, ReportOptions()).ensure_computed()
    known = {route.name: once(route, own) for route in ADDRESSES}
    mark(difference(every_row(), before), OWN)
    give_cutoff(OWN)
    research_field = ResearchField.objects.get(slug=OWN)
    users = {
        who: make_user(f"own-{n}")
        for n, who in enumerate((LEAD, RESEARCHER, CURATOR, AUDITOR, NOBODY))
    }
    for who, role in (
        (LEAD, "researcher"),
        (RESEARCHER, "researcher"),
        (CURATOR, "curator"),
        (AUDITOR, "auditor"),
    ):
        own.members.add(users[who], through_defaults={"role": role})
    for who, role in ((LEAD, "lead"), (CURATOR, "curator")):
        research_field.members.add(users[who], through_defaults={"role": role})
    allow_studies(users[NOBODY])
    cookies = {}
    for who, user in users.items():
        client = Client()
        client.force_login(user)
        cookies[who] = client.cookies
    secret = create_token(users[LEAD], "test", list(Scope)).secret
    middle = every_row()
    own_names: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for kind, values in names_of(difference(middle, before)).items():
        for value in values:
            own_names[str(value)].add(kind)
    world = World(own, cookies, secret, known, {}, own_names, {}, {})
    snapshot(world)
    leave_room()
    other = furnish(OTHER)
    world.others = {route.name: once(route, other) for route in ADDRESSES}
    theirs = difference(every_row(), middle)
    mark(theirs, OTHER)
    give_cutoff(OTHER)
    world.names, world.theirs, world.rows = names_of(theirs), theirs, every_row()
    world.stored = {model: values_of(model, pks) for model, pks in theirs.items()}
    return world


_made: dict[tuple[int, str], Any] = {}


def once(route: Route, study: Study) -> dict[str, Any]:
    """Addresses that take the same rows are given the same."""
    example = EXAMPLES.get(route.name)
    if callable(example):
        key = (id(example), study.slug)
        if key not in _made:
            _made[key] = example(study)
        wanted = set(re.findall(r"<(?:\w+:)?(\w+)>", route.address))
        values = {"slug": study.slug, "field": study.slug} | dict(_made[key])
        return {name: values[name] for name in wanted}
    return arguments(route, study)


def give_cutoff(slug: str) -> None:
    """Test cases say for which models they are too early."""
    LanguageModel.objects.filter(name__startswith=f"lab/{slug}").update(
        training_cutoff="2030-01-01"
    )


def leave_room() -> None:
    """Keys of new rows are those of no row that is there, of whichever kind."""
    numbered = [model for model in every_row() if isinstance(model._meta.pk, models.AutoField)]
    tables = [model._meta.db_table for model in (*numbered, User)]
    with connection.cursor() as cursor:
        for table in tables:
            if connection.vendor == "sqlite":
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", [table, FIRST_PK])
            else:
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, FIRST_PK]
                )


def allow_studies(user: Any) -> None:
    user.user_permissions.add(Permission.objects.get(codename="add_study"))


def difference(
    after: Mapping[type[models.Model], set[int]], before: Mapping[type[models.Model], set[int]]
) -> dict[type[models.Model], set[int]]:
    return {model: pks - before[model] for model, pks in after.items() if pks - before[model]}


def names_of(rows: Mapping[type[models.Model], set[int]]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """By what rows are named in addresses and forms."""
    found: dict[tuple[str, str], tuple[Any, ...]] = {}
    for model, pks in rows.items():
        for column in model._meta.concrete_fields:
            if column.primary_key or isinstance(
                column, models.SlugField | models.UUIDField | NameField
            ):
                own = model._base_manager.filter(pk__in=pks).order_by("pk")
                values = own.values_list(column.name, flat=True)
                found[model._meta.label, column.name] = tuple(v for v in dict.fromkeys(values) if v)
    return found


def share_a_run(world: World) -> None:
    """Both labs draw a published text, which a model scored for the other lab, with texts of its own, as the site believes."""
    shared = [make_item(f"shared-{n}", collection="brainbench", collection_row=n) for n in range(3)]
    other = Study.objects.get(slug=OTHER)
    for study in (world.own, other):
        pin_items(study, shared)
    by = User.objects.get(username=f"{OTHER}-lead")
    run = finish(
        ask(other, "lab/shared", user=by),
        1,
        error=f"{OTHER}-error",
        identity={
            "machine": {"host": f"{OTHER}-host"},
            "server": f"{OTHER}-server",
            "dtype": "float32",
        },
    )
    ScoringRun.objects.filter(pk=run.pk).update(total=7, is_site_wide=True)
    grow_run(run)


def grow_run(run: ScoringRun) -> None:
    """Adds another text of its study to it, which nobody else may see."""
    item = make_item(f"{OTHER}-more-{run.unscored.count()}", field=OTHER)
    ItemScore.objects.create(run=run, item=item, ppl_original=10.0, ppl_altered=12.0)
    unread = make_item(f"{OTHER}-unread-{run.unscored.count()}", field=OTHER)
    run.unscored.create(item=unread, name=unread.key, reason=f"{OTHER}-long")
    ScoringRun.objects.filter(pk=run.pk).update(done=F("done") + 2, total=F("total") + 2)
