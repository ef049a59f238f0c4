"""Output of `team` for people, and the files that it writes."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

from analysis.services.compute import Asked
from analysis.stats.arrays import Interval
from analysis.store import DEFAULT_FORMATS, table_text
from analysis.teams.answer import Answer
from analysis.teams.names import method_name, short
from analysis.teams.options import TeamOptions
from analysis.teams.page import posterior_rows
from analysis.teams.results import Method, TeamResult, TeamsDocument
from analysis.teams.services import TeamReport, save_teams
from analysis.teams.words import diagnostics
from experiment.models import Study
from lib.commands import table_lines
from lib.files import write_file
from lib.formatting import DASH, is_known, listing, number

WIDTH = 120
MOST_ROWS = 40
INDENT = " " * len("participants  ")


def lines(document: TeamsDocument) -> list[str]:
    """Study, table, sentences, and what is not in it."""
    answer, who = Answer.of(document), document.participants
    method = Method(document.options.method) if answer.method == Method.ALONE else answer.method
    members = ", ".join(m.display_name for m in answer.members)
    rows, others = _listed(answer)
    has_ties = any(result.n_ties for result in rows)  # as in `analysis.teams.names.team_columns`
    table = [
        {
            "team": short(result.team, answer.members),
            "accuracy": _number(result.accuracy),
            "95% interval": _interval(result.accuracy_ci95, ""),
            **({"ties": number(result.n_ties, 0)} if has_ties else {}),
            "gain": _number(result.gain, "+"),
            "95% interval of the gain": _interval(result.gain_ci95, "+"),
            "log loss (at most 13.8)": _number(result.log_loss_nats),
        }
        for result in rows
    ]
    cautions = (answer.few_cases, answer.one_model_twice)
    found = [
        f"study         {document.study.slug} ({document.study.title})",
        f"participants  {who.label}. {who.note}".rstrip(),
        f"test cases    {document.source}-created",
        f"method        {method_name(method)}; {document.tried.folds}",
        *textwrap.wrap(
            f"members       {members}", WIDTH, subsequent_indent=INDENT, break_on_hyphens=False
        ),
        "",
        *(line for text in cautions if text for line in (*textwrap.wrap(text, WIDTH), "")),
        *table_lines(table, ("team",)),
        "",
        *_sentences(answer, len(rows), others),
    ]
    if answer.fit is not None:
        team = short(answer.result.team, answer.members)
        of_fit = posterior_rows(answer.fit, is_main=True)
        names = ("posterior", "mean", "95% interval")
        found += [
            "",
            f"Fit of {team}: d is sensitivity, in standard deviations; 0 is guessing.",
            *table_lines([dict(zip(names, row, strict=True)) for row in of_fit], names[:1]),
            diagnostics(answer.fit),
        ]
    return found


def _sentences(answer: Answer, n_shown: int, others: str) -> list[str]:
    shown = (
        f"Shown: {number(n_shown, 0)} of {number(len(answer.tried.teams), 0)} teams: {others}. --json lists all of them, and "
        "--predictions gives the decision of each."
    )
    found = [
        shown if others else "",
        answer.most_accurate,
        answer.not_whole,
        answer.adding_one,
        answer.how_accurate,
        answer.ties,
        answer.near_chance,
        answer.alone,
        answer.together,
        answer.tried_on,
        *(
            f"Not possible: {'; '.join(names)}. {why.reason} {why.needed}".rstrip()
            for names, why in answer.not_possible()
        ),
    ]
    return [sentence for sentence in found if sentence]


def _listed(answer: Answer) -> tuple[Sequence[TeamResult], str]:
    """The teams to print, and which they are where there are more."""
    teams = answer.tried.teams
    if len(teams) <= MOST_ROWS:
        return teams, ""
    whole = [r for r in teams if len(r.team) == len(answer.members) > 1]
    alone = [r for r in teams if len(r.team) == 1]
    alone = alone if len(alone) <= MOST_ROWS // 2 else []
    first = [*whole, *alone]
    rest = sorted((r for r in teams if r not in first), key=lambda r: -r.accuracy)
    parts = ["the whole one"] if whole else []
    parts += ["the members alone"] if alone else []
    return [*first, *rest][:MOST_ROWS], listing([*parts, "the most accurate"])


def _number(value: float | None, sign: str = "") -> str:
    return f"{value:{sign}.4f}" if is_known(value) else DASH


def _interval(ci95: Interval | None, sign: str) -> str:
    return f"{_number(ci95[0], sign)} to {_number(ci95[1], sign)}" if ci95 else DASH


def write(
    study: Study,
    wanted: TeamOptions,
    report: TeamReport,
    predictions: Path | None,
    folder: Path | None,
) -> list[str]:
    """Write the held-out predictions and the folder, where they are wanted; says so in lines."""
    lines = []
    if predictions:
        table = report.tables["predictions"]
        text = table_text(table, report.document.participants.kind)
        write_file(predictions, text, durable=False)
        lines += ["", f"{len(table):,} held-out predictions in {predictions}"]
    if folder:
        # Stored for the page first; the folder gets copies
        result = Asked(study, wanted).keep(lambda row: save_teams(row, report))
        for name in ("tables", "figures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        prefix = report.document.participants.file_prefix
        for name in result.tables:
            path = folder / "tables" / f"{prefix}{name}.csv"
            write_file(path, result.table_file(name), durable=False)
        for figure in result.figures:
            for form in DEFAULT_FORMATS:
                path = folder / "figures" / f"{prefix}{figure.stem}.{form}"
                write_file(path, result.figure_file(figure.stem, form), durable=False)
        text = json.dumps(report.values, indent=1, allow_nan=False) + "\n"
        write_file(folder / f"{prefix}teams.json", text, durable=False)
        n_files = 1 + len(result.tables) + len(DEFAULT_FORMATS) * len(result.figures)
        lines += ["", f"{n_files} files in {folder}"]
    return lines
