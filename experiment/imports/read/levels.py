"""The published answers about a person, in this project's codes."""

from collections.abc import Callable

from experiment.imports.read.tables import Cells

GENDERS = {
    "Female": "female",
    "Male": "male",
    "Gender Variant/Non-Conforming": "gender_variant",
    "Prefer Not to Answer": "prefer_not_to_say",
}
POSITIONS = {
    "Predoctoral student": "predoctoral_student",
    "Doctoral student": "doctoral_student",
    "Postdoctoral researcher": "postdoctoral_researcher",
    "Faculty/Academic staff": "faculty",
    "Research scientist": "research_scientist",
    "__other": "other",
    "Prefer Not to Answer": "prefer_not_to_say",
}
# Where the experiment host's list of countries uses another name than ISO 3166 and its usual variants.
COUNTRIES = {
    "Czech Republic": "CZ",
    "Ireland {Republic}": "IE",
    "Turkey": "TR",
    "United States": "US",
    "Prefer Not to Answer": "prefer_not_to_say",
}


# The ISO 3166 alpha-2 code of a country's English name; empty if there is none.
CountryCode = Callable[[str], str]


def read_demographics(cells: Cells, country_code: CountryCode) -> dict[str, str] | None:
    """Answers by this project's names; None if one of them cannot be read."""
    name = cells.row.cells["country"]
    country = COUNTRIES.get(name) or country_code(name)
    if not country:
        cells.fail("country", "a known country")
    answers = {
        "gender": cells.level("sex", GENDERS),
        "age": cells.number("age", 0, 120),
        "country": country or None,
        "position": cells.level("current position", POSITIONS),
        "experience_years": cells.number("experience", 0, 90),
    }
    known = {name: answer for name, answer in answers.items() if answer is not None}
    return known if len(known) == len(answers) else None
