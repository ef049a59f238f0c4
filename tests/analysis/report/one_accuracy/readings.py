"""Where a report, a page, a table or a file says how often a model was right, found by the names beside the numbers.

A place that says something else in a like word is named in `OTHERS`; every other place is read, also one that is new.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from lxml import html

# Of people, of some of the texts, of a guess, or of a model that is joined with others
OTHERS = {
    "expected_accuracy", "random_accuracy", "human_accuracy", "humans_mean_accuracy", "selector_accuracy", "left_out_accuracy",
    "accuracy_method", "accuracy_low", "accuracy_high", "accuracy_original_a", "accuracy_original_b", "models_mean_accuracy",
    "within_item_accuracy",
}  # fmt: skip
OTHER_PARTS = {"bins", "by_order", "consistent", "people", "humans", "patterns", "conditions", "isolated", "iso", "swapped"}  # fmt: skip
OTHER_CONDITIONS = {"isolated", "swapped", "single sentences", "swapped results"}
# Rows of a part of the texts, or in which a person decides a share of the trials
PARTIAL = ("seed", "low")
NAMED_BY = ("name", "team", "model", "who", "row", "display_name", "language_model", "base_display_name")  # fmt: skip
# Words that stand above a column of accuracies
HEADS = re.compile(r"^(?:(?:model.s )?accuracy.*|right|scored|asked|before|after|unreadable as wrong)$", re.IGNORECASE)  # fmt: skip
JOINED = {"Otherwise decided by", "Decided by"}  # heads of tables in which a person decides a part
PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class Reading:
    """`half`: of the last printed digit, or what rounding leaves."""

    place: str
    model: str
    value: float
    half: float = 1e-9


@dataclass(frozen=True)
class Names:
    """called: what a model is called anywhere -> its name in results. asked: of a model that was scored, its name as one that was
    asked. base: of a tuned or chat model, the one it was made from."""

    called: Mapping[str, str]
    asked: Mapping[str, str]
    base: Mapping[str, str]

    def of_column(self, model: str, column: str) -> str:
        """The model whose accuracy stands in a column or under a key of the row, or part, that names `model`."""
        words = set(re.split(r"[\W_]+", column.lower()))
        if words & {"asked", "choice"}:
            return self.asked.get(model, model)
        if "scored" in words:
            return next((name for name, asked in self.asked.items() if asked == model), model)
        return self.base[model] if words & {"before", "base"} else model


def printed(place: str, model: str, number: str) -> Reading:
    """The reading of a percentage as it is printed."""
    digits = len(number.partition(".")[2])
    return Reading(place, model, float(number) / 100, 0.5 * 10.0 ** -(digits + 2) + 1e-9)


def in_json(found: Any, names: Names, n_items: int, place: str = "", model: str = "") -> Iterator[Reading]:  # fmt: skip
    """The readings of all test cases, n_items: a part that says that it is of fewer or more is left out."""
    if isinstance(found, list):
        for n, one in enumerate(found):
            yield from in_json(one, names, n_items, f"{place}[{n}]", model)
    if not isinstance(found, dict) or found.get("condition", "full") != "full":
        return
    model = _named(found, names, model)
    is_joined = found.get("policy") and found.get("share") != 0.0
    is_partial = found.get("n", found.get("n_items", n_items)) not in (n_items, 2 * n_items)
    for key, value in found.items():
        is_share = key.endswith("accuracy") or key in ("asked", "scored", "base_accuracy")
        here = f"{place}.{key}"
        if isinstance(value, float) and is_share and key not in OTHERS:
            if key == "best_member_accuracy":
                if found["best_member"] in names.called:
                    yield Reading(here, names.called[found["best_member"]], value)
            elif model and not is_joined and not is_partial:
                own = names.of_column(model, f"{place.rpartition('.')[2]} {key}")
                yield Reading(here, own, value)
        elif key not in OTHER_PARTS:
            yield from in_json(value, names, n_items, here, model)


def _named(found: Mapping[str, Any], names: Names, model: str) -> str:
    """The model of a part of results: the nearest around it that is named; "" for a team of several."""
    given = found.get("team", found.get("name", found.get("model")))
    label = given.get("label") if isinstance(given, dict) else given
    return names.called.get(label, "") if isinstance(label, str) else model


def in_table(table: pd.DataFrame, names: Names, n_items: int, place: str) -> Iterator[Reading]:
    """Columns of accuracies, and of points, in rows that name a model and are of all test cases, or of answers in both orders."""
    if "policy" in table:
        share = next(column for column in ("share", "share_asked") if column in table)
        table = table[table[share] == 0]
    for column in ("n_items", "n"):
        if column in table:
            table = table[table[column].isin([n_items, 2 * n_items])]
    naming = [column for column in NAMED_BY if column in table][:1]
    if naming and not any(column in table for column in PARTIAL):
        for (label, *method), rows in table.groupby(naming + ["method"] * ("method" in table), sort=False):  # fmt: skip
            if label in names.called:
                model = names.of_column(names.called[label], " ".join(method))
                yield from _in_rows(rows, model, names, place)
    if "best_member_accuracy" in table:
        for best, value in zip(table["best_member"], table["best_member_accuracy"], strict=True):
            if best in names.called:
                yield Reading(f"{place}.best_member_accuracy", names.called[best], value)


def _in_rows(rows: pd.DataFrame, model: str, names: Names, place: str) -> Iterator[Reading]:
    for column in set(rows) - OTHERS - {"best_member_accuracy"}:
        own = names.of_column(model, column)
        if column.startswith("points"):
            yield Reading(f"{place}.{column}", own, float(rows[column].mean()))
        elif column.startswith("accuracy") or column.endswith("accuracy"):
            yield from (Reading(f"{place}.{column}", own, x) for x in rows[column].dropna())


def in_page(text: str, names: Names, n_items: int, place: str) -> Iterator[Reading]:
    """Every table of a page that has a column of accuracies and names models at the start of its rows."""
    for table in html.fromstring(text).iter("table"):
        heads = [_words(cell) for cell in table.xpath("(.//tr)[1]/*")]
        if set(heads) & JOINED:
            continue
        about = table.xpath("string(caption)").strip() or place
        for row in table.xpath(".//tr[td]"):
            cells = [_words(cell) for cell in row]
            model = names.called.get(_first(cells[0], names) or _first(cells[1], names))
            ns = [cell for head, cell in zip(heads, cells, strict=False) if head in ("Test cases", "n")]  # fmt: skip
            if model is None or any(n.isdigit() and int(n) not in (n_items, 2 * n_items) for n in ns):  # fmt: skip
                continue
            for head, cell in zip(heads, cells, strict=False):
                number = PERCENT.match(cell)
                if number and HEADS.match(head):
                    own = names.of_column(model, head)
                    yield printed(f"{place}: {about}, {head}", own, number.group(1))


def _words(cell: Any) -> str:
    return " ".join(cell.text_content().split())


def _first(cell: str, names: Names) -> str:
    """The longest name that the cell begins with, as a word."""
    fits = (name for name in names.called if re.match(rf"{re.escape(name)}(?![\w/(]| [(+])", cell))
    return max(fits, key=len, default="")


def in_figure(svg: str, names: Names, place: str) -> Iterator[Reading]:
    """Marks that say their values, as those of Vega do: a model's dot, bar or text."""
    for label in html.fromstring(svg.encode()).xpath("//@aria-label"):
        said = dict(part.partition(": ")[::2] for part in label.split("; "))
        models = {names.called[value] for value in said.values() if value in names.called}
        number = PERCENT.fullmatch(said.get("accuracy", ""))
        if len(models) == 1 and number and said.get("condition") not in OTHER_CONDITIONS:
            about = " ".join(said.get(word, "") for word in ("when", "method"))
            yield printed(place, names.of_column(models.pop(), about), number.group(1))


