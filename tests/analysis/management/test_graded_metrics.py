"""`graded_metrics`: the rates of models from a judge's raw texts, as JSON and as a table."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import SourceData
from analysis.report.chapters.graded_comparisons.results import GradedComparisons
from analysis.report.contents import chapter_named
from analysis.stats.graded import FATES
from analysis.stats.graded.rates import rates
from scoring.domain.grading.rubric import Fate
from tests.analysis.graded_made import make_graded
from tests.analysis.report.chapters.chapter_results import results_of

COMPARISONS = chapter_named("graded_comparisons")


def line(raw: object, model: str = "m", question: object = "q", **more: object) -> str:
    return json.dumps({"model": model, "question": question, "raw": raw, **more})


def written(path: Path, lines: Iterable[str]) -> Path:
    file = path / "grades.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def metrics(capsys: Any, file: Path) -> dict[str, Any]:
    call_command("graded_metrics", str(file), "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["models"]
    return found


def sentence(file: Path) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("graded_metrics", str(file))
    return str(caught.value)


def test_fates_have_the_order_that_estimators_expect() -> None:
    assert tuple(Fate) == FATES


def test_a_grade_is_the_judges_whole_text_and_all_rows_count(tmp_path: Path, capsys: Any) -> None:
    raws = ["3.0", "2", "\u22121", "-1", "1.5", "1. Right. Final: 3.0", None, 2.5]
    found = metrics(
        capsys, written(tmp_path, (line(raw, question=n) for n, raw in enumerate(raws)))
    )["m"]
    assert (found["n"], found["n_unparsed"], found["n_good"]) == (8, 2, 3)
    assert (found["rqr"], found["sr"], found["ar"]) == (3 / 8, 2 / 3, 2 / 8)
    own = rates(3, 2, 1, 2)
    assert (found["rqr_ci95"], found["sr_ci95"]) == (list(own.rqr_ci95), list(own.sr_ci95 or ()))
    assert found["quadrant"] == "cautious responders"


def test_a_model_without_a_grade_that_can_be_read_has_no_rates(tmp_path: Path, capsys: Any) -> None:
    raws = ("Score: 3", "<think>3", "<think>2?</think>3")
    lines = (line(raw, "ab"[n // 2], n) for n, raw in enumerate(raws))
    file = written(tmp_path, lines)
    found = metrics(capsys, file)
    assert (found["a"]["n"], found["a"]["n_unparsed"], found["a"]["rqr"]) == (2, 2, None)
    assert found["b"]["rqr"] == 1
    call_command("graded_metrics", str(file))
    (row,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("a "))
    assert ".00" not in row


@pytest.mark.parametrize(
    "bad",
    [
        "[1]",
        "NaN",
        '{"model": "m", "question": "q"}',
        line("3", model=" "),
        line("3", question=["q"]),
        line("3", question="another", categories="x"),
        line(True),
        "[" * 100_000,
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str) -> None:
    assert "line 3:" in sentence(written(tmp_path, [line("3"), "", bad, line("3", question=4)]))


def test_an_answer_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    lines = [line("3", question=1), line("3", "other", 1), line("3", question="1"), line("0", question=1)]  # fmt: skip
    assert "line 4: m has answered this question in line 1." in sentence(written(tmp_path, lines))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    assert "no line" in sentence(written(tmp_path, [""]))
    assert str(tmp_path / "none") in sentence(tmp_path / "none")
    assert sentence(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(line("3").encode() + b"\n" + b'{"model": "\xe9"}\n')
    assert "line 2:" in sentence(tmp_path / "latin.jsonl")


def test_words_of_a_file_are_those_of_a_report(
    tmp_path: Path, capsys: Any, small: SourceData
) -> None:
    """Abstentions, empty answers and grades that cannot be read are left out of both; points above the most count as these."""
    graded = make_graded(truth={"A": (0.5, 0.5)}, n_questions=60, n_templates=12)
    points = graded.answers["points"].mask(graded.answers["points"] == 3, 7.0)
    points[[0, 1]] = np.nan
    words = graded.answers["words"].mask(graded.answers.index == 2, 0)
    fate = [graded.rubric.fate(value).value for value in points]
    odd = replace(graded, answers=graded.answers.assign(points=points, fate=fate, words=words))
    texts = pd.concat(odd.read_texts(np.arange(60))).set_index("answer")
    lines = [
        line(
            "none" if np.isnan(value) else f"{value:g}",
            question=str(n),
            template=odd.questions["template"][n],
            answer="" if n == 2 else texts["text"][n],
            expert_answer=texts["expert_answer"][n],
        )
        for n, value in enumerate(points)
    ]
    call_command("graded_metrics", str(written(tmp_path, lines)), "--json", "--words")
    found = json.loads(capsys.readouterr().out)["models"]["m"]["words"]
    report = results_of(replace(small, graded=odd), COMPARISONS).of(GradedComparisons)
    for one, metric in zip(found.values(), report.graded_texts.metrics, strict=True):
        own = metric.correlation
        assert one["mean"] == pytest.approx(metric.mean)
        assert (one["n"], one["rho"], one["tau"]) == pytest.approx((own.n, own.rho, own.tau))
        assert one["rho_ci95"] == pytest.approx(list(own.rho_ci95))
