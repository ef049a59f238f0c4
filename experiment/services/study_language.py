"""The language of a study's pages: its own texts, then the translation in locale/, then English.

Texts are data: a study can reword each, in any language, also one that locale/ lacks.

Long: what is stored of a text, refused and shown goes by one set of rules on its placeholders and tags.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.template import Engine
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils import dateformat, translation
from django.utils.translation import trans_real

from experiment.models import Study, StudyText
from experiment.services import audit
from lib import po
from lib.fast.prepared import Prepared
from lib.opened import Conflict, Edit, Merged, digest, merge, read_stamp, stamp

Texts = Mapping[str, Sequence[str]]


class Catalog(trans_real.DjangoTranslation):
    """Django's own catalogue of a language, with texts of ours before it."""

    def __init__(self, base: trans_real.DjangoTranslation, layers: Sequence[Texts]) -> None:
        # A shallow copy: reading the catalogue's files again for every request would take long
        self.__dict__.update(base.__dict__)
        self.layers = layers

    def _forms(self, key: str) -> Sequence[str]:
        return next((layer[key] for layer in self.layers if key in layer), ())

    def gettext(self, message: str) -> str:
        forms = self._forms(message)
        return forms[0] if forms else super().gettext(message)

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        forms = self._forms(singular)
        if not forms:
            return super().ngettext(singular, plural, number)
        return forms[min(int(self.plural(number)), len(forms) - 1)]


@contextmanager
def speaking(study: Study) -> Iterator[None]:
    """Within it, pages are in the study's language and words."""
    with speaking_language(study.language, own_texts(study.pk, newest_text(study))):
        yield


@contextmanager
def speaking_language(language: str, own: Texts | None = None) -> Iterator[None]:
    """`own`: as `usable` gives them."""
    layers = [own or {}, *map(_usable_builtin, _languages_in(language))]
    with translation.override(language):
        # Django has no public way to put a catalogue of data, not of files, in a request's way
        active = trans_real._active  # type: ignore[attr-defined]
        active.value = Catalog(trans_real.translation(language), layers)
        yield


def newest_text(study: Study) -> int | None:
    """Names the study's own words: a change writes all of them anew (participant_texts.py)."""
    newest: int | None
    if "newest_text" in study.__dict__:  # read together with the study
        newest = study.__dict__["newest_text"]
    else:
        newest = max(_newest_text(study.pk), default=None)
    return newest


_newest_text = Prepared(
    lambda study: (
        StudyText.objects.filter(study=study).order_by("-pk").values_list("pk", flat=True)[:1]
    ),
    (1, 2),
)


def newest_text_of(study: str) -> Subquery:
    """The same within a query, whose rows have the study's key in the column `study`."""
    texts = StudyText.objects.filter(study=OuterRef(study))
    return Subquery(texts.order_by("-pk").values("pk")[:1])


def find_study(slug: str) -> Study | None:
    """The study at an address, and its newest text, in one query."""
    return next(iter(_study_at(slug)), None)


_study_at: Prepared[Study] = Prepared(
    lambda slug: Study.objects.annotate(newest_text=newest_text_of("pk")).filter(slug=slug),
    ("a", "b"),
)


@lru_cache(maxsize=64)
def own_texts(study_id: int, newest: int | None) -> Texts:
    """The words of the study, whose newest text this is, as far as they can be shown."""
    if newest is None:
        return {}
    return usable(dict(StudyText.objects.filter(study=study_id).values_list("source", "forms")))


def builtin_layers(language: str) -> list[Texts]:
    """Translations that come with the site: of pt-BR, then of pt."""
    return [builtin_texts(name) for name in _languages_in(language)]


def _languages_in(language: str) -> Iterable[str]:
    tag = language.lower()
    return dict.fromkeys((tag, tag.split("-")[0]))


@cache
def _usable_builtin(language: str) -> Texts:
    return usable(builtin_texts(language))


@cache
def builtin_texts(language: str) -> Texts:
    """locale/LANGUAGE.po; empty where there is none."""
    files = {path.stem.lower(): path for path in (settings.BASE_DIR / "locale").glob("*.po")}
    if language not in files:
        return {}
    messages = po.read(files[language].read_text(encoding="utf-8"))
    return {message.key: message.forms for message in messages if message.is_translated}


