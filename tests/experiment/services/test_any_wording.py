"""A study's own texts are shown as text, or the built-in ones are: no page fails or grows by them."""

import copy
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.template import Context, Engine
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.test import Client
from django.utils.translation import gettext, ngettext
from hypothesis import example, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from experiment.models import Study, StudyText
from experiment.services import study_language
from experiment.services.readiness import preflight
from experiment.services.study_language import (
    DATE_FORMATS,
    LONGEST_TEXT,
    TEMPLATES,
    load_texts,
    number_of,
    participant_texts,
    set_text,
    speaking,
    speaking_language,
    unusable_texts,
    usable,
)
from lib.po import Message
from tests.factories import make_study

pytestmark = pytest.mark.django_db
# What people write who mean nothing by it, and what those write who do
AS_TEXT = (
    *("50 % im Recht", "20% off", "100%", "%", "% %", "% d", "%s", "%d items", "%(etwa) im", "%("),
    *(
        "{",
        "}",
        "{}",
        "{low!r}",
        "{low.__class__}",
        "{low:60000000}",
        "{{ n }}",
        "{% now %}",
    ),
    *("a\nb", "a\u2028b", "\u202eabc\u202c", "“ ” &amp; \\ ' \"", "%)s", "5 %.", "%\u0661(n)s"),
)
REFUSED = (
    *("%(contact)60000000s", "%(n)r", "%(n)i", "%(nobody)s", "%(n)060000000d", "%()s", "%(n)-9.9s"),
    *("{nobody}", "{0}", "<b>", "<", "\x00", "\ud800", "\ue000n\ue001", "x" * LONGEST_TEXT),
)
WITH_VALUES = [m for m in participant_texts() if study_language._placeholders(m.source + m.plural)]
VALUES = ("", "7", "%(n)s 100 %", "x" * 3_000, "{low}", "<b>&")


def nodes() -> Iterator[tuple[str, Any]]:
    """Every place in a participant's template where a text is shown, by the text."""
    root, engine = settings.BASE_DIR / "templates", Engine.get_default()
    for path in sorted({p for pattern in TEMPLATES for p in root.glob(pattern) if p.is_file()}):
        found = engine.get_template(str(path.relative_to(root))).nodelist
        for kind in (TranslateNode, BlockTranslateNode):
            for node in found.get_nodes_by_type(kind):
                yield study_language._of_node(node).key, node


NODES: dict[str, list[Any]] = {}
for _key, _node in nodes():
    NODES.setdefault(_key, []).append(_node)
EMPTY = Engine.get_default().from_string("")


def rendered(node: Any, value: str, n: int) -> str:
    """The text as it stands in its template, each of its values this one."""
    context = Context(autoescape=False)
    context.template = EMPTY
    if isinstance(node, BlockTranslateNode):
        node = copy.copy(node)
        names = [
            *node.render_token_list(node.singular)[1],
            *node.render_token_list(node.plural or [])[1],
        ]
        node.extra_context, node.asvar = {}, None
        context.update(dict.fromkeys(names, value))
        if node.countervar:
            node.counter = _Counted(n)
    else:
        node = copy.copy(node)
        node.asvar = None
    return str(node.render(context))


class _Counted:
    def __init__(self, n: int) -> None:
        self.n = n

    def resolve(self, _: object) -> int:
        return self.n


def shown(message: Message, value: str) -> list[str]:
    """The renderings of a text wherever it stands, in the language of the moment."""
    found = [rendered(node, value, n) for node in NODES.get(message.key, ()) for n in (1, 5)]
    if message.note.startswith("experiment/participant/"):
        names = study_language._placeholders(message.source + message.plural)
        values: Mapping[str, Any] = {
            name[2:-2]: 7 if name.endswith("d") else value for name in names if name[0] == "%"
        }
        text = (
            ngettext(message.source, message.plural, 2)
            if message.plural
            else gettext(message.source)
        )
        # Without values it may be filled in all the same, as forms do with their errors
        found += [text % values] if values else [str(text), text % {"limit_value": 7}]
    return found


def test_the_texts_with_values_are_those_that_are_tried() -> None:
    assert len(WITH_VALUES) > 70
    assert {m.key for m in participant_texts() if m.note.startswith("participant/")} <= NODES.keys()


def worded(message: Message, more: str) -> Message:
    texts = (message.source, message.plural) if message.plural else (message.source,)
    return Message(
        message.source, tuple(f"{text} {more}" for text in texts), message.plural, message.context
    )


@pytest.mark.parametrize("more", AS_TEXT)
def test_text_without_special_meaning_is_accepted_and_shown_as_typed(more: str) -> None:
    study = make_study()
    every = [m for m in participant_texts() if m.source not in DATE_FORMATS]
    loaded = load_texts(study, [worded(message, more) for message in every])
    assert [p.source for p in loaded.problems] == []
    assert unusable_texts(study) == []
    typed = " ".join(more.splitlines())
    with speaking(study):
        for message in every:
            for value in VALUES if message in WITH_VALUES else ("",):
                for text in shown(message, value):
                    assert unescape(typed) in unescape(text) or more in text
                    assert value in text or message.plural or ")s" not in message.source
                    assert len(text) < 10 * (LONGEST_TEXT + 3_000)


