"""Texts of judges, made by rules, each with what it must be read as: by construction, without the reader's help."""

# ruff: noqa: RUF001 (signs that look alike are the point)

from collections.abc import Iterator
from itertools import product

SIGNS = ("-", "\u2212", "\u2013", "\uff0d", "\ufe63")
AROUND = (
    "{}",
    " {}",
    "{}\n",
    "\u00a0{}\t",
    "“{}”",
    '"{}"',
    "'{}'",
    "*{}*",
    "**{}**",
    "`{}`",
    "{}.",
)
# As digits, and what they are worth by BioScore
SAID = {
    "3": 3,
    "3.0": 3,
    "2.50": 2.5,
    "2": 2,
    "1.5": 1.5,
    "1": 1,
    "0.5": 0.5,
    "0": 0,
    "7": 3,
    "3.5": 3,
}
WORDS = (
    "1. The response names the drug. 2. It is complete. Final: {}",
    "Score: {}", "{} points", "{}/3", "{} / 3", "{} out of 3", "{}%", "{} or 1", "{}-3", "{}–3", "{} - 3",
    "between {} and 3", "{}, 1", "{};1", "{} 1", "{}\n1", "[{}]", "({})", "{})", "- {}", "* {}", "# {}", "{}?",
    "≈{}", "~{}", ">{}", "={}", "{}!", "{}e0", "{}E1", "{}..", "--{}", "+-{}", "$ {}", "{}°", "I give {}.",
    "<points>{}</points>", "\\boxed{{{}}}", "**Score:** {}", "{}\u200b", "\ufeff{}", "{}\x00", "“{}", "{}”", "**{}*", "''{}''",
    "{}pts", "−{}−", "{}**", "{}_0", "0x{}", "{}j", "{}f", "{},", ",{}", "N{}",
)  # fmt: skip
OBJECTS = (
    '{{"points": {}}}', '{{"points":{}}}', ' {{ "points" :\n {} }} ', '```json\n{{"points": {}}}\n```', '```\n{{"points": {}}}\n```',
    '{{"points": {}, "why": "It names the drug."}}', '{{"why": {{"drug": ["named"]}}, "points": {}}}', '{{"points": {}}}.',
    '{{"points": {}}}\n\nThe response names the drug.', 'Here it is: {{"points": {}}}', '```json\n{{"points": {}}}\n```\nas asked',
    '[{{"points": {}}}]', '{{"points": {}e0}}', '```json\n```json\n{{"points": {}}}\n```\n```',
)  # fmt: skip
NO_OBJECTS = (
    '{{"score": {}}}', '{{"points": {}, "points": 1}}', '{{"points": {}, "level": 1}}', '{{"points": "{}"}}', '{{"points": [{}]}}',
    '{{"points": {{"points": {}}}}}', '{{"points": {}}} {{"points": 1}}', "{{'points': {}}}", '{{"points": {}', '{{"Points": {}}}',
    '{{"points": +{}}}', '{{"points": {},}}', '"points": {}', '{{{}}}', '{{"points": {}}} of 3', '1. It is right. {{"points": {}}}',
    '{{"points": {}, "why": "2 of 3"}}', '{{"points": {}, "before": {{"points": 1}}}}', '{{"points": {}, "was": {{"points": true}}}}',
)  # fmt: skip
NEITHER = (
    "", " ", ".", "-", "+", "**", '""', "nan", "NaN", "-NaN", "inf", "Infinity", "-inf", "1e0", "1e-1", "three", "Three.", "minus one",
    "None", "null", "true", "{}", "[]", "```", "``````", "½", "Ⅲ", "٣", "３", "²", "³", "३", "1,000", "3,000", "2,3", "1,2,3", "3.0.0", "1.2.3",
    "2–3", "2 to 3", "2, 3", "1; 2", "3 3", '{"points": NaN}', '{"points": Infinity}', '{"points": null}', '{"points": true}',
    '{"points": -}', '{"points": 03}', '{"points": .5}', '{"points": −1}', '{"points": }', '{"points"}', "{" * 150, "[" * 200,
    "3" + " " * 300 + "1", "9" * 300, "I do not know", "abstained", "N/A", "-1 (abstained)", "- 1", "−−1", "2,0", "—1", "‐1", "1‑", "⁻1",
)  # fmt: skip


def hostile() -> Iterator[tuple[str, float | None]]:
    """(text, points or None) by BioScore; several hundreds, each text once."""
    for around, (said, points) in product(AROUND, SAID.items()):
        yield around.format(said), points
    for sign, one in product(SIGNS, ("1", "1.0", "1.")):
        yield sign + one, -1
    for sign in SIGNS:
        yield f"**{sign}1**", -1
        yield f"{sign}2", -2
        yield f"{sign}0.5", -0.5
        yield f"{sign}0", 0
    for words, said in product(WORDS, ("3", "2.5", "0", "-1")):
        yield words.format(said), None
    for shape, (said, points) in product(OBJECTS, (*SAID.items(), ("-1", -1), ("-1.0", -1))):
        yield shape.format(said), points
    for shape, said in product(NO_OBJECTS, ("3", "0.5")):
        yield shape.format(said), None
    for text in ("2,5", "1,5", "0,5", "2,50"):
        yield text, float(text.replace(",", "."))
    for text in NEITHER:
        yield text, None