def in_lines(text: str, names: Names, place: str) -> Iterator[Reading]:
    """A terminal's tables: a line that names a model, and the first share after that, of four decimals or in percent."""
    for line in text.splitlines():
        found = re.match(
            r"\s*(?:\d+  +)?(?:memory  +)?(.+?)  .*?\b(?:([01]\.\d{4})\b|([\d.]+)%)", line
        )
        if not found or found.group(1) not in names.called or OTHER_CONDITIONS & set(line.split()):
            continue
        model = names.called[found.group(1)]
        if found.group(2):
            yield Reading(place, model, float(found.group(2)), 0.5e-4)
        else:
            yield printed(place, model, found.group(3))


# What a sentence says of a model {M}, and whose each percentage {P} is
SENTENCES = {
    r"{M} found the original in {P} when it was asked, and in {P} by its perplexities": ("asked", "scored"),
    r"compared with the best of its members, {M} \({P}\)": ("",),
    r"On its own, {M}, the most accurate model in these teams, is right in {P} of": ("",),
    r"{M}(?: is \w+: it)? states [\d.]+% on average over \d+ answers?, and {P} of them are correct": ("asked",),
    r"{M} gained \d+ and lost \d+ compared with [^(]+ \(accuracy from {P} to {P}": ("before", "after"),
    r"{M} from {P} to {P}": ("before", "after"),
    r"Best member by itself: {M}, {P} right": ("",),
    r"{M}, the human's choice counts: from {P} without": ("",),
    r"{M} {P} by perplexity, {P} when asked": ("scored", "asked"),
    r"{M} {P} when asked": ("asked",),
}  # fmt: skip


def in_sentences(text: str, names: Names, place: str) -> Iterator[Reading]:
    """The readings of a page: its sentences, and the words of its figures. Each of SENTENCES that is there is a place."""
    page = html.fromstring(text)
    words = " ".join([page.text_content(), *page.xpath("//img/@alt")])
    words = " ".join(words.split())
    models = "|".join(re.escape(name) for name in sorted(names.called, key=len, reverse=True))
    for sentence, whose in SENTENCES.items():
        pattern = sentence.replace("{M}", f"(?P<model>{models})").replace("{P}", r"([\d.]+)%")
        for found in re.finditer(pattern, words):
            model, *numbers = found.groups()
            for word, number in zip(whose, numbers, strict=True):
                own = names.of_column(names.called[model], word)
                yield printed(f"{place}: {sentence}", own, number)
