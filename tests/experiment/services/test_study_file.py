"""A study's file makes the same study again, and whatever is wrong with it is named by its place."""

import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.domain.exclusion import Rules
from experiment.models import Adviser, Item, Study
from experiment.models.studies import RULE_COLUMNS
from experiment.services.advisers import set_adviser
from experiment.services.channels import ENDS, channels
from experiment.services.file_places import Place, StudyFileError, parse_here
from experiment.services.study_file import (
    SETTINGS,
    as_bytes,
    copy_study,
    create,
    create_from_file,
    document,
)
from experiment.services.study_language import participant_texts, set_text
from experiment.services.study_versions import revise
from experiment.services.survey import add_example, survey_questions
from lib import po
from lib.names import fault
from tests.factories import NOW, PARTS, make_arms, make_channel, make_item, make_study, make_survey

pytestmark = pytest.mark.django_db
REPEATED = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=60
)
LINES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=60)
NAMES = LINES.map(str.strip).filter(lambda line: not fault(line))


@st.composite
def values(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "briefing": "Read. " + draw(WORDS),
        "debriefing": draw(WORDS),
        "contact": draw(NAMES),
        "field": draw(NAMES),
        "language": draw(st.sampled_from(["en", "de", "pt-BR", "ar"])),
        "human_items": draw(st.integers(1, 500)),
        "ratings_required": draw(st.booleans()),
        "policy": draw(st.sampled_from(["balanced", "paper"])),
        "demographic_fields": draw(st.lists(st.sampled_from(["age", "gender"]), unique=True)),
        "target_valid": draw(st.none() | st.integers(1, 1_000_000)),
        "resume_hours": draw(st.integers(1, 9_999)),
    }


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    return Rules(
        missed_catch=draw(st.booleans()),
        untouched_sliders=draw(st.sampled_from(["off", "neither", "either"])),
        missed_attention=draw(st.booleans()),
        min_rt_ms=draw(st.integers(0, 2**31 - 1)),
        min_rt_clock=draw(st.sampled_from(["page", "choice"])),
        question_min_rt_ms=draw(st.integers(0, 2**31 - 1)),
    )


CHANNELS: dict[str, dict[str, Any]] = {
    "uk": {
        "platform": "prolific",
        "completion_url": "https://app.prolific.com/done?id={external_id}",
        "screen_out_code": "OUT",
        "returns": "refuse",
    },
    "plain": {"is_open": False},
    "panel": {"platform": "other", "id_parameter": "who", "full_code": "FULL"},
}


def make_whole(fields: dict[str, Any]) -> Study:
    """A study with all that goes along: texts of its own, ways to recruit, and a test case that was retired."""
    study = make_study(human=2, machine=1, catch=1)
    for code, channel in CHANNELS.items():
        make_channel(study, code, **channel)
    known = next(m for m in participant_texts() if m.source == "I do not agree")
    set_text(study, po.Message(known.source, ("Rather not",)))
    Study.objects.filter(pk=study.pk).update(**fields)
    study.refresh_from_db()
    return study


@settings(REPEATED, max_examples=15)  # each makes two studies
@given(values(), rules(), WORDS)
def test_the_file_of_the_study_that_a_file_makes_is_the_same_file(
    fields: dict[str, Any], set_rules: Rules, consent: str
) -> None:
    with transaction.atomic():
        study = make_whole(fields)
        make_item("dated", publication_date=date(2024, 2, 29), doi="10.1/Ä(b)")
        items = [*study.items.all(), Item.objects.get(key="dated")]
        revise(study, rules=set_rules, consent="Agree? " + consent, items=items)
        study.items.filter(key="memory-human-1").update(status="retired")
        content, told = as_bytes(study), document(study)
        assert [*channels(study)] == [channel["code"] for channel in told["channels"]]
        assert [text["forms"] for text in told["texts"]] == [["Rather not"]]
        assert "memory-human-1" not in {item["key"] for item in told["items"]}
        study.delete()
        Item.objects.all().delete()
        made = create(parse_here(content))
        assert document(made) == told
        assert as_bytes(made) == content
        transaction.set_rollback(True)


def test_a_file_holds_what_people_set_and_no_other_column() -> None:
    """A column that is added is none of a file's, until it is named there."""
    columns = {field.name for field in Study._meta.concrete_fields if field.editable}
    elsewhere = {"id", "recruitment", *RULE_COLUMNS.values()}
    assert set(SETTINGS) == columns - elsewhere
    study = make_study()
    told = document(study)["study"]
    assert set(told) == set(SETTINGS)
    of_site = {f.name for f in Study._meta.concrete_fields} - columns
    assert {"is_demo", "version"} <= of_site
    for name in of_site:
        assert place(put("study", name, value=None)) == f"study.{name}"


def test_a_copy_begins_without_the_ends_and_the_days_of_the_other_study() -> None:
    study = make_whole({"retain_until": date(2020, 1, 1)})
    told = document(study)
    assert told["study"]["retain_until"] == "2020-01-01"
    copied = copy_study(study, slug="copy", title="Copy")
    assert copied.retain_until is None
    ends = dict.fromkeys(ENDS, "")
    assert document(copied)["channels"] == [channel | ends for channel in told["channels"]]


