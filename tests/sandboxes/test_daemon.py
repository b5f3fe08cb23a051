"""Starting an engine, also after a hard stop left its files behind. The machine's own engine is left
alone."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.daemon import DaemonPlace, answers, remove_stale, start_daemon
from sandboxes.engine import client, ensure_engine
from sandboxes.faults import EngineMissing
from sandboxes.health import checks


@pytest.fixture
def place(tmp_path: Path) -> Iterator[DaemonPlace]:
    # A socket's path must stay under 108 bytes.
    root = Path(f"/tmp/patchdeck-dockerd-{os.getpid()}")
    root.mkdir()
    arguments = ("--data-root", str(root / "data"), "--bridge=none", "--iptables=false", "--ip-masq=false")
    # dockerd removes a bridge that it is told not to use: the machine's own engine must not lose its.
    apart = ("unshare", "--net", "--")
    yield DaemonPlace(root / "d.sock", root / "d.pid", root / "exec", arguments, apart)
    subprocess.run(["umount", "-R", str(root / "data")], check=False, capture_output=True)
    shutil.rmtree(root, ignore_errors=True)


def hard_stop(place: DaemonPlace) -> None:
    for pid_file in (place.pid_file, place.containerd_pid_file):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            while (
                Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
            ):
                time.sleep(0.05)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("dockerd"), reason="needs root and dockerd")
def test_a_second_engine_starts_and_starts_again_after_a_hard_stop(place: DaemonPlace) -> None:
    said: list[str] = []
    start_daemon(place, said.append)
    assert answers(place.socket)
    hard_stop(place)
    assert place.pid_file.exists()
    assert not answers(place.socket)
    # The number of the dead daemon now belongs to somebody else.
    place.pid_file.write_text(str(os.getpid()))
    start_daemon(place, said.append)
    assert answers(place.socket)
    assert any(str(place.pid_file) in line for line in said)
    hard_stop(place)


_WORK = """
import sys
from sandboxes.docker_sandbox import open_sandbox
from sandboxes.sandbox import SandboxSpec
sandbox = open_sandbox(SandboxSpec(image="small"))
print("opened", flush=True)
try:
    print(sandbox.exec(["sleep", "30"], timeout_s=20))
except Exception as fault:
    print(type(fault).__name__, fault, flush=True)
sandbox.close()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("dockerd"), reason="needs root and dockerd")
def test_an_engine_stopped_in_mid_command_is_a_lost_sandbox(place: DaemonPlace, base: str) -> None:
    start_daemon(place, lambda _line: None)
    env = {**os.environ, "DOCKER_HOST": f"unix://{place.socket}"}
    container = client().api.create_container(base, ["true"])["Id"]
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as exported:
            subprocess.run(["docker", "import", "-", "small"], stdin=exported.stdout, env=env, check=True)
    finally:
        client().api.remove_container(container)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", _WORK], env=env, stdout=subprocess.PIPE, text=True
        ) as work:
            assert work.stdout is not None
            assert work.stdout.readline() == "opened\n"
            time.sleep(1.0)
            os.kill(int(place.pid_file.read_text()), signal.SIGKILL)
            began = time.monotonic()
            said = work.stdout.read()
        assert time.monotonic() - began < 10
        assert said.startswith("SandboxLost the Docker engine stopped answering")
        assert "start it again" in said
    finally:
        start_daemon(place, lambda _line: None)
        subprocess.run("docker rm -f $(docker ps -aq)", shell=True, env=env, check=False, capture_output=True)
        hard_stop(place)


def test_files_of_a_living_daemon_stay(tmp_path: Path) -> None:
    place = DaemonPlace(tmp_path / "d.sock", tmp_path / "d.pid", tmp_path / "exec")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.socket))
        real = Path("/var/run/docker.pid")
        if real.exists():
            place.pid_file.write_text(real.read_text())
            assert remove_stale(place) == []
        place.pid_file.write_text("nonsense")
        assert remove_stale(place) == [place.pid_file, place.socket]
        assert remove_stale(place) == []


def test_a_daemon_that_cannot_start_is_one_sentence(tmp_path: Path) -> None:
    if not shutil.which("dockerd"):
        pytest.skip("needs dockerd")
    place = DaemonPlace(tmp_path / "d.sock", tmp_path / "d.pid", tmp_path / "exec", ("--no-such-option",))
    with pytest.raises(EngineMissing, match="dockerd does not start"):
        start_daemon(place, lambda _line: None)


def test_an_engine_that_is_there_is_used() -> None:
    said: list[str] = []
    ensure_engine(said.append)
    assert said == ["answering"]
    assert client() is client()


def test_no_engine_is_one_sentence() -> None:
    script = "from sandboxes.engine import client\nclient()"
    env = {**os.environ, "DOCKER_HOST": "unix:///nonexistent.sock"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert "EngineMissing: no Docker engine answers: run `patchdeck setup`" in done.stderr.splitlines()[-1]


def test_checks_are_quick_and_good() -> None:
    began = time.monotonic()
    found = {name: ok for name, ok, _, _ in checks()}
    assert time.monotonic() - began < 1.0
    assert found["Docker engine"]
    assert found["sandbox base image"]