@pytest.mark.parametrize("more", REFUSED, ids=range(len(REFUSED)))
def test_added_values_and_tags_are_refused_and_replaced_by_the_built_in_text(
    more: str,
) -> None:
    study = make_study()
    every = participant_texts()
    assert load_texts(study, [worded(message, more) for message in every]).n == 0
    if any(char in more for char in ("\x00", "\ud800")):  # no database keeps it
        return
    StudyText.objects.bulk_create(
        StudyText(study=study, source=m.key, forms=list(worded(m, more).forms)) for m in every
    )
    assert len(unusable_texts(study)) == len(every)
    replaced = [each for each in preflight(study) if "in place of one of" in str(each)]
    assert len(replaced) == len(every)
    for message in every:
        with speaking_language(study.language):
            built_in = shown(message, "7")
        with speaking(study):
            assert shown(message, "7") == built_in


@tries(max_examples=150, deadline=None)
@given(
    message=st.sampled_from(participant_texts()),
    forms=st.lists(
        st.lists(
            st.one_of(
                st.sampled_from(
                    [*AS_TEXT, *REFUSED[:-1], "%%", "%(n)s", "%(n)d", "{n}", "{low}", " "]
                ),
                st.text(max_size=5),
                st.just("SOURCE"),
            ),
            max_size=5,
        ),
        max_size=3,
    ),
    value=st.sampled_from(VALUES),
)
@example(Message("no such text"), [["%"]], "")
def test_no_text_of_whatever_pieces_breaks_the_place_where_it_stands(
    message: Message, forms: list[list[str]], value: str
) -> None:
    texts = ["".join(pieces).replace("SOURCE", message.source) for pieces in forms]
    with speaking_language("en", usable({message.key: texts})):
        for text in shown(message, value):
            assert len(text) <= 10 * (LONGEST_TEXT + 3_000)


@pytest.mark.parametrize("forms", ["text", [], [1, None], {"a": "b"}, 7, [["x"]], [""], [" \n"]])
def test_forms_that_are_no_texts_are_passed_over_and_named(
    ruth: Client, study: Study, forms: Any
) -> None:
    Study.objects.update(language="de")
    study.refresh_from_db()
    StudyText.objects.create(study=study, source="Continue", forms=forms)
    with speaking(study):
        assert gettext("Continue") == "Weiter"
    assert [str(p) for p in unusable_texts(study)] == ["Left out because it is empty: Continue"]
    assert ruth.get(f"/lab/studies/{study.slug}/set-up/wording/").status_code == 200
    assert set_text(study, Message("I do not agree", ("Lieber nicht",))) is None
    assert unusable_texts(study) == []


def test_two_signs_are_one_as_in_files_of_translators() -> None:
    study = make_study()
    with_value = next(m for m in WITH_VALUES if m.source.startswith("Confidence: %(value)s"))
    set_text(study, Message(with_value.source, ("%(value)s %% or 9 %",)))
    set_text(study, Message("Continue", ("100%% on, 100% on",)))
    set_text(study, Message("(50%% would be a guess)", ("(50% by chance, 50%% by chance)",)))
    with speaking(study):
        assert shown(with_value, "7") == ["7 % or 9 %"] * len(shown(with_value, "7"))
        assert gettext("Continue") == "100% on, 100% on"
        guess = next(m for m in participant_texts() if m.source.startswith("(50%%"))
        assert set(shown(guess, "")) == {"(50% by chance, 50% by chance)"}
    assert unusable_texts(study) == []


@pytest.mark.parametrize("form", ["H:i", "j F Y H:i", "d.m.Y"])
def test_a_format_of_dates_writes_every_date_that_stands_there(form: str) -> None:
    study = make_study()
    problem = set_text(study, Message("j F Y", (form,)))
    assert (problem is None) == (form == "d.m.Y")
    assert set(DATE_FORMATS) <= {m.source for m in participant_texts()}


@pytest.mark.parametrize("forms", [("r" * 5_000,), ("j F Y",) * 5_000])
def test_a_format_of_dates_is_short(forms: tuple[str, ...]) -> None:
    """Each of its letters may write a whole date, while participants' pages wait for the study."""
    problem = set_text(make_study(), Message("j F Y", forms))
    assert problem is not None
    assert "not a date format" in str(problem)


def test_a_text_that_comes_often_is_looked_at_once() -> None:
    broken = Message("j F Y", ("H:i",))
    loaded = load_texts(make_study(), [Message("j F Y", ("d.m.Y",)), *[broken] * 2])
    assert [problem.reason for problem in loaded.problems] == ["it is a repetition"] * 2


def test_the_researcher_is_told_where_it_is_mended(ruth: Client, study: Study) -> None:
    message = next(m for m in WITH_VALUES if "%(contact)s" in m.source)
    forms = [f"{message.source} %(contact)60000000s"]
    StudyText.objects.create(study=study, source=message.key, forms=forms)
    page = ruth.get(f"/lab/studies/{study.slug}/set-up/").text
    assert "the pages show the built-in text in place of one" in page.casefold()
    assert "Left out because its placeholders differ" in page
    answer = ruth.post(
        f"/lab/studies/{study.slug}/set-up/wording/{number_of(message)}/",
        {"section": "wording", "number": number_of(message), "form-1": forms[0]},
    )
    assert answer.status_code == 422
    assert "placeholders differ" in answer.text