def place(change: Any) -> str:
    """Where the file is refused after this change."""
    data = copy.deepcopy(document(Study.objects.get(slug="memory")))
    data["study"] |= {"slug": "again", "title": "Again"}
    change(data)
    n_items = Item.objects.count()
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode())
    assert (Study.objects.count(), Item.objects.count()) == (1, n_items)
    return refused.value.messages[0].split(": ")[0]


def put(*path: Any, value: Any) -> Any:
    def change(data: Any) -> None:
        for name in path[:-1]:
            data = data[name]
        data[path[-1]] = value

    return change


def put_channel(**fields: Any) -> Any:
    known = {"code": "first", "label": "First"}
    return put("channels", value=[known, {"code": "uk", "label": "UK"} | fields])


NEW_ITEM = {"key": "new", "markup": "It [[rose, fell]]."}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (put("surprise", value=1), "surprise"),
        (put("study", value=[]), "study"),
        (put("study", "shoe_size", value=44), "study.shoe_size"),
        (put("study", "human_items", value=True), "study.human_items"),
        (put("study", "human_items", value=40_000), "study.human_items"),
        (put("study", "human_items", value=1e300), "study.human_items"),
        (put("study", "title", value="x" * 201), "study.title"),
        (put("study", "title", value="a\x00b"), "study.title"),
        (put("study", "opens_at", value="9999-12-31T23:59:59-12:00"), "study.opens_at"),
        (put("study", "closes_at", value="0001-01-01T00:00:00+00:00"), "study.closes_at"),
        (put("study", "title", value="\ud800"), "study.title"),
        (put("study", "contact", value=None), "study.contact"),
        (put("study", "policy", value="whim"), "study.policy"),
        (put("study", "slug", value="not a slug"), "study.slug"),
        (put("study", "slug", value="again\n"), "study.slug"),
        (put("study", "language", value="de\n"), "study.language"),
        (put("study", "abstract_language", value="en\n"), "study.abstract_language"),
        (put("study", "slug", value="memory"), "study.slug"),
        (put("study", "ethics_number", value="7"), "study"),
        (put("study", "demographic_fields", value=["age", "shoe"]), "study.demographic_fields[1]"),
        (put("rules", "min_rt_ms", value=-1), "rules.min_rt_ms"),
        (put("consent", value=7), "consent"),
        (put("channels", value={}), "channels"),
        (put("channels", value=[{"code": "uk"}]), "channels[0].label"),
        (put_channel(code="first"), "channels[1]"),
        (put_channel(code="UK 1"), "channels[1].code"),
        (put_channel(label=""), "channels[1].label"),
        (put_channel(id_parameter="pid\n"), "channels[1].id_parameter"),
        (put_channel(completion_url="https://prolific.com/\n"), "channels[1].completion_url"),
        (put_channel(platform="none"), "channels[1].platform"),
        (put_channel(platform="other"), "channels[1]"),
        (put_channel(full_url="https://evil.example/"), "channels[1].full_url"),
        (put_channel(is_open="yes"), "channels[1].is_open"),
        (put_channel(study=1), "channels[1].study"),
        (put("texts", value=[{"source": "x"}]), "texts[0].forms"),
        (put("texts", value=[{"source": "nowhere", "forms": ["x"]}]), "texts[0]"),
        (put("items", value={}), "items"),
        (put("items", 2, "sha256", value="0" * 64), "items[2].sha256"),
        (put("items", 0, value={"key": "new"}), "items[0].markup"),
        (put("items", 0, value=NEW_ITEM | {"markup": "no place"}), "items[0].markup"),
        (
            put("items", 0, value=NEW_ITEM | {"markup": "It [[r\u00e9duit, re\u0301duit]]."}),
            "items[0].markup",
        ),
        (put("items", 0, value=NEW_ITEM | {"source": "oracle"}), "items[0].source"),
        (
            put("items", 0, value=NEW_ITEM | {"publication_date": "soon"}),
            "items[0].publication_date",
        ),
        (put("items", 0, value=NEW_ITEM | {"key": "memory-human-2"}), "items[0]"),
        (put("items", 0, value=NEW_ITEM | {"version": 0}), "items[0]"),
    ],
)
def test_problems_are_named_by_their_place_and_nothing_is_stored(change: Any, where: str) -> None:
    make_study()
    assert place(change) == where


@REPEATED
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)))  # fmt: skip
def test_arbitrary_json_is_refused_as_a_study_file(value: Any) -> None:
    with pytest.raises(StudyFileError):
        create(parse_here(json.dumps(value).encode()))
    parts = {"format": "brainbench-live-study", "version": 1, "study": value, "items": value}
    with pytest.raises(StudyFileError):
        create(parse_here(json.dumps(parts).encode()))


