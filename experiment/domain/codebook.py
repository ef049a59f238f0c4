"""Every exported column: its name, meaning, unit and levels. Pure.

The one source for exports, the API and docs/codebook.md: an export writes exactly these columns in this
order, and a test fails when one of the three says something else. The file is long because it is that list: parted, the
order of an export would stand nowhere.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from experiment.domain.exclusion import FLAGS, PARTICIPANT_REASONS, TRIAL_REASONS, WITHDRAWN, Reason

ColumnType = Literal["text", "integer", "number", "boolean", "date", "time"]

# Decided by the export and stored nowhere: catch trials show who reads, they measure nothing themselves.
CATCH_TRIAL = Reason(
    "catch_trial",
    "catch trial",
    "The trial is a catch trial: it decides about the participant and is not analysed.",
)
EXPORT_REASONS = (
    # Withdrawn participants are not exported: nothing is left to export.
    *(reason for reason in PARTICIPANT_REASONS if reason is not WITHDRAWN),
    *TRIAL_REASONS,
    CATCH_TRIAL,
)


@dataclass(frozen=True, slots=True)
class Column:
    """One exported column.

    `levels` are the only values a text column can hold, empty where any text is possible; `null` says what
    an empty cell means, and is empty itself where a cell is never empty.
    """

    name: str
    meaning: str
    type: ColumnType = "text"
    unit: str = ""
    levels: tuple[str, ...] = ()
    null: str = ""


NO_JAVASCRIPT = "the browser did not measure it (no JavaScript), or an import does not tell"
NOT_IMPORTED = "an import does not tell"
NOT_ASKED = "not asked, or not answered"
NO_SIDES = "the item is a question"
DECLINED = "prefer_not_to_say"
TRANSLATED = ("no", "page", "text")

TRIAL_COLUMNS: tuple[Column, ...] = (
    # Who, and which trial
    Column("study", "The study's short name, as in its address."),
    Column("participant", "The participant's public id, a random UUID."),
    Column(
        "kind",
        "What kind of participant this is. An export holds one kind only.",
        levels=("real", "pilot", "simulated", "imported"),
    ),
    Column(
        "stage",
        "How far the participant has come by the time of the export.",
        levels=("demographics", "practice", "start", "trial", "debrief", "finished"),
    ),
    Column(
        "position",
        "Which of the participant's trials this was, from 1, in the order in which they were shown.",
        "integer",
    ),
    Column(
        "stratum",
        "What the item was drawn as: a human-created or machine-created test case, a catch trial, or a question.",
        levels=("human", "machine", "catch", "question"),
    ),
    # The item
    Column("item_key", "The item's name, the same for all its versions."),
    Column("item_version", "Which version of the item's text was shown, from 1.", "integer"),
    Column(
        "item_sha256",
        "SHA-256 of the item's text as its curator wrote it (UTF-8), in hex; of a question's text, a line break and its "
        "expert answer.",
    ),
    Column(
        "item_source",
        "Who altered the abstract; of a question, who wrote it.",
        levels=("human", "machine"),
    ),
    Column("generator", "The person, group or model that altered it.", null="not recorded"),
    Column("subfield", "The item's field of research.", null="not recorded"),
    Column("doi", "The article's DOI, without https://doi.org/.", null="the item has none"),
    Column("publication_date", "When the article was published.", "date", null="not recorded"),
    # The answer
    Column(
        "original_side",
        "The side that held the original passages, drawn at random for every trial.",
        levels=("A", "B"),
        null=f"{NOT_IMPORTED}; or {NO_SIDES}",
    ),
    Column(
        "side",
        "The side the participant chose.",
        levels=("A", "B"),
        null=f"{NOT_IMPORTED}; or {NO_SIDES}",
    ),
    Column(
        "correct",
        "Whether the chosen side was the original.",
        "boolean",
        null=f"{NO_SIDES}, whose answer is graded",
    ),
    Column(
        "confidence",
        "Confidence slider, from lower to higher: in the choice or, of a question, that the answer is right. Who does "
        "not know is not asked.",
        "integer",
        "1-100",
        null="not rated",
    ),
    Column(
        "expertise",
        "Expertise slider, from not at all to very much so.",
        "integer",
        "1-100",
        null="not rated",
    ),
    Column("confidence_moved", "Whether the confidence slider was touched.", "boolean"),
    Column("expertise_moved", "Whether the expertise slider was touched.", "boolean"),
    Column(
        "recognised",
        "Whether the participant said to have known the article or its result already; imported answers are to their "
        "publication's own question.",
        "boolean",
        null=NOT_ASKED,
    ),
    # How it was given
    Column(
        "rt_choice_ms",
        "From the page's first paint to the first choice of a side, on the browser's monotonic clock. This and the other "
        "browser's times end at the moment of the press or key itself.",
        "integer",
        "milliseconds",
        null=f"{NO_SIDES}; or {NO_JAVASCRIPT}",
    ),
    Column(
        "rt_final_choice_ms",
        "From the page's first paint to the choice that stood at Continue: rt_choice_ms where it never changed.",
        "integer",
        "milliseconds",
        null=f"{NO_SIDES}; or {NO_JAVASCRIPT}",
    ),
    Column(
        "rt_ms",
        "From the page's first paint to Continue, on the browser's monotonic clock.",
        "integer",
        "milliseconds",
        null=NO_JAVASCRIPT,
    ),
    *(
        Column(
            f"{rating}_{which}_ms",
            f"From the page's first paint to the {which} time the {rating} slider was touched.",
            "integer",
            "milliseconds",
            null=f"not rated; or {NO_JAVASCRIPT}",
        )
        for rating in ("confidence", "expertise")
        for which in ("first", "last")
    ),
    Column(
        "server_ms",
        "From showing the trial for the first time to receiving its answer, on the server's clock. "
        "Longer than rt_ms where the page was reloaded or left for a while.",
        "integer",
        "milliseconds",
        null=f"{NOT_IMPORTED}; or the server's clock was set back meanwhile",
    ),
    Column(
        "changes",
        "How often the choice was changed after the first one; of a question, how often “I do not know” was switched.",
        "integer",
        "count",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "aid_switches",
        "How often the reading aid was switched between both versions, only A and only B.",
        "integer",
        "count",
        null=f"the study or the page did not offer it; or {NO_JAVASCRIPT}",
    ),
    Column(
        "blur_count",
        "How often the page was left for another tab or window; a reload is not counted here.",
        "integer",
        "count",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "hidden_ms", "How long the page was hidden.", "integer", "milliseconds", null=NO_JAVASCRIPT
    ),
    Column(
        "reloads", "How often the page was loaded again.", "integer", "count", null=NO_JAVASCRIPT
    ),
    Column(
        "viewport_width",
        "Width of the window's inside.",
        "integer",
        "CSS pixels",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "viewport_height",
        "Height of the window's inside.",
        "integer",
        "CSS pixels",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "translated",
        "What a translator, of the browser or an extension, had changed by Continue: nothing, the page around the text, or "
        "the text that was judged or answered, which then was another one. A translation that was switched off again counts. "
        "It excludes nothing.",
        levels=TRANSLATED,
        null=NO_JAVASCRIPT,
    ),
    # About the participant, the same on each of their rows
    Column(
        "gender",
        "Gender identity.",
        levels=("female", "male", "gender_variant", "other", DECLINED),
        null=NOT_ASKED,
    ),
    Column("age", f"Age in whole years, or `{DECLINED}`.", null=NOT_ASKED),
    Column(
        "country", f"Country of residence, ISO 3166-1 alpha-2, or `{DECLINED}`.", null=NOT_ASKED
    ),
    Column(
        "position_held",
        "The post in research that the participant holds, as they said.",
        levels=(
            "predoctoral_student",
            "doctoral_student",
            "postdoctoral_researcher",
            "faculty",
            "research_scientist",
            "other",
            DECLINED,
        ),
        null=NOT_ASKED,
    ),
    Column(
        "experience_years",
        f"Years of experience in the study's field of research, or `{DECLINED}`.",
        null=NOT_ASKED,
    ),
    Column("recruitment_source", "Where the participant was recruited.", null="a plain link"),
    Column("published_id", "The participant's id in published data.", null="not imported"),
    Column(
        "consent_version", "Number of the consent text agreed to.", "integer", null=NOT_IMPORTED
    ),
    Column("consent_sha256", "SHA-256 of that text (UTF-8), in hex.", null=NOT_IMPORTED),
    Column(
        "ethics_number",
        "Number of the study's ethics approval, as consent shows it.",
        null="none was given",
    ),
    Column("ethics_body", "Who gave the approval.", null="none was given"),
    Column(
        "ethics_contact",
        "Whom participants can write to there about their rights.",
        null="none was given",
    ),
    Column("consented_at", "When the participant agreed.", "time", null=NOT_IMPORTED),
    Column("practice_attempts", "How many choices the practice trial took.", "integer", "count"),
    Column(
        "started_at", "When the participant's first trial was shown.", "time", null=NOT_IMPORTED
    ),
    Column("shown_at", "When this trial was first shown.", "time", null=NOT_IMPORTED),
    Column("received_at", "When this answer was received.", "time", null=NOT_IMPORTED),
    Column(
        "finished_at",
        "When the participant sent the last page.",
        "time",
        null="not finished, or an import does not tell",
    ),
    Column(
        "cheated",
        "Whether the participant admitted to having cheated.",
        "boolean",
        null="not asked (yet)",
    ),
    Column(
        "policy",
        "How items were drawn: the lowest expected exposure when shown, or the paper's plain counter.",
        levels=("balanced", "paper"),
    ),
    Column(
        "seed", "Seed of the participant's random draws, which can be replayed from it.", "integer"
    ),
    # What counts
    Column(
        "rules_version",
        "The version of the study's rules that the next columns follow. The study keeps every version, with its date, "
        "its author and the reason for it.",
        "integer",
        null="the rules were not frozen yet: no real participant had entered; or the publication of an import decided",
    ),
    Column(
        "participant_excluded_by",
        "Codes of the reasons to leave all of this participant's trials out.",
        null="no reason",
    ),
    Column(
        "trial_excluded_by",
        "Codes of the reasons to leave this trial out; decided when the participant finishes.",
        null="no reason, or not finished",
    ),
    Column("flags", "Codes of what a person should look at; flags exclude nothing.", null="none"),
    Column(
        "included",
        "Whether the trial belongs to the analysis: no reason speaks against it.",
        "boolean",
    ),
    Column(
        "excluded_by", "participant_excluded_by and trial_excluded_by together.", null="included"
    ),
    Column(
        "text",
        "The item's abstract with its alternations, [[original, altered]]; where a passage holds a comma, "
        "[[original | altered]]. Of a question, its text.",
    ),
)

# After those above, in studies that ask questions
ERASED = "or the participant's own words were erased"
QUESTION_COLUMNS: tuple[Column, ...] = (
    Column(
        "answer_text",
        "What the participant wrote in answer to the question.",
        null=f"no question; or “I do not know” was chosen; {ERASED}",
    ),
    Column(
        "abstained",
        "Whether “I do not know” was chosen instead of an answer.",
        "boolean",
        null="no question",
    ),
    *(
        Column(
            f"answer_{which}_ms",
            f"From the page's first paint to the {which} time the answer was typed in or “I do not know” was switched.",
            "integer",
            "milliseconds",
            null=f"no question; {ERASED}; or {NO_JAVASCRIPT}",
        )
        for which in ("first", "last")
    ),
)

# In an export of their own, which asks for a reason and stands in the audit trail
IDENTITY_COLUMNS: tuple[Column, ...] = (
    Column("participant", "The participant's public id, as in every other export."),
    Column(
        "kind",
        "What kind of participant this is.",
        levels=("real", "pilot", "simulated", "imported"),
    ),
    Column(
        "recruitment_source",
        "Where the participant was recruited.",
        null="a plain link, or forgotten",
    ),
    Column("external_id", "The participant's id there.", null="a plain link, or forgotten"),
    Column("external_study_id", "The study's id there.", null="none given, or forgotten"),
    Column(
        "external_session_id",
        "The id of the participant's session there.",
        null="none given, or forgotten",
    ),
    Column(
        "kept_until",
        "The last day on which these ids are kept, as consent said.",
        "date",
        null="none is kept",
    ),
    Column("comments", "The participant's comments at the end.", null="none"),
)

TYPE_NOTES = {
    "boolean": "`true` or `false`",
    "date": "YYYY-MM-DD",
    "time": "ISO 8601 with offset",
}

INTRODUCTION = """\
# Codebook

