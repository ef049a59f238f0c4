"""The numbers that docs/security.md promises are those of the code."""

import math
import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core import signing
from django.http import QueryDict

from config.env import Env
from experiment.domain.withdrawal_code import ALPHABET, LENGTH
from experiment.participant.identity import SIMULATED_PARAMETER, read_parameters, simulated_token
from experiment.participant.problems import BadLinkError
from experiment.services import rights, sign_in
from lib.unguessable import unguessable_id
from tests.config.test_code_security import ROOT
from tests.factories import make_study

TEXT = " ".join((ROOT / "docs" / "security.md").read_text(encoding="utf-8").split())
BITS = LENGTH * math.log2(len(ALPHABET))


def years(per_second: int, codes: int) -> float:
    """Until one of so many codes is found, on average."""
    return (
        float(len(ALPHABET) ** LENGTH)
        / codes
        / per_second
        / timedelta(days=365).total_seconds()
        / 2
    )


MINUTES = sign_in.WAIT // timedelta(minutes=1)
THREADS = 2 * Env({}).threads()
PROMISES: list[tuple[str, Any]] = [
    (r"A cookie with (\d+) random bits", 8 * len(unguessable_id().bytes)),
    (r"A participant's own code has (\d+) random bits", int(BITS)),
    (r"own code \| form \|[^|]*; (\d+) random bits", int(BITS)),
    (r"can try (\d+) wrong codes of a study in \d+ minutes", sign_in.MOST_CODES),
    (r"can try \d+ wrong codes of a study in (\d+) minutes", MINUTES),
    (r"wrong own codes of a study are limited by address \((\d+) in", sign_in.MOST_CODES),
    (r"would need ([\d,]+) addresses", 1000 * 60 * MINUTES // sign_in.MOST_CODES),
    (r"Invitations and access tokens have (\d+) random bits", 8 * rights.SECRET_BYTES),
    (r"failed sign-ins and wrong own codes by address \((\d+) in", sign_in.MOST_OF_ADDRESS),
    (r"by address \(\d+ in (\d+) minutes\)\. It does not", MINUTES),
    (r"gunicorn has (\d+) threads", THREADS),
    (r"an unused sign-in ends after (\d+) hours", sign_in.IDLE // timedelta(hours=1)),
]


@pytest.mark.parametrize(("pattern", "held"), PROMISES)
def test_a_number_that_is_promised_is_the_codes(pattern: str, held: int) -> None:
    [said] = re.findall(pattern, TEXT)
    assert int(said.replace(",", "")) == held


def test_years_hours_and_weeks_are_as_they_are_said() -> None:
    assert "would take about ten thousand years" in TEXT
    assert years(per_second=1000, codes=1000) == pytest.approx(10_000, rel=0.3)
    assert "at most two per process at a time" in TEXT
    assert sign_in._comparing._value == 2
    assert "every sign-in ends after a week" in TEXT
    assert timedelta(weeks=1) == sign_in.LONGEST
    assert "signed, for one day" in TEXT
    assert "allows only TLS 1.2 or newer" in TEXT
    nginx = (ROOT / "deploy" / "nginx" / "brainbench.conf").read_text(encoding="utf-8")
    assert set(re.findall(r"ssl_protocols (.*);", nginx)) == {"TLSv1.2 TLSv1.3"}


def test_invitations_and_signatures_are_as_long_as_they_are_said() -> None:
    assert "a signature by `SECRET_KEY` (HMAC-SHA256)" in TEXT
    assert signing.TimestampSigner().algorithm == "sha256"
    assert signing.TimestampSigner().key == settings.SECRET_KEY
    source = (ROOT / "experiment" / "services" / "members.py").read_text(encoding="utf-8")
    assert source.count("secrets.token_urlsafe(32)") == 1


@pytest.mark.django_db
def test_a_simulated_participants_link_works_for_one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    query, now = QueryDict(f"{SIMULATED_PARAMETER}={simulated_token()}"), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 23 * 3600)
    assert read_parameters(study, query)[1]
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    with pytest.raises(BadLinkError):
        read_parameters(study, query)
