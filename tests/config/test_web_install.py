"""A web machine installs neither torch nor what only scoring and tests take: the site starts and shows pages without."""

from pathlib import Path

import pytest

from tests import processes
from tests.experiment.http_client import database_url

ABSENT = "torch transformers tokenizers safetensors peft accelerate statsmodels lm_eval moto"
START = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT.split()!r}:
            raise ModuleNotFoundError(f"no {{name}} on a web machine", name=name)

sys.meta_path.insert(0, Absent())
import django
django.setup()
from django.core.management import call_command
call_command("check")
call_command("migrate", verbosity=0)
call_command("load_demo", stdout=open("/dev/null", "w"))
from django.contrib.auth import get_user_model
from django.test import Client
ruth = get_user_model().objects.create_superuser("ruth")
lab, visitor = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
lab.force_login(ruth)
assert visitor.get("/s/demo/", follow=True).status_code == 200
from django.urls import reverse
for name in ("study", "scoring", "results_live", "results_teams"):
    assert lab.get(reverse(f"lab:{{name}}", args=["demo"]), follow=True).status_code == 200, name
import importlib, pkgutil
from analysis import report, teams
for part in (report, teams):
    for found in pkgutil.walk_packages(part.__path__, part.__name__ + "."):
        importlib.import_module(found.name)
if sys.argv[1:]:
    asked = {{"kind": "simulated", "now": "1"}}
    assert b"found the original" in lab.get(reverse("lab:results", args=["demo"]), asked).content
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("compute", ["", pytest.param("compute", marks=pytest.mark.sweep)])
def test_the_site_starts_and_computes_results_without_what_scoring_takes(
    tmp_path: Path, compute: str
) -> None:
    environment = {"DATABASE_URL": database_url(), "STATIC_HASHED": "0"}
    done = processes.run("-c", START, *compute.split(), folder=tmp_path, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