Generated by `manage.py write_docs codebook` from `experiment/domain/codebook.py`; do not edit it here.

`manage.py export_trials SLUG --set all|analysis --format csv --output FILE` writes one row per judged trial,
comma-separated, in UTF-8, with a header line; [export](participants.md#export) tells of other formats, filters and tables. The set `all` holds every judged trial of one kind of participants,
`analysis` those with `included` true. An empty cell is a missing value; what that means is said at each column. Nothing else is one, but programs take
some words for it, such as Namibia's code `NA`. So read it with `pandas.read_csv(FILE, keep_default_na=False, na_values=[""])`, in R with
`read.csv(FILE, na.strings = "")`. Texts that look like numbers, such as test cases named `007` and `1e5`, stay texts with
`dtype={"item_key": str}`, in R with `colClasses = c(item_key = "character")`, and in a spreadsheet where the column is imported as text;
Parquet keeps all types.

A text that a spreadsheet would run as a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage return,
also after spaces) has an apostrophe put before it. Numbers never do. Imported participants' answers about
themselves are given in the levels below, whatever words their publication used; their times are the publication's own,
and `published_id` is their stable name, since `participant` differs from one installation to the next. Spreadsheet
programs want to be told that the file is UTF-8, or are by `--bom`.
"""


def version() -> str:
    """A name for what the columns mean: another one whenever a name, a meaning, a unit or a level changes.

    >>> version() == version()
    True
    """
    said = repr((TRIAL_COLUMNS, QUESTION_COLUMNS, EXPORT_REASONS, FLAGS))
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def as_markdown() -> str:
    """The codebook as a page."""
    parts = [
        INTRODUCTION,
        "## Columns of a trial export\n",
        *_table(("column", "type", "meaning", "empty"), (_column_cells(c) for c in TRIAL_COLUMNS)),
        "\n## Columns of questions\n",
        "They come after those above, where the study asks its participants questions. A public release has no `answer_text`, unless `--words` asks for it.\n",
        *_table(
            ("column", "type", "meaning", "empty"), (_column_cells(c) for c in QUESTION_COLUMNS)
        ),
        "\n## Columns of an export of identities\n",
        "Recruitment ids and free comments are in this file alone. It asks for a reason, which stands in the audit trail.\n",
        *_table(("column", "type", "meaning", "empty"), map(_column_cells, IDENTITY_COLUMNS)),
        "\n## Reasons to exclude\n",
        "Codes are stable. A cell with several holds them separated by spaces.\n",
        *_table(("code", "reason"), ((f"`{r.code}`", r.sentence) for r in EXPORT_REASONS)),
        "\n## Flags\n",
        *_table(("code", "meaning"), ((f"`{flag.code}`", flag.sentence) for flag in FLAGS)),
    ]
    return "\n".join(parts) + "\n"


def _column_cells(column: Column) -> tuple[str, ...]:
    kind = ", ".join(
        part for part in (column.type, column.unit, TYPE_NOTES.get(column.type, "")) if part
    )
    levels = (
        f" One of {', '.join(f'`{level}`' for level in column.levels)}." if column.levels else ""
    )
    return f"`{column.name}`", kind, column.meaning + levels, column.null or "never"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
