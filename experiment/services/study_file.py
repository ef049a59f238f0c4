"""A whole study as one JSON file: settings, rules, channels, texts and test cases; what people did is no part of it.

A study is made of it as a whole, or nothing is and all that is wrong is named with its place.

Long: what writes the file and what reads it go by the same lists of fields.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from decimal import Decimal
from itertools import product
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models, transaction

from experiment.domain.arms import MOST_ARMS
from experiment.domain.questions import columns
from experiment.domain.questions.made_from import SourceError, source_of
from experiment.domain.questions.made_from import checked as checked_source
from experiment.domain.roles import Right
from experiment.domain.survey import MOST_QUESTIONS
from experiment.models import (
    Adviser,
    Arm,
    Channel,
    Item,
    Study,
    SurveyQuestion,
)
from experiment.models.arms import FIXED
from experiment.models.items import item_hash
from experiment.models.studies import DEMOGRAPHIC_FIELDS, MOST_WANTED, RULE_COLUMNS
from experiment.services import audit
from experiment.services.advisers import adviser_of, set_adviser
from experiment.services.arms import save_arm
from experiment.services.channels import ENDS, save_channel
from experiment.services.curation.remarks import errors_of
from experiment.services.file_items import FileItems
from experiment.services.file_places import Place, StudyFileError, parse
from experiment.services.rights import may
from experiment.services.study_language import LONGEST_TEXT, load_texts
from experiment.services.study_setup import default_briefing, default_consent
from experiment.services.study_versions import revise
from experiment.services.survey import save_question
from experiment.services.usable import unusable
from lib import po
from lib.code import release

Row = TypeVar("Row", Arm, Channel, SurveyQuestion)
FORMAT = "brainbench-live-study"
VERSION = 1
# The columns of a study that its file holds: all that its people set, but for its state and its rules
SETTINGS = (
    "slug",
    "title",
    "language",
    "abstract_language",
    "briefing",
    "debriefing",
    "field",
    "ethics_number",
    "ethics_body",
    "answers_read_by",
    "ethics_contact",
    "demographic_fields",
    "human_items",
    "machine_items",
    "catch_items",
    "question_items",
    "ratings_required",
    "reading_aid",
    "min_page_s",
    "debrief_catch_trials",
    "policy",
    "target_valid",
    "cell_field",
    "cell_targets",
    "opens_at",
    "closes_at",
    "external_id_days",
    "withdrawal_policy",
    "retain_until",
    "contact",
    "live_minutes",
    "resume_hours",
    "pay_currency",
    "pay_base",
    "pay_screened_out",
    "pay_bonus",
    "pay_bonus_amount",
    "pay_credits",
)
ITEM_FIELDS = (
    "key",
    "version",
    "sha256",
    "kind",
    "source",
    "generator",
    "field",
    "subfield",
    "doi",
    "publication_date",
    "markup",
    "texts",
    "is_damaged",
    "collection",
    "collection_row",
    "is_demo",
)
QUESTION_FIELDS = ("expert_answer", "categories", "template", "made_from")
ARM_FIELDS = ("name", *FIXED)
# Without its frozen advice, which is one study's
ADVISER_FIELDS = (
    "kind",
    "source",
    "shown_name",
    "shows",
    "shows_passages",
    "planted_accuracy",
)
SURVEY_FIELDS = ("name", "place", "advised_only", "kind", "text", "required")
CHANNEL_FIELDS = (
    "code",
    "label",
    "platform",
    "id_parameter",
    "study_parameter",
    "session_parameter",
    *ENDS,
    "returns",
    "is_open",
)


def document(study: Study) -> dict[str, Any]:
    """The study as JSON's types. A test case that was retired since is not drawn, and left out."""
    consent = study.consent
    items = study.accepted_items.select_related("template").order_by("key", "version")
    own = study.texts.order_by("source").values("source", "forms")
    arms = list(study.arms.order_by("number").values(*ARM_FIELDS))
    adviser = adviser_of(study)
    listed = []
    for item in items:
        own_item = {name: plain(getattr(item, name)) for name in ITEM_FIELDS}
        if item.is_question:
            template = item.template.key if item.template else ""
            said = (item.expert_answer, item.categories, template, source_of(item.made_from))
            own_item |= zip(QUESTION_FIELDS, map(plain, said), strict=True)
        listed.append(own_item)
    asked = []
    for question in study.survey_questions.order_by("number", "pk"):
        own_question = {n: plain(getattr(question, n)) for n in (*SURVEY_FIELDS, "parts")}
        if question.arm:
            own_question["arm"] = question.arm.name
        asked.append(own_question)
    return {
        "format": FORMAT,
        "version": VERSION,
        "release": release(),
        "study": {name: plain(getattr(study, name)) for name in SETTINGS},
        "rules": asdict(study.exclusion_rules),
        "consent": "" if consent is None else consent.text,
        **({"arms": arms} if arms else {}),
        **({"adviser": {n: getattr(adviser, n) for n in ADVISER_FIELDS}} if adviser else {}),
        **({"survey": asked} if asked else {}),
        "channels": list(study.channels.order_by("pk").values(*CHANNEL_FIELDS)),
        "texts": list(own),
        "items": listed,
    }


