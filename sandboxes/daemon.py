"""Install and start dockerd on a machine that has none running."""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from sandboxes.engine import Report
from sandboxes.faults import EngineMissing

_START_S = 60.0
_POLL_S = 0.25


@dataclass(frozen=True)
class DaemonPlace:
    """Where one dockerd keeps its run-time files, and how it is started."""

    socket: Path = Path("/var/run/docker.sock")
    pid_file: Path = Path("/var/run/docker.pid")
    exec_root: Path = Path("/var/run/docker")
    arguments: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """What the command starts with. A second engine on a machine belongs in a network namespace of its own,
    or it takes the first one's bridge away."""

    @property
    def containerd_pid_file(self) -> Path:
        return self.exec_root / "containerd/containerd.pid"

    @property
    def containerd_sockets(self) -> list[Path]:
        folder = self.exec_root / "containerd"
        return [*folder.glob("*.sock"), *folder.glob("*.sock.ttrpc")]


def provide_daemon(say: Report) -> None:
    """Install docker.io where dockerd is missing and start it. Raises EngineMissing with one sentence."""
    if named := os.environ.get("DOCKER_HOST"):
        raise EngineMissing(
            f"DOCKER_HOST names {named}, where no engine answers: start it or unset the variable"
        )
    if os.geteuid() != 0:
        raise EngineMissing(
            "no Docker engine answers and only root can start one: run `patchdeck setup` as root, or ask for "
            "docker.io to be installed and for this user to be in the group `docker`"
        )
    with FileLock(user_cache_path("patchdeck", ensure_exists=True) / "daemon.lock"):
        if not shutil.which("dockerd"):
            install_engine(say)
        if not answers(DaemonPlace().socket):
            start_daemon(DaemonPlace(), say)


def install_engine(say: Report) -> None:
    """Debian's and Ubuntu's own package. Raises EngineMissing."""
    if not shutil.which("apt-get"):
        raise EngineMissing(
            "Docker is not installed and this is neither Debian nor Ubuntu: install it as "
            "https://docs.docker.com/engine/install/ says"
        )
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # The package's own start of the service may fail without an init system, which is no failure for us.
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "docker.io"]):
        say(" ".join(command))
        done = subprocess.run(command, env=env, capture_output=True, check=False)
    if not shutil.which("dockerd"):
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise EngineMissing(f"docker.io can't be installed: {said[-1] if said else 'apt-get failed'}")


def start_daemon(place: DaemonPlace, say: Report) -> int:
    """Start dockerd detached, and wait until it answers. Returns its pid. Raises EngineMissing."""
    for removed in remove_stale(place):
        say(f"removed {removed}, left by a hard stop")
    log = user_cache_path("patchdeck", ensure_exists=True) / f"dockerd-{place.socket.stem}.log"
    say("starting dockerd")
    command = [*place.before, "dockerd", "-H", f"unix://{place.socket}", "--pidfile", str(place.pid_file)]
    command += ["--exec-root", str(place.exec_root), *place.arguments]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True, cwd="/"
        )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if answers(place.socket):
            return process.pid
        if process.poll() is not None:
            break
        time.sleep(_POLL_S)
    else:
        process.terminate()
    raise EngineMissing(f"dockerd does not start ({_last_words(log)}): its log is {log}")


def remove_stale(place: DaemonPlace) -> list[Path]:
    """Remove pid files whose process is not the daemon any more, and then the sockets it left."""
    removed = []
    for pid_file, name in ((place.pid_file, "dockerd"), (place.containerd_pid_file, "containerd")):
        if pid_file.exists() and not _runs(pid_file, name):
            pid_file.unlink()
            removed.append(pid_file)
    sockets = [] if place.pid_file.exists() else [place.socket]
    if not place.containerd_pid_file.exists():
        sockets += place.containerd_sockets
    for socket in sockets:
        if socket.exists():
            socket.unlink()
            removed.append(socket)
    return removed


def answers(socket: Path) -> bool:
    """Whether an engine answers on the socket within two seconds."""
    import docker
    import docker.errors
    import requests.exceptions

    if not socket.exists():
        return False
    try:
        connection = docker.DockerClient(base_url=f"unix://{socket}", timeout=2)
        try:
            return bool(connection.ping())
        finally:
            connection.close()
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError):
        return False


def _runs(pid_file: Path, name: str) -> bool:
    """Whether the pid in the file is a living process of that name, and not another with its number."""
    pid = pid_file.read_text(errors="replace").strip()
    if not pid.isdigit():
        return False
    try:
        # A killed daemon that nobody has waited for yet keeps its name, but is not running.
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        state = next(line.split()[1] for line in status if line.startswith("State:"))
        return status[0].split()[1] == name and state not in "ZX"
    except OSError:
        return False


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="backslashreplace").splitlines() if line.strip()]
    return lines[-1][-200:] if lines else "it says nothing"
