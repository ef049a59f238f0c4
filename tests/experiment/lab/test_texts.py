"""How pages show two texts: every word is escaped, and what was left out is named."""

from experiment.domain.markup import parse
from experiment.domain.markup_between import Piece
from experiment.templatetags.texts import difference, wordings


def test_an_edit_shows_what_was_removed_and_what_was_added() -> None:
    pieces = (Piece("same", "a <b> "), Piece("removed", "x"), Piece("added", "&"), Piece("gap"))
    shown = difference(pieces)
    assert 'translate="no" dir="auto">a &lt;b&gt; <del>x</del><ins>&amp;</ins> <span' in shown
    assert 'aria-label="unchanged words left out"' in shown


def test_both_wordings_of_an_alternation_are_shown() -> None:
    shown = wordings(parse("Rats [[<slept>, ran]].").segments, name="it")
    assert '<p class="difference notranslate" translate="no" id="it" dir="auto">Rats <span' in shown
    assert '<span class="wording-text">&lt;slept&gt;</span>' in shown
    assert '<span class="wording-text">ran</span></span>.</p>' in shown