TEMPLATES = ("base.html", "participant/**/*", "experiment/default_*.txt")
MODULES = ("experiment/participant/*.py", "experiment/services/problem_words.py")
Translates = TranslateNode | BlockTranslateNode
WORDED_ONCE = "experiment/default_"  # become the study's own when it is created
TRANSLATES = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
LONGEST_TEXT = 20_000  # characters
LONGEST_FORMAT = 100  # of dates: each letter may write a whole one
MOST_TIMES = 10  # that a text names one value
# What a translation must keep: %(name)s and {name} are filled in, tags shape the page. %% is one sign, as in gettext's files
_PLACEHOLDER = re.compile(r"%%|%\(\w+\)[sd]|\{\w+\}")
_SIGN = re.compile(r"%%|%\(\w+\)[sd]|%")
# A slip of the pen, or a width: no placeholder, and hardly meant as a text
_LIKE_PLACEHOLDER = re.compile(r"%\(\w*\)[-+#0-9.*]*[A-Za-z]")
_TAG = re.compile(r"<[^<>]*>")
_QUOTE = re.compile(r'<[^<>]*>|"')
# Texts that are formats of dates, with what they may have to write
DATE_FORMATS: Mapping[str, date] = {"j F Y": date(2026, 1, 31), "j F Y, H:i": datetime(2026, 1, 31)}  # noqa: DTZ001
# No database keeps NUL or half a character; nothing else that is not printed belongs in a sentence. Kept pages mark their gaps by U+E000 and U+E001
_NO_TEXT = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f\ud800-\udfff\ue000\ue001]")


@cache
def participant_texts() -> tuple[po.Message, ...]:
    """The built-in English texts, from the templates and modules that show them, each once."""
    found: dict[str, po.Message] = {}
    for message in (*_of_templates(), *_of_modules()):
        known = found.setdefault(message.key, message)
        if message.plural and not known.plural:
            found[message.key] = message
    return tuple(found.values())


def _of_templates() -> Iterator[po.Message]:
    root, engine = settings.BASE_DIR / "templates", Engine.get_default()
    for path in _files(root, TEMPLATES):
        name = str(path.relative_to(root))
        nodes = engine.get_template(name).nodelist
        for kind in (TranslateNode, BlockTranslateNode):
            for node in nodes.get_nodes_by_type(kind):
                yield replace(_of_node(cast(Translates, node)), note=name)


def _of_node(node: Translates) -> po.Message:
    context = str(node.message_context.var) if node.message_context else ""
    if isinstance(node, TranslateNode):
        # As Variable.resolve looks it up
        return po.Message(node.filter_expression.var.literal.replace("%", "%%"), context=context)
    singular, _ = node.render_token_list(node.singular)
    plural = node.render_token_list(node.plural)[0] if node.plural else ""
    return po.Message(singular, plural=plural, context=context)


def _of_modules() -> Iterator[po.Message]:
    for path in _files(settings.BASE_DIR, MODULES):
        name = str(path.relative_to(settings.BASE_DIR))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in TRANSLATES:
                texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
                source, plural = (*texts, "")[:2]
                yield po.Message(str(source), plural=str(plural), note=name)