def test_a_file_that_is_wrong_everywhere_is_left_at_its_first_thousand_places() -> None:
    """A file may hold a million values, and what is wrong with each takes longer to say than to read."""
    name = "x" * 10_000
    with pytest.raises(StudyFileError) as refused:
        Place({f"{n}{name}": n for n in range(2_000)}, "", []).members(("study",))
    assert "950" in refused.value.messages[-1]
    assert max(map(len, refused.value.messages)) < 200


def test_the_command_writes_and_creates(tmp_path: Path, capsys: Any) -> None:
    study, path = make_study(), tmp_path / "study.json"
    call_command("study_file", "memory", "--write", str(path))
    assert path.read_bytes() == as_bytes(study)
    call_command("study_file", "again", "--create", str(path), "--title", "Again", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["study"] == "again"
    with pytest.raises(CommandError, match=r"study\.slug"):
        call_command("study_file", "again", "--create", str(path))
    with pytest.raises(CommandError, match="No such file"):
        call_command("study_file", "third", "--create", str(tmp_path / "none.json"))


def test_arms_go_along_and_a_study_without_any_says_nothing_of_them() -> None:
    source = make_study()
    assert "arms" not in document(source)
    make_arms(
        source,
        {"name": "alone", "share": 2},
        {"name": "advised", "advice": "after", "advised_items": 4, "subfields": ["Cellular"]},
    )
    made = copy_study(source, slug="again", title="Again")
    assert document(made)["arms"] == document(source)["arms"]
    assert [arm["name"] for arm in document(made)["arms"]] == ["alone", "advised"]


def test_problems_of_an_arm_are_named_by_their_place() -> None:
    source = make_study()
    make_arms(source)
    data = json.loads(as_bytes(source))
    data["study"] |= {"slug": "again", "title": "Again"}
    data["arms"][0] |= {"advised_items": 4}
    data["arms"][1] |= {"share": 0, "subfields": [7], "colour": "red"}
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode())
    places = {message.split(":")[0] for message in refused.value.messages}
    assert places == {"arms[1].subfields[0]", "arms[1].colour"}
    del data["arms"][1]["colour"]
    data["arms"][1]["subfields"] = []
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode())
    places = {message.split(":")[0] for message in refused.value.messages}
    assert places == {"arms[0]", "arms[1].share"}
    assert not Study.objects.filter(slug="again").exists()


def test_an_adviser_goes_along_without_the_advice_that_was_frozen() -> None:
    source = make_study()
    assert "adviser" not in document(source)
    adviser = set_adviser(
        source, {"kind": "planted", "shown_name": "a colleague", "planted_accuracy": 0.7}, by=None
    )
    Adviser.objects.filter(pk=adviser.pk).update(frozen_at=NOW)
    made = copy_study(source, slug="copy", title="A copy")
    assert document(made)["adviser"] == document(source)["adviser"]
    assert made.adviser.frozen_at is None


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"planted_accuracy": 7}, "adviser.planted_accuracy"),
        ({"planted_accuracy": None}, "adviser"),
        ({"kind": "oracle"}, "adviser.kind"),
        ({"colour": "red"}, "adviser.colour"),
    ],
)
def test_impossible_values_of_an_adviser_are_refused_at_their_place(
    changes: dict[str, Any], place: str
) -> None:
    source = make_study()
    set_adviser(source, {"kind": "planted", "shown_name": "it", "planted_accuracy": 0.7}, by=None)
    data = document(source)
    data["adviser"] |= changes
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode(), slug="other", title="Other")
    assert {message.split(":")[0] for message in refused.value.messages} == {place}


def test_survey_questions_go_along_with_their_arms() -> None:
    source = make_study()
    assert "survey" not in document(source)
    arm, _ = make_arms(source, {"name": "alone"}, {"advice": "after"})
    make_survey(source)
    make_survey(source, "text", name="why", place="after", arm=arm, required=False)
    add_example(source)
    made = copy_study(source, slug="again", title="Again")
    assert document(made)["survey"] == document(source)["survey"]
    assert made.survey_questions.get(name="why").arm == made.arms.get(name="alone")
    assert [question.name for question in survey_questions(made)] == [*PARTS, "why", "trust"]


def test_problems_of_a_survey_question_are_named_by_their_place() -> None:
    source = make_study()
    make_survey(source)
    data = json.loads(as_bytes(source))
    data["study"] |= {"slug": "again", "title": "Again"}
    wrong: list[dict[str, object]] = [
        {"parts": 7},
        {"parts": {"points": 99, "low": "a", "high": "b"}},
        {"name": "A B"},
        {"name": "choice"},
        {"arm": "nobody"},
    ]
    for question, change in zip(data["survey"], wrong, strict=True):
        question |= change
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode())
    places = {message.split(":")[0] for message in refused.value.messages}
    assert places == {
        f"survey[{n}]{part}"
        for n, part in enumerate([".parts", ".parts", ".name", "", ""])
        if n != 3
    }
    assert not Study.objects.filter(slug="again").exists()
