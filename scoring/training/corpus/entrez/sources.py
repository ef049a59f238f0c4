"""What is asked for: journals of a list, each with a keyword where it is a general one, or a query."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from scoring.training.corpus.document import CorpusError

BRAINGPT = "braingpt"  # names the list of this folder
JOURNALS = Path(__file__).parents[1] / "journals.txt"


@dataclass(frozen=True, slots=True)
class Source:
    """A journal or a query."""

    name: str
    term: str  # in the language of Entrez, without dates
    slug: str  # names the folder of its documents


def of_journal(name: str, about: str = "") -> Source:
    """A journal's articles, all or those about something.

    >>> of_journal("J Neural Transm (Vienna)").slug
    'j-neural-transm-vienna'
    """
    return Source(name, f'"{name}"[Journal]' + (f" AND ({about})" if about else ""), _slug(name))


def of_query(query: str) -> Source:
    """A search; its signs are part of what it means, so that words alone do not name its folder."""
    name = " ".join(query.split())
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return Source(name, f"({name})", f"{_slug(name)[:40]}-{digest}".strip("-"))


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def of_journals(path: Path) -> tuple[Source, ...]:
    """One journal on a line, by its title or NLM's abbreviation; after a tab, what its articles must be about.

    What follows a # is a comment.

    Raises:
        CorpusError: the file cannot be read, is empty, or a line is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} is no list of journals that can be read ({error}).") from error
    found: dict[str, Source] = {}
    for number, line in enumerate(lines, start=1):
        name, *more = (" ".join(part.split()) for part in line.partition("#")[0].split("\t"))
        keywords = [keyword for keyword in more if keyword]
        if not name and not keywords:
            continue
        if not _slug(name) or '"' in name or len(keywords) > 1:
            raise CorpusError(
                f"{path.name}, line {number}: write a journal's name and, after a tab, one keyword."
            )
        source = of_journal(name, *keywords)
        if source.slug in found:
            raise CorpusError(f"{path.name}, line {number}: {name} is there twice.")
        found[source.slug] = source
    if not found:
        raise CorpusError(f"{path.name} names no journal.")
    return tuple(found.values())
