"""Base images: pulled from a registry where one answers, else made here with debootstrap."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

from sandboxes.build import build_image, image_exists
from sandboxes.engine import Report, client
from sandboxes.faults import translated
from sandboxes.sandbox import SandboxFault

_PULL_S = 20


class BaseUnavailable(SandboxFault):
    """A base image can be neither pulled nor made here."""


@dataclass(frozen=True)
class BaseRecipe:
    """A Debian suite with packages, and a user `agent` (uid 1000) who is not root."""

    suite: str
    registry_image: str
    packages: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([1, self.suite, self.packages, _FINISH]).encode()).hexdigest()[:12]


_FINISH = (
    "id agent >/dev/null 2>&1 || useradd --create-home --uid 1000 --shell /bin/bash agent",
    "rm -rf /var/cache/apt/archives/*.deb /var/cache/apt/*.bin /var/lib/apt/lists/* /var/log/*.log "
    "/usr/share/doc/* /usr/share/man/* /usr/share/locale/* /usr/share/info/*",
)

_PYTHON = ("ca-certificates", "git", "procps", "python3", "python3-pip", "python3-venv")
_COMPILER = ("g++", "gcc", "libc6-dev", "make", "pkg-config", "python3-dev")

BASES = {
    "python-debian12": BaseRecipe("bookworm", "debian:12-slim", _PYTHON),
    "python-debian12-compiler": BaseRecipe("bookworm", "debian:12-slim", (*_PYTHON, *_COMPILER)),
}
"""The compiler doubles the image and the time; most packages have wheels, so it is a base of its own."""


def base_tag(name: str = "python-debian12") -> str:
    """The tag of a base, which changes with the recipe. Raises BaseUnavailable for an unknown name."""
    if name not in BASES:
        raise BaseUnavailable(f"no base image is called {name}: there are {', '.join(sorted(BASES))}")
    return f"patchdeck/base:{name}-{BASES[name].digest}"


def ensure_base(name: str = "python-debian12", report: Report | None = None) -> str:
    """The tag of the base image, made where it is missing (a minute or two). Raises BaseUnavailable.

    Killed at any moment, it leaves no tag; the next call removes what was left on disk.
    """
    say = report or (lambda _message: None)
    tag = base_tag(name)
    if image_exists(tag):
        return tag
    recipe = BASES[name]
    cache = user_cache_path("patchdeck", ensure_exists=True)
    with FileLock(cache / f"base-{name}.lock"):
        if image_exists(tag):
            return tag
        if name.endswith("-compiler"):
            parent = ensure_base(name.removesuffix("-compiler"), report)
            say("adding the compiler")
            _install(parent, recipe, tag)
        elif _pull(recipe, say):
            say("installing packages")
            _install(recipe.registry_image, recipe, tag)
        else:
            _bootstrap(recipe, tag, cache / f"base-{name}", say)
    say("ready")
    return tag


def _pull(recipe: BaseRecipe, say: Report) -> bool:
    """Whether the registry's image is here now; one silent for _PULL_S seconds is not reachable."""
    import docker.errors
    import requests.exceptions

    if image_exists(recipe.registry_image):
        return True
    say(f"asking the registry for {recipe.registry_image}")
    repository, _, version = recipe.registry_image.partition(":")
    api = client().api
    patient, api.timeout = api.timeout, _PULL_S
    try:
        for line in api.pull(repository, tag=version, stream=True, decode=True):
            if "error" in line:
                return False
            if line.get("progress"):
                say(f"{line.get('status', '')} {line['progress']}".strip())
    except (docker.errors.APIError, requests.exceptions.RequestException, OSError):
        return False
    finally:
        api.timeout = patient
    return image_exists(recipe.registry_image)


def _install(base: str, recipe: BaseRecipe, tag: str) -> None:
    packages = " ".join(recipe.packages)
    commands = [f"apt-get update -q && apt-get install -q -y --no-install-recommends {packages}", *_FINISH]
    result = build_image(base, commands, tag=tag, labels={"patchdeck.image": "base"})
    if not result.ok:
        last = (result.log.strip().splitlines() or [""])[-2:]
        raise BaseUnavailable(f"`{result.failed_command}` failed in the base image: {' '.join(last)}")


