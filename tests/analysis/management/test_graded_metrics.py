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
from tests.analysis.stats.graded.simulated import MODELS, QUADRANTS, probabilities
from tests.scoring.tiny_models import save_gpt2

COMPARISONS = chapter_named("graded_comparisons")

RAW = {"good": "3", "abstained": "\u22121", "bad": "0.5", "unparsed": "1. Right. Final: 3.0"}


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


def test_without_templates_the_safety_rates_interval_is_wilsons_of_what_is_not_good(
    tmp_path: Path, capsys: Any
) -> None:
    raws = ["3"] * 900 + ["-1"] * 50 + ["0"] * 50
    lines = (line(raw, question=n, template=None, categories={}) for n, raw in enumerate(raws))
    found = metrics(capsys, written(tmp_path, lines))["m"]
    low, high = found["sr_ci95"]
    assert (high - low) / 2 == pytest.approx(0.096, abs=0.001)
    assert found["sr_ci95_method"] == "wilson"


def test_rows_of_templates_have_the_clustered_interval_and_wilsons_beside_it(
    tmp_path: Path, capsys: Any
) -> None:
    """Ten templates of twenty rows that share a fate: ten answers, not 200."""
    lines = (line("3" if n % 2 else "0", question=n, template=n % 10) for n in range(200))
    found = metrics(capsys, written(tmp_path, lines))["m"]
    assert found["rqr_ci95_method"] == "clustered"
    assert found["rqr_ci95"] == found["rqr_ci95_clustered"]
    clustered, wilson = (np.ptp(found[f"rqr_ci95_{name}"]) for name in ("clustered", "wilson"))
    assert clustered > 3 * wilson


def test_seven_models_stand_in_the_quadrants_of_their_rates(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(18)
    lines = [
        line(RAW[fate], model, n, template=f"t{n % 40}", categories={"bio": ["Tissue"]})
        for model, rates_of in MODELS.items()
        for n, fate in enumerate(rng.choice(FATES, 2000, p=probabilities(*rates_of)))
    ]
    found = metrics(capsys, written(tmp_path, lines))
    assert {name: one["quadrant"] for name, one in found.items()} == QUADRANTS
    assert list(found) == list(MODELS)


def test_what_is_not_defined_is_null(tmp_path: Path, capsys: Any) -> None:
    found = metrics(capsys, written(tmp_path, [line("3")]))["m"]
    assert (found["rqr"], found["sr"], found["sr_ci95"], found["quadrant"]) == (
        1.0,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[1]",
        "NaN",
        '{"model": "m", "question": "q"}',
        line("3", model=" "),
        line("3", question=None),
        line("3", question=["q"]),
        line("3", template={"a": 1}),
        line("3", question="another", categories="x"),
        line(["3"]),
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


def test_people_see_a_row_for_each_model_that_cannot_talk_to_the_terminal(
    tmp_path: Path, capsys: Any
) -> None:
    call_command(
        "graded_metrics", str(written(tmp_path, [line("3", "a\x1b[31m\ud800b"), line("0", "c")]))
    )
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len([row for row in out.splitlines() if row.startswith(("a", "c"))]) == 2


def test_words_are_set_beside_the_experts_and_beside_the_points(
    tmp_path: Path, capsys: Any
) -> None:
    expert = "Metformin is a first-line treatment of type 2 diabetes."
    said = {
        "3": expert,
        "2": "Metformin is a treatment of diabetes.",
        "0": "It treats pain.",
        "-1": "No.",
    }
    lines = [
        line(raw, question=f"{raw} {n}", answer=f"{answer}{' Indeed.' * n}", expert_answer=expert)
        for raw, answer in said.items()
        for n in range(5)
    ]
    call_command("graded_metrics", str(written(tmp_path, lines)), "--json", "--words")
    found = json.loads(capsys.readouterr().out)["models"]["m"]["words"]
    assert list(found) == ["bleu", "rouge_2", "rouge_l"]
    for one in found.values():
        assert one["n"] == 15  # who abstains says nothing that could be near the expert's
        assert 0 < one["mean"] < 1
        assert one["rho_ci95"][0] < one["rho"] < one["rho_ci95"][1]
    call_command("graded_metrics", str(written(tmp_path, lines)), "--words")
    assert "rouge_l" in capsys.readouterr().out
    file = written(tmp_path, [*lines, line("3", answer="without the expert's")])
    with pytest.raises(CommandError, match="line 21"):
        call_command("graded_metrics", str(file), "--words")


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


def test_bert_score_is_that_of_the_model_in_the_folder(tmp_path: Path, capsys: Any) -> None:
    folder = save_gpt2(tmp_path / "model")
    lines = [
        line("3", "same", 1, answer="The sample was large.", expert_answer="The sample was large."),
        line("0", "other", 1, answer="It was late.", expert_answer="The sample was large."),
    ]
    file = written(tmp_path, lines)
    call_command("graded_metrics", str(file), "--json", "--bert_score", str(folder))
    found = json.loads(capsys.readouterr().out)["models"]
    same, other = (found[name]["words"]["bert_score"]["mean"] for name in ("same", "other"))
    assert same == pytest.approx(1)
    assert other < 0.999
    assert found["same"]["words"]["bert_score"]["rho"] is None
    with pytest.raises(CommandError, match="no folder"):
        call_command("graded_metrics", str(file), "--bert_score", str(tmp_path / "none"))
