"""Texts that a field was not meant for."""

import random

HUGE = "9" * 400
TEXTS = (
    *("", " ", "\t", "\n", "\r", "\r\n", "\x00", "A\x00", "\x1b[2J", "\x7f", "\x85", "\u2028"),
    *(
        "\ufeff",
        "\ufffd",
        "\u202eabc",
        "\u200b",
        "\u0301" * 50,
        "ﷺ",
        "👩🏽‍🔬",
        "\U0010ffff",
        "\ue000csrf_token\ue001",
    ),
    *(
        "0",
        "-1",
        "+1",
        "1.5",
        "1e400",
        "1e999999999",
        "NaN",
        "-Infinity",
        "0x10",
        "½",
        "\uff13\uff14",
        "\uff11",
    ),
    *("2147483648", "9223372036854775808", "-9223372036854775809", HUGE, "1_000", "1,000", "٣"),
    *(
        "true",
        "null",
        "None",
        "undefined",
        "[]",
        "{}",
        "[[a, b]]",
        "[[a, b",
        "a, b]]",
        "[[ , ]]",
        "[[a, b, c]]",
    ),
    *(
        "'",
        '"',
        '""',
        "`",
        "\\",
        "%",
        "%s",
        "%(n)s",
        "{0}",
        "{{ x }}",
        "{% now %}",
        "${7*7}",
        "$(id)",
    ),
    *(
        "<script>alert(1)</script>",
        "<b>",
        "&amp;",
        "--",
        "';--",
        "' OR 1=1",
        "../../etc/passwd",
        "=1+1",
        "@SUM(A1)",
    ),
    *(
        "A",
        "B",
        "a",
        "AB",
        "yes",
        "no",
        "on",
        "1",
        "2026-02-30",
        "0000-00-00",
        "9999-12-31",
        "99999-01-01",
        "2026-03-29T02:30:00",
    ),
    *(
        "00000000-0000-0000-0000-000000000000",
        "{00000000000000000000000000000000}",
        "urn:uuid:0",
        "zz-ZZ",
    ),
    *(
        "http://[::1",
        "https://",
        "javascript:alert(1)",
        "//evil.example",
        "https://prolific.com\\@evil.example/",
        "ftp://x",
    ),
    *(
        "10.1000/x",
        "https://doi.org/10.1000/a",
        "human",
        "machine",
        "catch",
        "brainbench-human-001",
    ),
)
# Half a surrogate pair: json can say it, UTF-8 cannot
LONE = "\ud800"


def hostile(rng: random.Random) -> str:
    """One of them, or a long one."""
    if rng.random() < 0.05:
        return rng.choice(("x", "<", "\n", "👍", "[[", "(", "\\", "0", "\u0301")) * rng.choice(
            (300, 6_000, 70_000)
        )
    return rng.choice(TEXTS)


def altered(rng: random.Random, text: str) -> str:
    """The text with one place changed."""
    at = rng.randint(0, len(text))
    match rng.randrange(5):
        case 0:
            return text[:at] + hostile(rng) + text[at:]
        case 1:
            return text[:at] + text[at + rng.randint(1, 8) :]
        case 2:
            return text + text
        case 3:
            return text.swapcase()
    return hostile(rng)
