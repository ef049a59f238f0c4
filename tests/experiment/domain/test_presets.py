"""The paper's study, and what ours does otherwise."""

from dataclasses import fields

from experiment.domain.presets import BRAINBENCH, BRAINBENCH_STRICT, DEVIATIONS, Preset


def test_our_preset_differs_from_the_papers_in_the_deviations_and_nowhere_else() -> None:
    differing = {
        f.name
        for f in fields(Preset)
        if getattr(BRAINBENCH, f.name) != getattr(BRAINBENCH_STRICT, f.name)
    }
    assert differing == {deviation.setting for deviation in DEVIATIONS}
    assert len(DEVIATIONS) == len(differing)
    assert all(deviation.reason.endswith(".") for deviation in DEVIATIONS)
