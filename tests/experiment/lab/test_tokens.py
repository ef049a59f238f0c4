"""A researcher makes, sees and revokes their own tokens; the lines to copy do what they promise."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.template import Context
from django.template.loader import get_template
from django.test import Client

from experiment.models import AccessToken, AuditEvent, Study
from tests.api_client import Program
from tests.experiment.lab_client import run
from tests.factories import make_participant, make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/tokens/"
ACCOUNT = "/lab/account/tokens/"
NEW = {"name": "laptop", "scopes": ["read"], "days": "30"}


def test_a_new_token_is_shown_once_and_works(ruth: Client) -> None:
    answer = ruth.post(PAGE, NEW)
    shown = re.findall(r"bbl_[\w-]{43}", answer.text)
    assert len(shown) == 1
    program = Program()
    program.headers["Authorization"] = f"Bearer {shown[0]}"
    assert program.get("studies/memory/items/").status_code == 200
    assert "no-store" in answer["Cache-Control"]
    for page in (PAGE, ACCOUNT):
        text = ruth.get(page).text
        assert shown[0] not in text
        assert "laptop" in text
    assert list(AuditEvent.objects.values_list("actor", "action"))[-1] == ("ruth", "token_created")


def test_a_token_is_revoked_by_its_owner_alone(ruth: Client, study: Study) -> None:
    ruth.post(PAGE, NEW)
    token = AccessToken.objects.get()
    other = Client()
    other.force_login(make_user("otto", study))
    assert other.post(PAGE, {"revoke": token.pk}).status_code == 404
    assert other.post(ACCOUNT, {"revoke": token.pk}).status_code == 404
    assert "laptop" not in other.get(PAGE).text
    assert ruth.post(PAGE, {"revoke": "x"}).status_code == 404
    assert ruth.post(PAGE, {"revoke": token.pk}).status_code == 302
    assert "revoked" in ruth.get(PAGE).text
    assert not AccessToken.objects.usable().exists()
    assert AuditEvent.objects.filter(action="token_revoked", actor="ruth").count() == 1


@pytest.mark.parametrize(
    "change",
    [{"name": ""}, {"scopes": ["all"]}, {"days": "9999"}],
)
def test_values_that_make_no_token_are_reported_at_their_field(
    ruth: Client, change: dict[str, Any]
) -> None:
    answer = ruth.post(PAGE, NEW | change)
    assert (answer.status_code, AccessToken.objects.exists()) == (422, False)
    assert answer.text.count("field-error") == 1


def test_the_lines_ask_for_what_the_page_was_asked_for(ruth: Client) -> None:
    text = ruth.get(PAGE + "?set=all&source=human&from=2026-01-01").text
    query = "set=all&amp;from=2026-01-01&amp;source=human&amp;format=csv"
    assert text.count(query) == 3
    wrong = ruth.get(PAGE + "?set=none").text
    assert "set=analysis&amp;format=csv" in wrong
    assert "is not one of all, analysis" in wrong


@pytest.mark.django_db(transaction=True)
def test_the_lines_for_a_shell_download_the_commands_file(
    live_server: Any, study: Study, tmp_path: Path
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    make_participant(study)
    secret = Program(make_user("ruth", study)).secret
    path = tmp_path / "command.csv"
    run("export_trials", "memory", "--set", "analysis", "--output", str(path))
    # As a browser's clipboard has it
    url = f"{live_server.url}/api/v1/studies/memory/trials/?set=analysis&format=csv"
    template = get_template("lab/tokens/snippets/curl.txt").template
    command = ["bash", "-c", template.render(Context({"url": url}, autoescape=False))]
    subprocess.run(command, cwd=tmp_path, input=f"{secret}\n", text=True, check=True)
    assert (tmp_path / "trials.csv").read_bytes() == path.read_bytes()
    assert subprocess.run(command, cwd=tmp_path, input="bbl_x\n", text=True).returncode != 0