def _bootstrap(recipe: BaseRecipe, tag: str, folder: Path, say: Report) -> None:
    if os.geteuid() != 0:
        raise BaseUnavailable(
            f"no registry answers with {recipe.registry_image}, and without root debootstrap can't make the "
            "base image: run `patchdeck setup` as root, or load an image of that name with `docker load`"
        )
    _ensure_debootstrap(say)
    remove_bootstrap(folder)
    folder.mkdir(parents=True)
    root = folder / "root"
    try:
        packages = ",".join(recipe.packages)
        command = [
            "debootstrap",
            "--variant=minbase",
            f"--include={packages}",
            recipe.suite,
            str(root),
        ]
        with _bound_to_us(command) as process:
            last = ""
            assert process.stdout is not None
            for raw in process.stdout:
                last = raw.decode("utf-8", "backslashreplace").strip()
                say(last.removeprefix("I: "))
        if process.returncode != 0:
            raise BaseUnavailable(
                f"debootstrap could not make the base image ({last}): check that Debian's package "
                "mirror can be reached, then run the same command again"
            )
        for finish in _FINISH:
            subprocess.run(["chroot", str(root), "/bin/sh", "-c", finish], check=True, capture_output=True)
        say("importing into Docker")
        _import(root, tag)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "backslashreplace").strip()
        raise BaseUnavailable(f"the base image could not be finished: {said}") from error
    finally:
        remove_bootstrap(folder)


def _ensure_debootstrap(say: Report) -> None:
    if shutil.which("debootstrap"):
        return
    if not shutil.which("apt-get"):
        raise BaseUnavailable("no registry answers and this machine has no debootstrap: install it")
    say("installing debootstrap")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "debootstrap", "debian-archive-keyring"]
    done = subprocess.run(install, env=env, capture_output=True, check=False)
    if done.returncode != 0:
        subprocess.run(["apt-get", "update", "-q"], env=env, capture_output=True, check=False)
        done = subprocess.run(install, env=env, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise BaseUnavailable(f"debootstrap can't be installed: {said[-1] if said else 'apt-get failed'}")


@contextmanager
def _bound_to_us(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The command in its own session, ended where we leave early."""
    bound = ["setpriv", "--pdeathsig", "KILL", *command] if shutil.which("setpriv") else command
    process = subprocess.Popen(
        bound, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield process
        process.wait()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _import(root: Path, tag: str) -> None:
    """Stream the tree into the engine; the tag appears only when all of it has arrived."""
    repository, _, version = tag.partition(":")
    pack = [
        "tar",
        "--numeric-owner",
        "--sort=name",
        "-C",
        str(root),
        "--exclude=./proc/*",
        "--exclude=./sys/*",
    ]
    with subprocess.Popen([*pack, "-c", "."], stdout=subprocess.PIPE) as packing:
        with translated("importing the base image"):
            stream: Any = packing.stdout
            client().api.import_image_from_stream(
                stream,
                repository=repository,
                tag=version,
                changes=['LABEL patchdeck.image="base"', 'CMD ["/bin/bash"]'],
            )
        if packing.wait() != 0:
            client().api.remove_image(tag, force=True)
            raise BaseUnavailable("the base image could not be packed: is the disk full?")


def remove_bootstrap(folder: Path) -> None:
    """Remove what a debootstrap left, also one that was killed with its processes and mounts alive."""
    if not folder.exists():
        return
    inside = f"{folder.resolve()}/"
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if str((process / "root").readlink()).startswith(inside):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it ended, or is a kernel thread
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(inside)), key=len, reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    if any(mount.startswith(inside) for mount in mounts):
        raise BaseUnavailable(f"something is still mounted below {folder}: unmount it, then try again")
    shutil.rmtree(folder, ignore_errors=True)
