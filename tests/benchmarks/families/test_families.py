"""The sweep over model families: each is scored as the plain loop scores it, and the page says what was found."""

from dataclasses import replace

import pytest
from django.conf import settings

from benchmarks.families import measuring, page
from benchmarks.families.configurations import WINDOW, Family
from benchmarks.families.families import FAMILIES
from scoring.backends.causal_lm import backend
from scoring.backends.causal_lm.head import Backbone, OwnHead
from scoring.backends.causal_lm.probe import Choice
from scoring.backends.causal_lm.strategies import Mask

PAGE = settings.BASE_DIR / "docs" / "models.md"
# What transformers says of its own code is not about ours
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def groups():
    return measuring.texts()


def family(model_type, trait):
    return next(f for f in FAMILIES if (f.model_type, f.trait) == (model_type, trait))


def measured(family: Family, groups) -> measuring.Measured:
    return next(iter(measuring.sweep([family], groups)))


@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_scored_as_the_plain_loop_scores_it(family, groups):
    found = measured(family, groups)
    line = next(page.lines([found]))
    print(line)
    assert page.is_right(found), line
    known = found.refused or f"| `{found.architecture}` | {found.strategy} |"
    assert known in row_of(family), "run: manage.py bench_families"


def row_of(family):
    start = f"| {family.model_type} | {family.trait} |"
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(start)]
    assert rows, f"{family.name} is not on the page: run manage.py bench_families"
    return rows[0]


def test_the_page_in_docs_lists_every_family_and_no_other():
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    listed = {tuple(line.strip("| ").split(" | ")[:2]) for line in rows}
    assert listed - {("model type", "configuration")} == {(f.model_type, f.trait) for f in FAMILIES}


def test_the_page_in_docs_names_no_wrong_one():
    text = PAGE.read_text("utf-8")
    assert page.SCORED in text
    assert page.REFUSED in text
    assert page.WRONG not in text
    errors = [
        float(row.split(" | ")[4])
        for row in text.split(page.SCORED)[1].split("\n\n")[0].splitlines()
    ]
    assert len(errors) == sum(not f.is_refused for f in FAMILIES)
    assert max(errors) <= page.TOLERANCE


def test_a_page_puts_each_family_where_it_belongs(groups):
    fine = measuring.Measured(FAMILIES[0], 1.0, "GPT2LMHeadModel", "packed", "float64", 1e-8)
    off = replace(fine, family=FAMILIES[1], worst_error=1e-3)
    refused = replace(fine, family=family("t5", "encoder-decoder"), refused="No.")
    crashed = replace(fine, family=FAMILIES[2], refused="IndexError: 2", has_crashed=True)
    falcon = replace(fine, family=family("falcon", "ALiBi"), eager_error=1e-3)
    checked = page.Checked("transformers 5", "2026-01-01", "abc", 12, 292)
    made = page.as_markdown([fine, off, refused, crashed, falcon], checked)
    parts = {part.splitlines()[0]: part for part in made.split("## ")[1:]}
    scored, no, wrong, eager = parts.values()
    assert page.row(fine) in scored
    assert page.row(falcon) in scored
    assert "No." in no
    assert "1.0e-03" in wrong
    assert "IndexError: 2" in wrong
    assert "falcon" in eager
    assert (
        "2 scored right, worst error 1.0e-08, none of 14 decisions changed; 1 refused; 2 wrong"
        in made
    )


def test_the_sweep_goes_through_many_families_each_once():
    assert len({f.model_type for f in FAMILIES}) >= 100
    assert len({f.name for f in FAMILIES}) == len(FAMILIES)


def test_kinds_of_layers_are_mixed_behind_the_first_eight():
    for name in ("qwen2", "qwen2_moe", "qwen3"):
        late = next(f for f in FAMILIES if f.model_type == name and "last two" in f.trait)
        config = late.config()
        assert config.layer_types == ["full_attention"] * 10 + ["sliding_attention"] * 2
        assert config.sliding_window == WINDOW


def test_texts_are_many_windows_long_but_for_the_first_and_the_last(groups):
    """A probe that looks at these two alone sees no window."""
    first, *between, last = groups
    assert max(len(ids) for group in (first, last) for ids in group) < WINDOW
    assert min(len(ids) for group in between for ids in group) > 10 * WINDOW
    assert all(a.tolist() != b.tolist() for a, b in groups)


def test_a_wrong_strategy_is_noticed(groups, monkeypatch):
    """Packed into one row behind one mask, which replaces the windows of the last two layers."""

    def choose_wrong(model, groups, forced="", verdicts=None):
        backbone = Backbone(model)
        return Choice(Mask(backbone, OwnHead(backbone)), {}, "nothing")

    late = family("qwen2", "windows in the last two layers")
    right = measured(late, groups[:3])
    assert page.is_right(right)
    monkeypatch.setattr(backend, "choose", choose_wrong)
    wrong = measured(late, groups[:3])
    assert wrong.worst_error > page.TOLERANCE
    assert not page.is_right(wrong)
    assert next(page.lines([wrong])).startswith("WRONG: ")


def test_what_should_be_refused_and_is_not_is_wrong_and_the_other_way_round(groups):
    refused = measured(family("t5", "encoder-decoder"), groups)
    assert "encoder-decoder" in refused.refused
    assert page.is_right(refused)
    assert not page.is_right(replace(refused, refused=""))
    meant_to_run = replace(refused.family, is_refused=False)
    assert not page.is_right(replace(refused, family=meant_to_run))


def test_a_changed_decision_is_wrong_however_small_the_error():
    fine = measuring.Measured(FAMILIES[0], 1.0, worst_error=1e-9)
    assert page.is_right(fine)
    assert not page.is_right(replace(fine, decisions_changed=1))
