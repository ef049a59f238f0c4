"""The image of deploy/compose, built without a registry and a daemon, and processes in containers of it.

The base comes from Debian's packages. Containers share the machine's network, and their processes are ones of the machine.
"""

import ast
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.web.site import spawn
from tests.experiment.http_client import ROOT

PROGRAMS = ("buildah", "mmdebstrap")
BASE, IMAGE, OWNER = "localhost/base", "localhost/brainbench-live", 1000  # OWNER: of the volumes
BUILT_WITHIN_S, RUN_WITHIN_S = 1800, 300


def missing() -> str:
    """The reason why no image can be built here."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"Debian: apt-get install {' '.join(absent)}"
    return "only root can change the root of a process" if os.geteuid() else ""


@dataclass(frozen=True, slots=True)
class Store:
    """A store of images and containers in a folder of the test's own."""

    folder: Path

    def command(self, *arguments: object) -> list[str]:
        places = ("--root", self.folder / "store", "--runroot", self.folder / "run")
        return [str(word) for word in ("buildah", *places, *arguments)]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "BUILDAH_ISOLATION": "chroot", "TMPDIR": str(self.folder)}

    def call(self, *arguments: object, within_s: int = RUN_WITHIN_S) -> str:
        """The output of buildah."""
        return self._call(self.command(*arguments), within_s)

    def build(self) -> None:
        """Build the base and the image."""
        archive = self.folder / "base.tar"
        packages = ("--variant=apt", "bookworm", str(archive))
        self._call(["mmdebstrap", "--quiet", *packages], BUILT_WITHIN_S)
        self.call("from", "--name", "base", "scratch")
        self.call("add", "base", archive, "/")
        self.call("commit", "--rm", "base", BASE)
        archive.unlink()
        file = ROOT / "deploy" / "compose" / "Dockerfile"
        given = ("--build-arg", f"BASE={BASE}", "--pull-never", *self._pips_configuration())
        self.call("build", *given, "--file", file, "--tag", IMAGE, ROOT, within_s=BUILT_WITHIN_S)

    def create(self, name: str, volumes: dict[str, Path]) -> None:
        """A container of the image; `volumes`: folders of the machine by their places in it."""
        given = [f"--volume={folder}:{place}" for place, folder in volumes.items()]
        self.call("from", "--pull-never", "--cap-drop=ALL", "--name", name, *given, IMAGE)

    def run(self, container: str, command: str, environment: dict[str, str], *options: str) -> str:
        """The output of a command in the container."""
        return self.call(
            "run", *options, *_variables(environment), container, "--", *shlex.split(command)
        )

    def start(
        self, container: str, command: str, environment: dict[str, str], log: Path
    ) -> subprocess.Popen[bytes]:
        """A process in the container that stays."""
        words = self.command(
            "run", *_variables(environment), container, "--", *shlex.split(command)
        )
        return spawn(words, self.folder, self.environment, log)

    def remove(self) -> None:
        """Remove all containers, images and files."""
        self.call("rm", "--all")
        self.call("rmi", "--all", "--force")
        shutil.rmtree(self.folder)

    def _pips_configuration(self) -> list[str]:
        """Options with which pip finds packages in a build as it does here: its settings, and the files and folders that they name."""
        told = self._call([sys.executable, "-m", "pip", "config", "list"], RUN_WITHIN_S)
        lines, volumes = {}, {}
        for setting in told.splitlines():  # those of the environment come first
            name, _, value = setting.partition("=")
            words = ast.literal_eval(value).split()
            for n, word in enumerate(words):
                path = Path(word.removeprefix("file://"))
                if path.is_absolute() and path.exists():
                    words[n] = word.replace(str(path), f"/mnt{path}")
                    # An index in a folder leads to files beside it
                    shared = path.parent if word.startswith("file:") else path
                    volumes[shared] = f"/mnt{shared}"
            name = name.rpartition(".")[2]
            lines.setdefault(name, f"{name} = {' '.join(words)}")
        file = self.folder / "pip.conf"
        file.write_text("\n".join(["[global]", *lines.values()]))
        volumes[file] = "/etc/pip.conf"
        return [f"--volume={here}:{there}:ro" for here, there in volumes.items()]

    def _call(self, command: list[str], within_s: int) -> str:
        done = subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
        return done.stdout


def _variables(environment: dict[str, str]) -> list[str]:
    return [f"--env={name}={text}" for name, text in environment.items()]


def stop(process: subprocess.Popen[bytes], within_s: int) -> int:
    """The exit status of a container's process after SIGTERM to its first one, as an engine stops it.

    Raises:
        subprocess.TimeoutExpired: it did not end.
    """
    # Above it are processes of buildah, which kill it when they end
    inside = [found for found in _below(process) if not found.cmdline()[0].startswith("buildah-")]
    first = min(inside, key=lambda found: (found.create_time(), found.pid))
    first.terminate()
    return process.wait(within_s)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End all processes of the container at once, if it still runs."""
    if process.poll() is None:
        for found in _below(process):
            found.kill()
        process.wait()


def _below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)
