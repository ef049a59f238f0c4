"""The trials of a study with advice that the other chapters have: people's own answers."""

from analysis.codec import present
from analysis.report.chapter import SourceResults
from analysis.report.chapters.advised.results import Advised

RULE = "A trial with advice counts with its first answer, and trials whose advice came before any answer are left out."


def own_answers(source: SourceResults) -> str:
    """The rule where a trial had advice, else nothing."""
    found = source.results.get(Advised)
    return RULE if found and present(found.advised_accuracy) else ""