def plain(value: Any) -> Any:
    """As JSON has it, with keys in an order that does not depend on the database."""
    if isinstance(value, dict):
        return {key: plain(found) for key, found in sorted(value.items())}
    if isinstance(value, Decimal):
        return str(value)  # exact, as no number of JSON is
    return value.isoformat() if hasattr(value, "isoformat") else value


def as_bytes(study: Study) -> bytes:
    text = json.dumps(document(study), indent=2, ensure_ascii=False)
    return f"{text}\n".encode()


MAX_BYTES = 16 * 1024 * 1024
MOST_ITEMS = 20_000
MOST_TEXTS = 2_000
MOST_CHANNELS = 500
MOST_SUBFIELDS = 200
PARTS = (
    "format",
    "version",
    "release",
    "study",
    "rules",
    "consent",
    "arms",
    "adviser",
    "survey",
    "channels",
    "texts",
    "items",
)
# Days are one study's: a copy begins without
OF_ONE_STUDY = ("opens_at", "closes_at", "retain_until")


def create_from_file(content: bytes, **about: Any) -> Study:
    """As `create`, of a file that somebody sent."""
    return create(parse(content), **about)


@transaction.atomic
def create(
    place: Place,
    *,
    slug: str = "",
    title: str = "",
    by: User | None = None,
    made_from: str = "file",
) -> Study:
    """The study of this file, as a draft; under another name and title where they are given.

    Who makes it is its first researcher.

    Raises:
        StudyFileError: nothing was written; each message names a place in the file.
    """
    problems = place.problems
    parts = place.members(PARTS, needed=("format", "version", "study"))
    if parts.get("format") and parts["format"].value != FORMAT:
        raise StudyFileError(["This is not a study file of BrainBench Live."])
    if parts.get("version") and parts["version"].value != VERSION:
        parts["version"].refuse(f"This site reads version {VERSION}.")
    _stop_if(problems)
    study = _study(parts, slug, title)
    consent = parts["consent"].text() if "consent" in parts else ""
    listed = parts.get("items") or Place([], "items", problems)
    items, brought = _items(listed, study.slug, by)
    texts = _texts(parts["texts"]) if "texts" in parts else []
    channels = _channels(parts["channels"]) if "channels" in parts else []
    arms = _arms(parts["arms"]) if "arms" in parts else []
    asked = _survey(parts["survey"]) if "survey" in parts else []
    _stop_if(problems)
    study.briefing = study.briefing or default_briefing(study.language, study.tasks)
    study.save()
    audit.record(audit.Action.STUDY_CREATED, by=by, study=study, made_from=made_from)
    if n_added := brought.made.total():
        brought.record()
        audit.record(audit.Action.ITEMS_CHANGED, by=by, study=study, n_added_to_site=n_added)
    if by is not None:
        study.members.add(by)
    for at, values in arms:
        _add(save_arm, Arm(study=study, **values), at, by)
    _set_adviser(study, parts.get("adviser"), by)
    for at, values in asked:
        arm = _arm_named(study, values.pop("arm"), at)
        _add(save_question, SurveyQuestion(study=study, arm=arm, **values), at, by)
    for at, values in channels:
        _add(save_channel, Channel(study=study, **values), at, by)
    study.refresh_from_db(fields=["channels_version"])
    if texts:
        numbers = {message.source: n for n, message in enumerate(texts)}
        for problem in load_texts(study, texts, by).problems:
            Place(None, f"texts[{numbers[problem.source]}]", problems).refuse(str(problem))
    _stop_if(problems)
    revise(study, consent=consent or default_consent(study.language), items=items, by=by)
    return study


def copy_study(source: Study, *, slug: str, title: str, by: User | None = None) -> Study:
    """Another study that is set up alike, as a draft, without its days and what was agreed with a recruitment platform.

    Raises:
        StudyFileError: one may not set the source up, or not use its test cases elsewhere.
    """
    if by is not None and not may(by, Right.SET_UP, source):
        raise StudyFileError(["Only researchers of a study can copy it."])
    if foreign := unusable(source.accepted_items, by):
        fields = Counter(item.field for item in foreign)
        named = ", ".join(f"{name} ({n})" for name, n in sorted(fields.items()))
        message = (
            "You may not use all test cases of this study in another study. Ask a lead of each field to share it with you: "
            f"{named}."
        )
        raise StudyFileError([message])
    data = document(source)
    for name in OF_ONE_STUDY:
        data["study"].pop(name, None)
    for channel, end in product(data["channels"], ENDS):
        channel.pop(end)
    place = Place(json.loads(json.dumps(data)), "", [])
    return create(place, slug=slug, title=title, by=by, made_from=f"copy of {source.slug}")


