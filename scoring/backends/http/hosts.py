"""Which hosts texts may be sent to: the setting SCORING_HOSTS, in a notebook the environment's."""

import os
from collections.abc import Sequence

from scoring.backends.http.address import Address, check_allowed, parse_address

HERE = "localhost,127.0.0.1,[::1]"


def allowed_address(base_url: str) -> Address:
    """Where a server is, if texts may be sent there.

    Raises:
        ScoringError: it is no address, or its host is not allowed.
    """
    address = parse_address(base_url)
    check_allowed(address, _allowed_hosts())
    return address


def _allowed_hosts() -> Sequence[str]:
    from django.conf import ENVIRONMENT_VARIABLE, settings

    if not settings.configured and ENVIRONMENT_VARIABLE not in os.environ:  # in a notebook
        return [name for name in os.environ.get("SCORING_HOSTS", HERE).split(",") if name]
    return list(settings.SCORING_HOSTS)
