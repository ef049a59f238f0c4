"""A copy of published data holds its own files alone: links out of it, pipes and folders in their place are refused."""

import os
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from experiment.models import Item
from tests.experiment.imports import small_copy
from tests.experiment.imports.small_copy import FULL, HUMAN, IDS, TRIALS, SmallCopy

pytestmark = pytest.mark.django_db


@pytest.fixture
def copy(tmp_path: Path) -> SmallCopy:
    copy = SmallCopy(tmp_path / "copy")
    copy.write()
    copy.write_models()
    return copy


def refusal(root: Path) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("import_brainbench", str(root))
    assert not Item.objects.exists()
    return str(refused.value)


@pytest.mark.parametrize("name", [HUMAN, TRIALS, FULL])
def test_a_link_out_of_the_copy_is_refused_by_its_name(copy: SmallCopy, name: str) -> None:
    path = copy.root / name
    path.replace(copy.root.parent / "elsewhere")
    path.symlink_to(copy.root.parent / "elsewhere")
    assert f"{name}: is a link that leads out" in refusal(copy.root)


def test_a_folder_that_is_a_link_out_of_the_copy_is_refused(copy: SmallCopy) -> None:
    for name in ("human_results", small_copy.CHAT):
        outside = copy.root.parent / "outside"
        (copy.root / name).rename(outside)
        (copy.root / name).symlink_to(outside)
        assert f"{name}: is a link that leads out" in refusal(copy.root)
        (copy.root / name).unlink()
        outside.rename(copy.root / name)


@pytest.mark.parametrize("name", [HUMAN, IDS, FULL])
def test_what_is_no_file_is_not_taken_for_an_absent_one(copy: SmallCopy, name: str) -> None:
    path = copy.root / name
    path.unlink()
    path.mkdir()
    assert f"{name}: is a folder, where a file belongs" in refusal(copy.root)
    path.rmdir()
    os.mkfifo(path)
    assert f"{name}: is no regular file" in refusal(copy.root)
    path.unlink()
    path.symlink_to("nothing")
    assert f"{name}: is a link to nowhere" in refusal(copy.root)


def test_a_folder_of_answers_without_participants_is_refused(copy: SmallCopy) -> None:
    said = f"{copy.root}/human_results/: holds no participants: "
    whole = (copy.root / TRIALS).read_bytes()
    (copy.root / TRIALS).write_bytes(whole.splitlines(keepends=True)[0])
    assert f"{said}{TRIALS} has no row" in refusal(copy.root)
    (copy.root / TRIALS).unlink()
    assert f"{said}there is no {TRIALS}; " in refusal(copy.root)
    (copy.root / TRIALS).write_bytes(whole)
    (copy.root / IDS).unlink()
    assert f"{said}there is no {IDS}; " in refusal(copy.root)


def test_links_within_the_copy_and_to_the_whole_of_it_are_followed(copy: SmallCopy) -> None:
    (copy.root / HUMAN).rename(copy.root / "stored")
    (copy.root / HUMAN).symlink_to("../stored")
    shutil.copytree(copy.root, copy.root.parent / "other", symlinks=True)
    (copy.root.parent / "linked").symlink_to("other")
    call_command("import_brainbench", str(copy.root.parent / "linked"))
    assert Item.objects.filter(source="human").exists()
