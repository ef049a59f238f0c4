"""Values of columns: each is read alike from both kinds of database, and one that the other cannot keep is refused."""

from typing import Any

import pytest
from django.apps import apps
from django.db import models

from lib.backup.columns import Form, form
from lib.backup.manifest import BackupError
from lib.backup.rows import Table, fields

KINDS: dict[str, Any] = {
    "small": models.PositiveSmallIntegerField(),
    "yes": models.BooleanField(),
    "share": models.FloatField(),
    "pay": models.DecimalField(max_digits=7, decimal_places=2),
    "name": models.CharField(max_length=5),
    "text": models.TextField(),
    "day": models.DateField(),
    "at": models.DateTimeField(),
    "key": models.UUIDField(),
    "draw": models.BinaryField(),
    "more": models.JSONField(),
}

# How SQLite has a value, how PostgreSQL's COPY writes it, and how COPY takes it
SAME: list[tuple[str, Any, bytes, str]] = [
    ("small", 32767, b"32767", "32767"),
    ("yes", 1, b"t", "t"),
    ("yes", 0, b"f", "f"),
    ("share", 0.1 + 0.2, b"0.30000000000000004", "0.30000000000000004"),
    ("share", 1e300, b"1e+300", "1e+300"),
    ("share", -0.0, b"-0", "0.0"),
    ("share", float("inf"), b"Infinity", "inf"),
    ("pay", 4.5, b"4.50", "4.50"),
    ("pay", 12345.67, b"12345.67", "12345.67"),
    ("pay", 3, b"3.00", "3.00"),
    ("name", b"\xc3\xa9t\xc3\xa9", b"\xc3\xa9t\xc3\xa9", "été"),
    ("text", b"a\tb\nc\\d\r\\N", b"a\\tb\\nc\\\\d\\r\\\\N", "a\\tb\\nc\\\\d\\r\\\\N"),
    ("text", b"", b"", ""),
    ("day", b"2026-02-28", b"2026-02-28", "2026-02-28"),
    (
        "at",
        b"2026-03-29 00:59:59.000001",
        b"2026-03-29 02:59:59.000001+02",
        "2026-03-29 00:59:59.000001+00",
    ),
    ("at", b"2026-03-29 00:59:59.500000", b"2026-03-29 00:59:59.5+00", "2026-03-29 00:59:59.500000+00"),
    ("at", b"2026-03-29 00:59:59", b"2026-03-28 20:29:59-04:30", "2026-03-29 00:59:59+00"),
    ("key", b"0f" * 16, b"0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f", "0f" * 16),
    ("draw", b"\x00\\\xff", b"\\\\x005cff", "\\\\x005cff"),
    ("more", b'{"b": 1.0, "a": [true, null]}', b'{"a": [true, null], "b": 1.0}', '{"a": [true, null], "b": 1.0}'),
    ("more", b"null", b"null", "null"),
    ("more", b'"\\u00e9 \\ud83d\\ude00"', '"é 😀"'.encode(), '"\\\\u00e9 \\\\ud83d\\\\ude00"'),
    ("more", b"123456789012345678901234567890", b"123456789012345678901234567890", "123456789012345678901234567890"),
    ("more", b"[1e16, 2.5e-7]", b"[10000000000000000.0, 0.00000025]", "[10000000000000000.0, 2.5e-07]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "stored", "copied", "taken"), SAME)
def test_a_value_is_read_alike_from_both_and_written_as_it_was(
    kind: str, stored: Any, copied: bytes, taken: str
) -> None:
    how = form(KINDS[kind])
    [text] = fields(copied + b"\n")
    value = how.from_sqlite(stored)
    assert how.from_copy(text) == value
    assert repr(how.from_copy(text)) == repr(value), "repr is what is compared"
    assert how.to_copy(value) == taken
    [again] = fields(how.to_copy(value).encode())
    assert how.from_copy(again) == value
    kept = how.to_sqlite(value)
    assert how.from_sqlite(_as_stored(kind, kept)) == value


def _as_stored(kind: str, kept: Any) -> Any:
    """As SQLite gives it back; a decimal number is stored as a real one."""
    if kind == "pay":
        return float(kept)
    return kept.encode() if isinstance(kept, str) else kept


# A function of the form, the value, and words of the refusal
REFUSED: list[tuple[str, str, Any, str]] = [
    ("small", "to_copy", 32768, "not between 0 and 32767"),
    ("small", "to_copy", -1, "not between"),
    ("small", "from_sqlite", b"many", "not a whole number"),
    ("small", "from_sqlite", 1.5, "not a whole number"),
    ("yes", "from_sqlite", 2, "neither true nor false"),
    ("share", "to_sqlite", float("nan"), "NaN"),
    ("share", "from_sqlite", b"much", "could not convert"),
    ("pay", "from_copy", "NaN", "not a decimal number"),
    ("pay", "from_sqlite", b"4,50", "argument must be"),
    ("name", "to_copy", "six!!!", "6 characters, but the column takes 5"),
    ("name", "to_copy", "a\x00b", "NUL"),
    ("text", "to_copy", "a\x00b", "NUL"),
    ("text", "from_sqlite", b"\xff\xfe", "decode"),
    ("text", "from_sqlite", 5, "not text"),
    ("day", "from_copy", "0044-03-15 BC", "not a date"),
    ("at", "from_copy", "infinity", "Invalid isoformat"),
    ("key", "from_sqlite", b"0f", "not a UUID"),
    ("draw", "from_copy", "\\000", "hexadecimal"),
    ("draw", "from_sqlite", 5, "not binary"),
    ("more", "from_sqlite", b'{"a": NaN}', "NaN is not a number"),
    ("more", "from_sqlite", b"1e999", "not a number"),
    ("more", "from_sqlite", b"{'a': 1}", "Expecting"),
    ("more", "to_copy", '["\\u0000"]', "U+0000"),
    ("more", "to_copy", '["\\ud83d"]', "U+d83d"),
    ("more", "to_copy", '["\\ude00 \\ud83d\\ude00"]', "U+de00"),
]


@pytest.mark.parametrize(("kind", "way", "value", "words"), REFUSED)
def test_a_value_that_cannot_be_kept_is_refused_with_its_row_and_column(
    kind: str, way: str, value: Any, words: str
) -> None:
    whole = Form(int, int, int, str)
    table = Table("lab_row", {"id": whole, kind: form(KINDS[kind])}, counts=True)
    with pytest.raises(BackupError) as refused:
        list(table.converted([(1, None), (2, value)], way))
    said = str(refused.value)
    assert said.startswith(f"lab_row, id 2, column {kind}: ")
    assert words in said


def test_text_that_names_a_code_of_a_character_is_no_such_character() -> None:
    r"""A backslash that is escaped, and `u0000` after it."""
    assert form(KINDS["more"]).to_copy('["\\\\u0000", "\\\\ud83d"]').count("u0000") == 1


def test_every_column_of_every_model_has_a_form() -> None:
    found = [
        form(field)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
    ]
    assert len(found) > 900
    with pytest.raises(LookupError):
        form(models.DurationField())