def _files(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(path for path in root.glob(pattern) if path.is_file())


def texts_of(study: Study) -> list[po.Message]:
    """Every text with what the study shows for it; without forms where that is the English text."""
    rows = study.texts.values_list("source", "forms")
    own = {source: _texts_in(forms) for source, forms in rows}
    layers = [own, *builtin_layers(study.language)]
    return [
        replace(
            message,
            forms=next((tuple(layer[message.key]) for layer in layers if message.key in layer), ()),
        )
        for message in participant_texts()
    ]


def untranslated(study: Study) -> list[po.Message]:
    """Texts that a study in another language shows in English."""
    if study.language.lower().split("-")[0] == "en":
        return []
    shown = (message for message in texts_of(study) if not message.note.startswith(WORDED_ONCE))
    return [message for message in shown if not message.is_translated]


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Why a text cannot stand in the place of the built-in one; the reason is the end of a sentence."""

    reason: str
    source: str

    def __str__(self) -> str:
        return f"Left out because {self.reason}: {self.source}"


NO_DATE_FORMAT = "it is not a date format like that of the English text"
OPENED = "X-Opened"  # a line of a PO file's header: what the study showed when the file was written


def as_file(study: Study) -> str:
    """For translators: every text, and what stands in the study for each."""
    texts = texts_of(study)
    stamped = {OPENED: stamp({number_of(text): [*text.forms] for text in texts})}
    return po.write(study.language, texts, stamped)


def number_of(message: po.Message) -> str:
    """Names a text in addresses and stamps."""
    return hashlib.sha256(message.key.encode()).hexdigest()[:16]


class TextsChangedError(Exception):
    """Others have changed these texts since the file was written, or the file does not say when it was."""

    def __init__(self, conflicts: Sequence[Conflict], opened: str) -> None:
        super().__init__("\n".join(map(str, conflicts)))
        self.conflicts, self.opened = conflicts, opened


@transaction.atomic
def merge_texts(
    study: Study,
    messages: Iterable[po.Message],
    opened: str | None,
    by: User | None = None,
    shown: str = "",
) -> "Loaded":
    """As `load_texts`, for a file that was written before: texts that only others have changed since stay.

    opened: the line OPENED of its header. shown: stamps of texts that the sender has been shown since, to be overwritten.

    Raises:
        TextsChangedError: others have changed what the file would change.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    known, overwritten = read_stamp(opened), read_stamp(shown) or {}
    own = set(study.texts.values_list("source", flat=True))
    sent: dict[str, po.Message] = {}
    again: list[po.Message] = []
    for message in messages:
        again += [message] if message.key in sent else []
        sent.setdefault(message.key, message)
    merged, lost = [], []
    for text in texts_of(study):
        number, stored = number_of(text), [*text.forms]
        given = sent.pop(text.key, text if known else replace(text, forms=()))
        wanted = [*given.forms] if given.is_translated else []
        # A file that says nothing of the study has seen what the study did not word itself
        base = (
            digest(stored) if known is None and text.key not in own else (known or {}).get(number)
        )
        whose = merge(overwritten.get(number, base), stored, wanted)
        if whose is Merged.LOST:
            lost.append((text, stored, wanted))
        merged.append(text if whose is Merged.STORED else given)
    if lost:
        edits = audit.last_changes((_named(text.key) for text, _s, _w in lost), study)
        conflicts = [
            Conflict(
                number_of(text), text.source, line_of_forms(wanted), line_of_forms(stored),
                edits.get(_named(text.key)), can_keep=False,
            )
            for text, stored, wanted in lost
        ]  # fmt: skip
        raise TextsChangedError(conflicts, stamp({number_of(text): s for text, s, _w in lost}))
    return load_texts(study, [*merged, *sent.values(), *again], by)


def last_change(study: Study, message: po.Message) -> Edit | None:
    name = _named(message.key)
    return audit.last_changes([name], study).get(name)


def _named(key: str) -> str:
    """In the audit trail."""
    return key[:60]


def line_of_forms(forms: Sequence[str]) -> str:
    return " / ".join(forms) or "-"


@dataclass(frozen=True, slots=True)
class Loaded:
    n: int
    problems: tuple[TextProblem, ...]


@transaction.atomic
def set_text(study: Study, message: po.Message, by: User | None = None) -> TextProblem | None:
    """Make this one the study's own; without forms the built-in text is shown again."""
    problem = _problem(_known().get(message.key), message)
    if problem is None:
        rows = study.texts.exclude(source=message.key).values_list("source", "forms")
        others = [po.Message(source, _texts_in(forms)) for source, forms in rows]
        load_texts(study, [*others, message], by)
    return problem


@cache
def _known() -> Mapping[str, po.Message]:
    return {message.key: message for message in participant_texts()}


@transaction.atomic
def load_texts(study: Study, messages: Iterable[po.Message], by: User | None = None) -> Loaded:
    """Make these the study's own texts, in place of those it had; what is built in is not stored again.

    A text that lacks a placeholder, or has other tags than the English one, is left out and named; so is one that comes again.
    """
    known = _known()
    layers = builtin_layers(study.language)
    rows, problems, met = [], [], set()
    for message in messages:
        if not message.is_translated:
            continue
        # The study's row is held: what a file repeats takes no time
        problem = (
            TextProblem("it is a repetition", message.source)
            if message.key in met
            else _problem(known.get(message.key), message)
        )
        met.add(message.key)
        if problem is not None:
            problems.append(problem)
        elif not any(tuple(layer.get(message.key, ())) == message.forms for layer in layers):
            rows.append(StudyText(study=study, source=message.key, forms=list(message.forms)))
    before: Texts = dict(study.texts.values_list("source", "forms"))
    after: Texts = {row.source: row.forms for row in rows}
    changed = [_named(k) for k in {**before, **after} if before.get(k) != after.get(k)]
    study.texts.all().delete()
    StudyText.objects.bulk_create(rows)
    told: dict[str, audit.Detail] = {"changed": ["participant texts", *changed]}
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, reason="", **told)
    return Loaded(len(rows), tuple(problems))