def _stop_if(problems: list[str]) -> None:
    if problems:
        raise StudyFileError(problems)


def _study(parts: Mapping[str, Place], slug: str, title: str) -> Study:
    place = parts["study"]
    found = place.members(SETTINGS)
    if slug:
        found["slug"] = Place(slug, "study.slug", place.problems)
    if title:
        found["title"] = Place(title, "study.title", place.problems)
    values = {n: _setting(_column(Study, n), at) for n, at in found.items()}
    if "rules" in parts:
        for rule, at in parts["rules"].members(RULE_COLUMNS).items():
            column = RULE_COLUMNS[rule]
            values[column] = _setting(_column(Study, column), at)
    study = Study(**values)
    try:
        # An empty briefing becomes the built-in one
        study.full_clean(exclude=["briefing"])
    except ValidationError as error:
        rules = {column: f"rules.{rule}" for rule, column in RULE_COLUMNS.items()}
        for name, sentences in error.message_dict.items():
            where = "study" if name == NON_FIELD_ERRORS else rules.get(name, f"study.{name}")
            for sentence in sentences:
                Place(None, where, place.problems).refuse(sentence)
    return study


def _setting(field: "models.Field[Any, Any]", at: Place) -> Any:
    if at.value is None and field.null:
        return None
    match field:
        case models.BooleanField():
            return at.flag()
        case models.DecimalField() | models.FloatField():
            return at.amount() if isinstance(field, models.DecimalField) else at.share()
        case models.IntegerField():
            is_small = isinstance(field, models.PositiveSmallIntegerField)
            # The next version of a test case must have a number, too
            return at.whole(2**15 - 1 if is_small or field.name == "version" else 2**31 - 1)
        case models.DateTimeField():
            return at.moment()
        case models.DateField():
            return at.day()
        case models.JSONField() if field.name == "cell_targets":
            return _counts(at)
        case models.JSONField():
            return [name.one_of(DEMOGRAPHIC_FIELDS) for name in at.elements(20)]
    if field.choices:
        empty = [""] if field.blank else []
        return at.one_of([*empty, *(str(value) for value, _label in field.flatchoices if value)])
    return at.text(field.max_length or 100_000)


def _counts(at: Place) -> dict[str, int]:
    if not isinstance(at.value, dict):
        at.refuse("An object is expected.")
        return {}
    places = {name: Place(n, f"{at.path}.{name}", at.problems) for name, n in at.value.items()}
    return {name: place.whole(MOST_WANTED) for name, place in places.items()}


