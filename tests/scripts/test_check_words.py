"""scripts/check_words.py: each rule of the style sheet finds what breaks it, and nothing in good text."""

from pathlib import Path

import pytest

from scripts.check_words import findings

GOOD = """Participants who leave may return within a day. You learn at the end which choices were right.
The value is not a number. Each participant judges 6 trials. There is no column of this name left; its ID is shown.

| `id` | the ID, 3 in total |

```
what is code is not read.
```
"""


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("subject-clause", "Who leaves may return."),
        ("subject-clause", "Whether it was right you learn at the end."),
        ("bare-who", "The address for who finishes."),
        ("inverted", "Were it open, people could come."),
        ("no-noun", "The value is no number."),
        ("rate", "There are 6 trials a participant."),
        ("former-latter", "The former is larger."),
        ("in-all", "There are 6 in all."),
        ("of-own", "It is in a table of its own."),
        ("homespun", "Please mend the line."),
        ("beside", "People are shown beside models."),
        ("id", "Their ids are erased."),
        ("term", "The withdrawal code is shown."),
        ("length", "It is " + "long or short, " * 14 + "they say."),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_found_where_it_is_written(rule: str, text: str) -> None:
    page = f"# Title\n\nA good sentence\nof two lines.\n\n{text}\n"
    found = list(findings(Path("docs/page.md"), page))
    assert [line.split(": ")[:2] for line in found] == [["docs/page.md:6", f"words.{rule}"]]


def test_a_docstring_begins_with_its_subject() -> None:
    source = 'def run() -> None:\n    """What it runs."""\n\n\ndef is_over() -> bool:\n    """True if it is over."""\n'
    (found,) = findings(Path("lib/a.py"), source)
    assert found.startswith("lib/a.py:2: words.docstring: “What it runs.”")


def test_the_name_of_a_test_begins_with_its_subject_and_its_texts_are_not_read() -> None:
    source = 'def test_what_is_wrong_is_told() -> None:\n    said = _("Their ids")\n'
    (found,) = findings(Path("tests/test_a.py"), source)
    assert found.startswith("tests/test_a.py:1: words.name: “test_what_is_wrong_is_told”")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("templates/a.html", '<p class="ids">\n{% translate "Your ids" %} {{ ids }}</p>'),
        ("templates/a.html", "\n{% blocktranslate %}Your\n<b>ids</b>{% endblocktranslate %}"),
        ("templates/a.md", "{% comment %}ids{% endcomment %}\n| `ids` | {{ ids }} of ids |"),
        ("a/b.py", 'ids = "ids"\nhelp = _("Your ids")'),
        ("a/b.py", '\nparser.add_argument("ids", help=f"{ids} of ids")'),
        ("a/b.py", '\nname = CharField(help_text=f"{ids} of ids")'),
        ("a/b.py", '\nself.fields["a"].help_text = "Your ids"'),
        ("a/b.py", '\nmessages.info(request, "Your ids are kept.")'),
        ("a/words.py", '\nsaid = f"{n} of the ids are kept"'),
        ("a/b.py", '\nraise NotEnough(ids, "Their ids are needed.")'),
        ("a/b.py", '\nraise CommandError(f"{ids}: two ids differ.") from error'),
    ],
)
def test_text_is_read_alike_wherever_a_person_meets_it(path: str, source: str) -> None:
    (found,) = findings(Path(path), source)
    assert found.startswith(f"{path}:")
    assert ": words.id: " in found


def test_good_text_and_code_have_no_finding() -> None:
    assert list(findings(Path("docs/page.md"), GOOD)) == []
