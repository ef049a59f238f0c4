"""Every exported column: its name, meaning, unit and levels. Pure.

The one source for exports, the API and the codebook: an export writes exactly these columns in this
order, and a test fails when one of the three says something else. The file is long because it is that list: parted, the
order of an export would stand nowhere.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiment.domain import survey
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


NO_JAVASCRIPT = "not measured by the browser (no JavaScript), or not in the imported data"
NOT_IMPORTED = "not in the imported data"
NOT_ASKED = "not asked, or not answered"
NO_SIDES = "the item is a question"
DECLINED = "prefer_not_to_say"
TRANSLATED = ("no", "page", "text")

TRIAL_COLUMNS: tuple[Column, ...] = (
    # Who, and which trial
    Column("study", "The study's short name, as in its address."),
    Column("participant", "The participant's public ID, a random UUID."),
    Column(
        "kind",
        "Kind of participant. An export contains only one kind.",
        levels=("real", "pilot", "simulated", "imported"),
    ),
    Column(
        "stage",
        "Stage that the participant had reached at the time of the export; `asked_before` and `asked_after` are the pages of survey questions.",
        levels=(
            "demographics",
            "asked_before",
            "practice",
            "start",
            "trial",
            "asked_after",
            "debrief",
            "finished",
        ),
    ),
    Column(
        "position",
        "Number of the trial, from 1, in the order in which the participant's trials were shown.",
        "integer",
    ),
    Column(
        "stratum",
        "Kind of item: a human-created or machine-created test case, a catch trial, or a question.",
        levels=("human", "machine", "catch", "question"),
    ),
    # The item
    Column("item_key", "The item's name, shared by all its versions."),
    Column("item_version", "Version of the item's text that was shown, from 1.", "integer"),
    Column(
        "item_sha256",
        "SHA-256 of the item's text as its curator wrote it (UTF-8), in hex; of a question's text, a line break and its "
        "expert answer.",
    ),
    Column(
        "item_source",
        "Source of the altered abstract, or of the question.",
        levels=("human", "machine"),
    ),
    Column("generator", "The person, group or model that altered it.", null="not recorded"),
    Column(
        "subfield", "The part of its field of research that the item is about.", null="not recorded"
    ),
    Column("doi", "The article's DOI, without https://doi.org/.", null="the item has none"),
    Column("publication_date", "When the article was published.", "date", null="not recorded"),
    # The answer
    Column(
        "original_side",
        "The side with the original passages, drawn at random for every trial.",
        levels=("A", "B"),
        null=f"{NOT_IMPORTED}; or {NO_SIDES}",
    ),
    Column(
        "side",
        "The side that the participant chose.",
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
        "Confidence slider, from lower to higher: in the choice or, for a question, in the answer. Participants who do "
        "not know the answer are not asked. Results read a confidence in a choice as the probability 0.5 + 0.5 confidence / 100 that it is right.",
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
        "Whether the participant said that they already knew the article or its result; imported values answer the "
        "publication's own question.",
        "boolean",
        null=NOT_ASKED,
    ),
    # How it was given
    Column(
        "rt_choice_ms",
        "From the page's first paint to the first choice of a side, on the browser's monotonic clock. All browser times "
        "end at the moment of the press or key.",
        "integer",
        "milliseconds",
        null=f"{NO_SIDES}; or {NO_JAVASCRIPT}",
    ),
    Column(
        "rt_final_choice_ms",
        "From the page's first paint to the final choice at Continue; equal to rt_choice_ms if the choice never changed.",
        "integer",
        "milliseconds",
        null=f"{NO_SIDES}; or {NO_JAVASCRIPT}",
    ),
    Column(
        "rt_ms",
        "From the page's first paint until Continue was pressed, on the browser's monotonic clock.",
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
        "Longer than rt_ms if the page was reloaded or left for a while. If a browser's time is longer than it, rules go by the server's "
        "time; if it is longer by more than 1 second and one part in a thousand, the trial has the flag `times_disagree`. Imports, "
        "simulated participants, whose times are made up, and answers from before the site compared them are judged by the browser's times alone.",
        "integer",
        "milliseconds",
        null=f"{NOT_IMPORTED}; or the server's clock was set back meanwhile",
    ),
    Column(
        "changes",
        "How often the choice was changed after the first one; for a question, how often the box “I do not know” was ticked or unticked.",
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
        "Inner width of the window.",
        "integer",
        "CSS pixels",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "viewport_height",
        "Inner height of the window.",
        "integer",
        "CSS pixels",
        null=NO_JAVASCRIPT,
    ),
    Column(
        "translated",
        "Text that a translator in the browser or an extension had changed by the time Continue was pressed: none, the page "
        "around the text, or the judged or answered text itself. A translation that was switched off again counts. It does not exclude a trial.",
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
        "The participant's current position in research, as they stated it.",
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
    Column("published_id", "The participant's ID in published data.", null="not imported"),
    Column(
        "consent_version", "Number of the consent text agreed to.", "integer", null=NOT_IMPORTED
    ),
    Column("consent_sha256", "SHA-256 of that text (UTF-8), in hex.", null=NOT_IMPORTED),
    Column(
        "ethics_number",
        "Number of the study's ethics approval, as consent shows it.",
        null="none was given",
    ),
    Column("ethics_body", "The body that gave the approval.", null="none was given"),
    Column(
        "ethics_contact",
        "Contact at that body for questions about participants' rights.",
        null="none was given",
    ),
    Column("consented_at", "When the participant agreed.", "time", null=NOT_IMPORTED),
    Column(
        "practice_attempts",
        "How many choices the practice trial took; where an example of advice is shown, only final choices count.",
        "integer",
        "count",
    ),
    Column(
        "started_at", "When the participant's first trial was shown.", "time", null=NOT_IMPORTED
    ),
    Column("shown_at", "When this trial was first shown.", "time", null=NOT_IMPORTED),
    Column("received_at", "When this answer was received.", "time", null=NOT_IMPORTED),
    Column(
        "finished_at",
        "When the participant sent the last page.",
        "time",
        null="not finished, or not in the imported data",
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
        "The version of the study's rules that the next columns follow. The study stores every version with its date, "
        "author and reason.",
        "integer",
        null="the rules were not frozen yet: no real participant had entered; or the publication of an import decided",
    ),
    Column(
        "participant_excluded_by",
        "Codes of the reasons for excluding all trials of this participant.",
        null="no reason",
    ),
    Column(
        "trial_excluded_by",
        "Codes of the reasons for excluding this trial, determined when the participant finishes.",
        null="no reason, or not finished",
    ),
    Column(
        "flags",
        "Codes of properties that a person should check; flags do not exclude trials.",
        null="none",
    ),
    Column(
        "included",
        "Whether the trial belongs to the analysis, that is, has no reason for exclusion.",
        "boolean",
    ),
    Column(
        "excluded_by", "participant_excluded_by and trial_excluded_by combined.", null="included"
    ),
    Column(
        "text",
        "The item's abstract with its alternations, [[original, altered]]; if a passage contains a comma, "
        "[[original | altered]]. For a question, its text.",
    ),
)

# After those above, in studies that ask questions
ERASED = "or the participant's own words were erased"
QUESTION_COLUMNS: tuple[Column, ...] = (
    Column(
        "answer_text",
        "The participant's written answer to the question.",
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
            f"From the page's first paint to the {which} time the answer was typed in or the box “I do not know” was ticked or unticked.",
            "integer",
            "milliseconds",
            null=f"no question; {ERASED}; or {NO_JAVASCRIPT}",
        )
        for which in ("first", "last")
    ),
)

# After those above, in studies with arms
ARM_COLUMNS: tuple[Column, ...] = (
    Column(
        "arm",
        "The name of the participant's arm.",
        null="the participant entered before the study had arms",
    ),
)

# After those above, in studies with advice
NO_ADVICE = "no advice was given in this trial"
NO_FIRST = "no answer was asked for before advice"
ADVICE_COLUMNS: tuple[Column, ...] = (
    Column(
        "advice_procedure",
        "When the participant saw advice: after the participant's own answer, which could then be revised, or before any answer. "
        "If it came after an answer, `side`, `correct`, `confidence`, `confidence_moved` and `viewport_*` are those of the final answer. "
        "`expertise` and `recognised` were asked on the first page only. "
        "`rt_ms`, `changes`, `aid_switches`, `blur_count`, `hidden_ms` and `reloads` are sums over both pages, and all other times run on from the first page. "
        "`rt_choice_ms` and `*_first_ms` are those of the first page, or of the second if the first did not measure them. "
        "`rt_final_choice_ms` and `*_last_ms` are those of the second page, or of the first if the second did not measure them. "
        "`translated` is the more extensive of the two (`text`, then `page`, then `no`).",
        levels=("after", "before"),
        null=NO_ADVICE,
    ),
    Column("advice_side", "The side that the adviser chose.", levels=("A", "B"), null=NO_ADVICE),
    Column("advice_correct", "Whether the adviser chose the original.", "boolean", null=NO_ADVICE),
    Column(
        "advice_confidence",
        "The adviser's probability p that its choice is the original, 0.5 (a guess) to 1; never on the scale of `confidence`. The page showed it as "
        "100 (2 p - 1), at least 1, which is on that scale; in words; or, if the adviser was set before that was so, in percent. The field `shows` of the adviser "
        "in the study's file says which.",
        "number",
        "probability",
        null=f"{NO_ADVICE}, or only its choice was shown",
    ),
    Column(
        "advice_shown_at", "When the page with the advice was first sent.", "time", null=NO_ADVICE
    ),
    Column(
        "advice_viewed_ms",
        "From the first paint of the page with the advice until Continue was pressed.",
        "integer",
        "milliseconds",
        null=f"{NO_ADVICE}, or {NO_JAVASCRIPT}",
    ),
    Column("first_side", "The side chosen before the advice.", levels=("A", "B"), null=NO_FIRST),
    Column("first_correct", "Whether that side is the original.", "boolean", null=NO_FIRST),
    Column(
        "first_confidence",
        "The participant's confidence before the advice, on the scale of `confidence`.",
        "integer",
        "1-100",
        null=f"{NO_FIRST}, or it was not given",
    ),
    Column(
        "first_rt_choice_ms",
        "From the trial's first paint to the first choice of a side.",
        "integer",
        "milliseconds",
        null=f"{NO_FIRST}, or {NO_JAVASCRIPT}",
    ),
    Column(
        "first_rt_ms",
        "From the trial's first paint until Continue was pressed before the advice. Compared with the time from shown_at to first_received_at, as rt_ms with server_ms.",
        "integer",
        "milliseconds",
        null=f"{NO_FIRST}, or {NO_JAVASCRIPT}",
    ),
    Column(
        "first_changes",
        "How often the choice changed before the advice.",
        "integer",
        "count",
        null=f"{NO_FIRST}, or {NO_JAVASCRIPT}",
    ),
    Column(
        "first_received_at",
        "When the answer before the advice was received.",
        "time",
        null=NO_FIRST,
    ),
    Column(
        "revised",
        "Whether side or confidence differ from those before the advice, also where a confidence was only added.",
        "boolean",
        null=NO_FIRST,
    ),
)

# After those above, in studies with survey questions: `survey_NAME`, one for each
NOT_SURVEYED = "the participant's arm was not asked, or no answer was given"


SURVEY_NOTE = f"""\
If the study has survey questions, one column for each follows those above, in the order of the questions: `survey_` and the question's
name. Scales are integers, numbers are numbers, and all others are texts. An empty cell means that {NOT_SURVEYED}.
The dictionary of a data set states each question and its answers. A public release has no such columns unless `--words` requests them.
"""


def survey_column(
    name: str, question: str, place: str, kind: str, parts: Mapping[str, Any]
) -> Column:
    """The column of one survey question.

    >>> parts = {"points": 7, "low": "not at all", "high": "completely"}
    >>> column = survey_column("trust", "Did you trust it?", "after", "scale", parts)
    >>> column.name, column.type, column.meaning
    ('survey_trust', 'integer', 'Answer to “Did you trust it?”, asked after the trials: from 1, “not at all”, to 7, “completely”.')
    """
    rules = survey.KINDS[kind]
    unit = rules.unit(parts)
    return Column(
        f"{survey.COLUMN}{name}",
        f"Answer to “{question}”, asked {place} the trials{rules.in_codebook(parts)}",
        rules.column,
        unit,
        () if unit else rules.levels(parts),
        NOT_SURVEYED,
    )


# In an export of their own, which asks for a reason and stands in the audit trail
IDENTITY_COLUMNS: tuple[Column, ...] = (
    Column("participant", "The participant's public ID, as in every other export."),
    Column(
        "kind",
        "Kind of participant.",
        levels=("real", "pilot", "simulated", "imported"),
    ),
    Column(
        "recruitment_source",
        "Where the participant was recruited.",
        null="a plain link, or forgotten",
    ),
    Column("external_id", "The participant's ID there.", null="a plain link, or forgotten"),
    Column("external_study_id", "The study's ID there.", null="none given, or forgotten"),
    Column(
        "external_session_id",
        "The ID of the participant's session there.",
        null="none given, or forgotten",
    ),
    Column(
        "kept_until",
        "The last day on which these IDs are kept, according to the consent text.",
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

Generated by `manage.py write_docs codebook` from `experiment/domain/export_columns.py`; do not edit it here.

`manage.py export_trials SLUG --set all|analysis --format csv --output FILE` writes one row per judged trial,
comma-separated, in UTF-8, with a header line; [export](participants.md#export) describes other formats, filters and tables. The set `all` contains every judged trial of one kind of
participants, and `analysis` those with `included` true. Only an empty cell is a missing value; the table says what it means in each column. Some programs
also treat words as missing, such as Namibia's code `NA`. Therefore, read the file with `pandas.read_csv(FILE, keep_default_na=False, na_values=[""])`, in R with
`read.csv(FILE, na.strings = "")`. Texts that look like numbers, such as test cases named `007` and `1e5`, stay texts with
`dtype={"item_key": str}`, in R with `colClasses = c(item_key = "character")`, and in a spreadsheet where the column is imported as text;
Parquet keeps all types.

In CSV files, an apostrophe is inserted wherever a spreadsheet could begin a cell and run it as a formula. This is at the start of a text, and
after each comma, semicolon, vertical bar, tab or line break in it, because some spreadsheets separate cells by these marks. The apostrophe stands there if
`=`, `+`, `-` or `@` follows (also full-width, and after spaces, quotation marks or invisible characters), or if the text starts with a tab or line break. If there
were apostrophes before such a place, one more is added. So `good;=1+1` becomes `good;'=1+1`. Numbers never change. To restore the texts, remove one
apostrophe at each such place, as this site's imports do; JSON Lines and Parquet contain the exact texts. Imported participants' answers about
themselves use the levels below, regardless of the wording in their publication. Their times come from the publication.
`published_id` is their stable name, because `participant` differs between installations. Tell a spreadsheet program that
the file is UTF-8, or export it with `--bom`.
"""


