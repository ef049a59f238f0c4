"""Nobody is served in plain HTTP by accident."""

import pytest

from config.env import Env, EnvError
from config.listening import listening_address

BEHIND_A_PROXY = {"HTTPS": "1", "FORWARDED_ALLOW_IPS": "10.0.0.0/24"}


@pytest.mark.parametrize(
    "address", ["127.0.0.1:80", "[::1]:8000", "localhost:1", "unix:/run/x.sock"]
)
def test_an_address_of_this_machine_alone_needs_nothing_else(address: str) -> None:
    assert listening_address(Env({"BIND": address})) == address


@pytest.mark.parametrize(
    "address", ["0.0.0.0:8000", "[::]:8000", "192.0.2.7:80", "lab.example.org:80"]
)
def test_an_address_that_others_reach_needs_https_and_a_proxy_or_a_word_that_it_is_meant(
    address: str,
) -> None:
    for missing in ({}, {"HTTPS": "1"}, {"FORWARDED_ALLOW_IPS": "10.0.0.5"}):
        with pytest.raises(EnvError, match=r"BIND=.*FORWARDED_ALLOW_IPS"):
            listening_address(Env({"BIND": address, **missing}))
    assert listening_address(Env({"BIND": address, **BEHIND_A_PROXY})) == address
    assert listening_address(Env({"BIND": address, "ALLOW_EXPOSED": "1"})) == address


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("BIND", address) for address in ("8000", "host:", "host:99999", "host:0", "unix:x")),
        *(("FORWARDED_ALLOW_IPS", name) for name in ("nginx", "10.0.0.1/8", "10.0.0.1 10.0.0.2")),
    ],
)
def test_an_invalid_address_is_refused(name: str, value: str) -> None:
    with pytest.raises(EnvError, match=f"{name}="):
        listening_address(Env(BEHIND_A_PROXY | {name: value}))
