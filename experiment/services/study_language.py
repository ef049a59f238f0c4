"""The language of a study's pages: its own texts, then the translation in locale/, then English.

Texts are data: a study can reword each, in any language, also one that locale/ lacks.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.utils import translation
from django.utils.translation import trans_real

from experiment.models import Study, StudyText
from lib import po
from lib.prepared import Prepared

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
    layers = [own or {}, *builtin_layers(language)]
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
    """The words of the study, whose newest text this is."""
    if newest is None:
        return {}
    return dict(StudyText.objects.filter(study=study_id).values_list("source", "forms"))


def builtin_layers(language: str) -> list[Texts]:
    """Translations that come with the site: of pt-BR, then of pt."""
    tag = language.lower()
    return [builtin_texts(name) for name in dict.fromkeys((tag, tag.split("-")[0]))]


@cache
def builtin_texts(language: str) -> Texts:
    """locale/LANGUAGE.po; empty where there is none."""
    files = {path.stem.lower(): path for path in (settings.BASE_DIR / "locale").glob("*.po")}
    if language not in files:
        return {}
    messages = po.read(files[language].read_text(encoding="utf-8"))
    return {message.key: message.forms for message in messages if message.is_translated}
