"""The bound and the estimate against GPT-2's own count."""

import pytest
from tokenizers import Tokenizer

from experiment.domain.item_checks.characters import check_tokens, estimated_tokens, least_tokens
from experiment.domain.markup import parse
from tests.experiment.domain.item_checks.published_items import published_items

WORDS = (
    "The hippocampal theta rhythm was (n = 12) significantly increased by 3.5% during REM sleep. "
)


@pytest.fixture(scope="module")
def gpt2(shared_dir):
    return Tokenizer.from_file(str(shared_dir / "tokenizers" / "gpt2" / "tokenizer.json"))


def test_the_bound_is_one_and_the_estimate_is_near_on_every_published_abstract(gpt2, results_dir):
    texts = [item.original for item in published_items(results_dir)]
    counts = [len(gpt2.encode(text).ids) for text in texts]
    assert all(least_tokens(t) <= n for t, n in zip(texts, counts, strict=True))
    ratios = sorted(estimated_tokens(t) / n for t, n in zip(texts, counts, strict=True))
    assert ratios[0] > 0.85
    assert 0.95 < ratios[len(ratios) // 2] < 1.1
    assert ratios[-1] < 1.25


def test_far_too_long_is_an_error_nearly_too_long_a_warning_and_an_abstract_neither():
    def codes(n):
        return [f.code for f in check_tokens(parse(WORDS * n + "They [[slept, ran]]."))]

    assert codes(10) == []
    assert codes(60) == ["too_many_tokens"]
    n = next(n for n in range(10, 60) if codes(n))
    assert codes(n) == ["maybe_too_many_tokens"]