def _column(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    return next(field for field in model._meta.concrete_fields if field.name == name)


def _items(place: Place, study: str, by: User | None) -> tuple[list[Item], FileItems]:
    """The rows of the listed test cases: those that are here by key and text and that one may use, the others made and accepted."""
    listed = place.elements(MOST_ITEMS)
    read = [(at, _read_item(at)) for at in listed]
    keys, fields = ({values.get(name, "") for _at, values in read} for name in ("key", "field"))
    items = FileItems(keys, fields, study, by)
    first: dict[str, tuple[Place, dict[str, Any]]] = {}
    again = []
    for at, values in read:
        key = values.get("key", "")
        if key in first:
            again.append((at, first[key][0]))
        elif key:
            first[key] = at, values
    # Stored by key: two files that bring the same ones in another order do not wait for each other
    rows = {key: _row(*first[key], items) for key in sorted(first)}
    for at, earlier in again:
        at.refuse(f"The same key as in {earlier.path}.")
    return [row for key in first if (row := rows[key]) is not None], items


def _read_item(at: Place) -> dict[str, Any]:
    found = at.members((*ITEM_FIELDS, *QUESTION_FIELDS), needed=("key", "markup"))
    categories, template = found.pop("categories", None), found.pop("template", None)
    source = found.pop("made_from", None)
    values = {name: _setting(_column(Item, name), each) for name, each in found.items()}
    stated = values.pop("sha256", None)
    if "sha256" in found and stated != _hash(values):
        found["sha256"].refuse("It is not the SHA-256 of the markup.")
    if categories is not None:
        values["categories"] = _categories(categories)
    if source is not None:
        try:
            values["made_from"] = checked_source(source.value)
        except SourceError as error:
            source.refuse(error)
    if template is not None and (key := template.text(80)):
        values["template"] = key
    return values


def _hash(values: Mapping[str, Any]) -> str:
    return item_hash(values.get("markup", ""), values.get("expert_answer", ""))


def _categories(at: Place) -> dict[str, list[str]]:
    if not isinstance(at.value, dict):
        at.refuse("An object is expected.")
        return {}
    places = {n: Place(value, f"{at.path}.{n}", at.problems) for n, value in at.value.items()}
    found = {n: [one.text(200) for one in place.elements(100)] for n, place in places.items()}
    try:
        return columns.checked(found)
    except columns.CategoriesError as error:
        at.refuse(error)
        return {}


def _row(at: Place, values: dict[str, Any], items: FileItems) -> Item | None:
    sha256 = _hash(values)
    key, known = items.named(values["key"], sha256)
    same = [row for row in known if row.sha256 == sha256]
    for row in same:
        if row.status == Item.Status.ACCEPTED:
            return row
    if same:
        at.refuse("This site has the test case, but it is not accepted.")
        return None
    if known:
        at.refuse(
            f"This site has another text under the key “{values['key']}”; give this one another key."
        )
        return None
    try:
        item = items.add(key, values)
        item.clean()
        item.full_clean(exclude=["created_by"])
    except ValidationError as error:
        _refuse_fields(at, error)
        return None
    if errors := errors_of(item):
        found = f"The checks find an error, so the text cannot be accepted: {errors[0].message}."
        Place(None, f"{at.path}.markup", at.problems).refuse(found)
        return None
    items.store(item)
    return item


def _channels(place: Place) -> list[tuple[Place, dict[str, Any]]]:
    columns = {name: _column(Channel, name) for name in CHANNEL_FIELDS}
    listed = [(at, at.members(columns, ("code", "label"))) for at in place.elements(MOST_CHANNELS)]
    return [
        (at, {name: _setting(columns[name], each) for name, each in found.items()})
        for at, found in listed
    ]


def _arms(place: Place) -> list[tuple[Place, dict[str, Any]]]:
    columns = {name: _column(Arm, name) for name in ARM_FIELDS}
    found = []
    for at in place.elements(MOST_ARMS):
        parts = at.members(columns, ("name",))
        subfields = parts.pop("subfields", None)
        values = {name: _setting(columns[name], each) for name, each in parts.items()}
        if subfields is not None:
            values["subfields"] = [name.text(80) for name in subfields.elements(MOST_SUBFIELDS)]
        found.append((at, values))
    return found


def _set_adviser(study: Study, place: Place | None, by: User | None) -> None:
    if place is None:
        return
    columns = {name: _column(Adviser, name) for name in ADVISER_FIELDS}
    n_before = len(place.problems)
    found = place.members(columns, needed=("kind", "shown_name"))
    values = {name: _setting(columns[name], at) for name, at in found.items()}
    if len(place.problems) > n_before:
        return
    try:
        set_adviser(study, values, by=by)
    except ValidationError as error:
        _refuse_fields(place, error)


def _survey(place: Place) -> list[tuple[Place, dict[str, Any]]]:
    columns = {name: _column(SurveyQuestion, name) for name in SURVEY_FIELDS}
    found = []
    for at in place.elements(MOST_QUESTIONS):
        given = at.members((*columns, "parts", "arm"), ("name", "kind", "text"))
        parts, arm = given.pop("parts", None), given.pop("arm", None)
        values = {name: _setting(columns[name], each) for name, each in given.items()}
        values["parts"] = {} if parts is None else parts.value
        values["arm"] = "" if arm is None else arm.text(60)
        found.append((at, values))
    return found


def _arm_named(study: Study, name: str, at: Place) -> Arm | None:
    arm = study.arms.filter(name=name).first() if name else None
    if name and arm is None:
        at.refuse(f"The file has no arm “{name}”.")
    return arm


def _add(save: Callable[[Row, User | None], Row], row: Row, at: Place, by: User | None) -> None:
    try:
        save(row, by)
    except ValidationError as error:
        _refuse_fields(at, error)


def _refuse_fields(at: Place, error: ValidationError) -> None:
    for name, sentences in error.message_dict.items():
        where = at.path if name == NON_FIELD_ERRORS else f"{at.path}.{name}"
        for sentence in sentences:
            Place(None, where, at.problems).refuse(sentence)


def _texts(place: Place) -> list[po.Message]:
    found = []
    for at in place.elements(MOST_TEXTS):
        parts = at.members(("source", "forms"), needed=("source", "forms"))
        if len(parts) == 2:
            forms = tuple(form.text(LONGEST_TEXT) for form in parts["forms"].elements(8))
            found.append(po.Message(parts["source"].text(LONGEST_TEXT), forms))
    return found