def version() -> str:
    """A name for what the columns mean: another one whenever a name, a meaning, a unit or a level changes.

    >>> version() == version()
    True
    """
    said = repr(
        (TRIAL_COLUMNS, QUESTION_COLUMNS, ARM_COLUMNS, ADVICE_COLUMNS, EXPORT_REASONS, FLAGS)
    )
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def as_markdown() -> str:
    """The codebook as a page."""
    parts = [
        INTRODUCTION,
        "## Columns of a trial export\n",
        *_table(("column", "type", "meaning", "empty"), (_column_cells(c) for c in TRIAL_COLUMNS)),
        "\n## Columns of questions\n",
        "If the study asks questions, these columns follow those above. A public release has no `answer_text` unless `--words` requests it.\n",
        *_table(
            ("column", "type", "meaning", "empty"), (_column_cells(c) for c in QUESTION_COLUMNS)
        ),
        "\n## Columns of arms\n",
        "If the study has arms, these columns follow those above.\n",
        *_table(("column", "type", "meaning", "empty"), map(_column_cells, ARM_COLUMNS)),
        "\n## Columns of advice\n",
        "If participants of the study see advice, these columns follow those above.\n",
        *_table(("column", "type", "meaning", "empty"), map(_column_cells, ADVICE_COLUMNS)),
        "\n## Columns of survey questions\n",
        SURVEY_NOTE,
        "## Columns of an export of identities\n",
        "Only this file contains recruitment IDs and free comments. It requires a reason, which the audit trail records.\n",
        *_table(("column", "type", "meaning", "empty"), map(_column_cells, IDENTITY_COLUMNS)),
        "\n## Reasons to exclude\n",
        "Codes are stable. A cell with several codes separates them with spaces.\n",
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
