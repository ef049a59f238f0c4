from pathlib import Path

import pytest

from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.entrez.sources import JOURNALS, Source, of_journals, of_query


def test_a_line_is_a_journal_and_after_a_tab_what_its_articles_are_about(tmp_path: Path):
    path = tmp_path / "journals.txt"
    path.write_text("# ours\n\nNature\tneuroscience  # a general one\nJ  Sleep\n")
    assert of_journals(path) == (
        Source("Nature", '"Nature"[Journal] AND (neuroscience)', "nature"),
        Source("J Sleep", '"J Sleep"[Journal]', "j-sleep"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# none\n", "journals.txt names no journal"),
        ("Nature\n\tneuroscience\n", "line 2: write a journal's name"),
        ('Nature\n"Brain"[Journal]\n', "line 2: write a journal's name"),
        ("Nature\tmice\tmen\n", "line 1: write a journal's name"),
        ("Brain\nbrain\n", "line 2: brain is there twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, expected: str):
    path = tmp_path / "journals.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=expected):
        of_journals(path)


def test_the_list_of_braingpt_is_filtered_where_a_journal_is_general():
    sources = of_journals(JOURNALS)
    filtered = [source.name for source in sources if "AND" in source.term]
    assert len(sources) == 107
    assert filtered == ["Nature", "Cell", "Cell Rep", "Elife", "Sci Adv", "Nat Commun", "Proc Natl Acad Sci U S A", "EMBO J"]  # fmt: skip


def test_queries_that_differ_in_a_sign_have_folders_of_their_own():
    slugs = {of_query(query).slug for query in ("sleep AND mice", "sleep and mice", "(sleep) AND mice", "眠り")}  # fmt: skip
    assert len(slugs) == 4
    assert all(slug.replace("-", "").isalnum() and slug.isascii() for slug in slugs)
