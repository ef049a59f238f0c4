"""Fixtures that the tests of teams share."""

import pytest

from analysis.data.dataset import SourceData
from analysis.teams.domain.evidence import Evidence, gather

LLAMA_2_CHAT = tuple(f"meta-llama/Llama-2-{size}-chat-hf" for size in ("7b", "13b", "70b"))


@pytest.fixture(scope="session")
def published_evidence(published: SourceData) -> Evidence:
    """One human and the three Llama-2 chat models on the published human-created items: 1,011 trials of 200 items."""
    names = published.models["name"].tolist()
    return gather(published, [names.index(name) for name in LLAMA_2_CHAT]).evidence