def _problem(built_in: po.Message | None, message: po.Message) -> TextProblem | None:
    if built_in is None:
        return TextProblem("it is not a text of the participants' pages", message.source)
    is_date = built_in.source in DATE_FORMATS
    if is_date and len("".join(message.forms)) > LONGEST_FORMAT:
        return TextProblem(NO_DATE_FORMAT, message.source)
    for form in message.forms:
        if _NO_TEXT.search(form):
            return TextProblem(
                "it contains a character that cannot be part of a text", message.source
            )
        if len(form) > LONGEST_TEXT:
            return TextProblem(f"it has more than {LONGEST_TEXT:,} characters", message.source)
        if not form.strip():
            return TextProblem("it is empty", message.source)
        # A form of the plural may name the number in words: "one abstract"
        needed = [built_in.source, built_in.plural] if built_in.plural else [built_in.source]
        found = _placeholders(form)
        if (
            all(found.keys() != _placeholders(text).keys() for text in needed)
            or max(found.values(), default=0) > MOST_TIMES
            or _LIKE_PLACEHOLDER.search(_PLACEHOLDER.sub("\0", form))
        ):
            return TextProblem(
                "its placeholders differ from those of the English text", message.source
            )
        tags = _tags(form)
        if all(tags != _tags(text) for text in needed):
            return TextProblem("its tags differ from those of the English text", message.source)
        if is_date and not _writes(form, DATE_FORMATS[built_in.source]):
            return TextProblem(NO_DATE_FORMAT, message.source)
    return None


def _placeholders(text: str) -> Counter[str]:
    return Counter(found for found in _PLACEHOLDER.findall(text) if found != "%%")


def _writes(form: str, day: date) -> bool:
    """True if it is a format that writes such dates: a date alone has no hours."""
    try:
        return bool(dateformat.format(day, form).strip())
    except (TypeError, ValueError):
        return False


class Unformatted(str):
    """A text without placeholders, also where Django fills values in (as in a form's errors): a sign in it is a sign."""

    __slots__ = ()

    def __mod__(self, values: object) -> str:
        return str(self)


def usable(texts: Texts) -> Texts:
    """Texts by source as pages show them, without those that cannot stand in the place of the built-in ones.

    Whatever was stored, no page fails by it: placeholders of the built-in text are filled in, and everything else is text.
    """
    known = _known()
    return {
        source: [_as_shown(form, known[source]) for form in forms]
        for source, forms in texts.items()
        if not _stored_problem(source, forms)
    }


def _stored_problem(source: str, forms: Any) -> TextProblem | None:
    built_in = _known().get(source)
    return _problem(built_in, replace(built_in or po.Message(source), forms=_texts_in(forms)))


def _texts_in(forms: Any) -> tuple[str, ...]:
    """The texts in JSON of which nobody may have made sure that it is a list of texts; an empty text where it is none."""
    is_list = isinstance(forms, list | tuple) and bool(forms)
    return tuple(forms) if is_list and all(isinstance(form, str) for form in forms) else ("",)


def _as_shown(form: str, built_in: po.Message) -> str:
    """As templates and forms fill it in, one line where the built-in text is."""
    if "\n" not in built_in.source:
        form = " ".join(form.splitlines())
    if built_in.key in _in_html():
        form = _QUOTE.sub(lambda found: "&quot;" if found[0] == '"' else found[0], form)
    found = _placeholders(built_in.source) + _placeholders(built_in.plural)
    if not any(name.startswith("%") for name in found):
        return Unformatted(form.replace("%%", "%"))
    kept = {"%%", *found}
    return _SIGN.sub(lambda sign: sign[0] if sign[0] in kept else f"%{sign[0]}", form)


@cache
def _in_html() -> frozenset[str]:
    """Texts that stand in HTML as they are, perhaps in an attribute, and nowhere else."""
    in_templates = {text.key for text in _of_templates() if text.note.endswith(".html")}
    return frozenset(in_templates - {text.key for text in _of_modules()} - DATE_FORMATS.keys())


def unusable_texts(study: Study) -> list[TextProblem]:
    """The study's own texts in whose place pages show the built-in ones."""
    rows = study.texts.order_by("source").values_list("source", "forms")
    found = (_stored_problem(source, forms) for source, forms in rows)
    return [problem for problem in found if problem is not None]


def _tags(text: str) -> Counter[str]:
    tags = Counter(_TAG.findall(text))
    return tags + Counter({"<": _TAG.sub("", text).count("<")})


# Of a study's row, what visits change that come to nothing: else each of them would have all pages rendered anew
OF_VISITS = {"unfilled_links", "unfilled_link_at", "damaged_links", "damaged_link_at", "turned_away_at"}  # fmt: skip


def version_of(study: Study) -> str:
    """Names all that pages show of the study: its row, and its own words."""
    fields = [
        field.attname for field in study._meta.concrete_fields if field.attname not in OF_VISITS
    ]
    values = [getattr(study, name) for name in fields]
    return repr([values, newest_text(study)])
