"""PO files as translators' tools write them."""

import pytest

from lib.po import Message, PoError, read, write

FILE = r"""# A comment
msgid ""
msgstr "Language: de\n"

#: page.html:3
#, python-format
msgctxt "verb"
msgid ""
"Read\n"
"\"%(title)s\""
msgstr "Lesen: „%(title)s“"
#, fuzzy
msgid "guessed"
msgstr "geraten"

msgid "%(n)s abstract"
msgid_plural "%(n)s abstracts"
msgstr[0] "ein Abstract"
msgstr[1] "%(n)s Abstracts"
#~ msgid "gone"
"""


def test_contexts_plurals_and_long_texts_are_read_and_fuzzy_ones_are_not_trusted() -> None:
    assert list(read(FILE)) == [
        Message('Read\n"%(title)s"', ("Lesen: „%(title)s“",), context="verb"),
        Message("guessed"),
        Message("%(n)s abstract", ("ein Abstract", "%(n)s Abstracts"), "%(n)s abstracts"),
    ]


def test_written_messages_are_read_back() -> None:
    messages = [
        Message("one", ("eins",)),
        Message('tab\tquote" back\\slash\nnew', ("x\n\ny",), context="c"),
        Message("%(n)s way", ("a", "b", "c"), "%(n)s ways"),
        Message("empty"),
    ]
    again = list(read(write("de", messages)))
    assert again[:3] == messages[:3]
    assert not again[3].is_translated


@pytest.mark.parametrize("text", ['msgid "a"\nb,c,d', "\n/etc/passwd", "\nside: Seite"])
def test_a_line_of_something_else_is_named(text: str) -> None:
    with pytest.raises(PoError, match="line 2"):
        list(read(text))


def test_a_text_that_is_a_files_path_is_not_opened() -> None:
    with pytest.raises(PoError, match="line 1 does not belong to a PO file"):
        list(read(__file__))
