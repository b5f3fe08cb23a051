"""What is left when a process dies, a container is taken away, or an image is not there."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxes.docker_sandbox import DockerSandbox, open_sandbox
from sandboxes.engine import client
from sandboxes.owner import OWNER_FILE, is_dead, owned_folder, this_process
from sandboxes.reaper import reap
from sandboxes.sandbox import OWNER_LABEL, RUN_LABEL, ImageMissing, SandboxLost, SandboxSpec

Open = Callable[..., DockerSandbox]

_OWNER = """
import sys, time
from sandboxes.docker_sandbox import open_sandbox
from sandboxes.sandbox import SandboxSpec
sandbox = open_sandbox(SandboxSpec(image=sys.argv[1], user="agent", run_id="test-orphan"))
print(sandbox.container, flush=True)
time.sleep(600)
"""

_READER = """
import sys, time
from sandboxes.unstarted import unstarted
with unstarted(sys.argv[1]) as container:
    print(container, flush=True)
    time.sleep(600)
"""


def left(run_id: str) -> tuple[int, int]:
    wanted = {"label": f"{RUN_LABEL}={run_id}"}
    return len(client().api.containers(all=True, filters=wanted)), len(
        client().api.volumes(filters=wanted)["Volumes"] or []
    )


def test_close_leaves_nothing(opened: Open) -> None:
    sandbox = opened(run_id="test-close")
    assert left("test-close") == (1, 2)
    sandbox.close()
    sandbox.close()
    assert left("test-close") == (0, 0)


def test_the_reaper_after_kill_9_of_the_owner_and_not_before(image: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER, image], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline()
        reap()
        assert left("test-orphan") == (1, 2)
        owner.send_signal(signal.SIGKILL)
    assert any("test-orphan" in line for line in reap())
    assert left("test-orphan") == (0, 0)


def test_the_reaper_after_kill_9_in_the_middle_of_reading_an_image(image: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _READER, image], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        container = owner.stdout.readline().strip()
        assert client().api.inspect_container(container)
        owner.send_signal(signal.SIGKILL)
    reap()
    assert container not in {c["Id"] for c in client().api.containers(all=True)}


def test_the_reaper_takes_a_named_run_from_a_living_owner(opened: Open) -> None:
    opened(run_id="test-named")
    other = opened(run_id="test-other")
    reap("test-named")
    assert left("test-named") == (0, 0)
    assert other.exec(["true"]).exit_code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_of_the_host_is_one_sentence(image: str, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)], check=True)
    try:
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        script = [sys.executable, "-c", _OWNER, image]
        done = subprocess.run(script, env=env, capture_output=True, text=True, check=False, timeout=60)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert "SandboxFault: the host's disk is full" in done.stderr.splitlines()[-1]


def test_folders_of_a_killed_process_go(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="patchdeck-build-"))
    (folder / OWNER_FILE).write_text(f"4194303:1:{this_process().split(':', 2)[2]}")
    (folder / "secret").write_text("x")
    with owned_folder("build") as ours:
        assert f"folder {folder}" in reap()
        assert ours.is_dir()
    assert not folder.exists()


def test_owners() -> None:
    pid, start, place = this_process().split(":", 2)
    assert not is_dead(this_process())
    assert is_dead(f"{pid}:{int(start) + 1}:{place}"), "another process with our pid"
    assert is_dead(f"4194303:1:{place}")
    boot, namespace, machine = place.split(":")
    assert is_dead(f"{pid}:{start}:otherboot:{namespace}:{machine}"), "the same machine, started anew"
    assert not is_dead(f"{pid}:1:{boot}:{namespace}:othermachine"), "not ours to judge"
    assert not is_dead(f"{pid}:1:{boot}:1:{machine}"), "another process namespace"
    assert not is_dead("")
    assert not is_dead("nonsense")


def test_a_container_taken_away_in_mid_command_is_lost(sandbox: DockerSandbox) -> None:
    threading.Timer(1.0, lambda: client().api.remove_container(sandbox.container, force=True)).start()
    with pytest.raises(SandboxLost, match="gone or has stopped"):
        sandbox.exec(["sleep", "30"], timeout_s=20)
    for verb in (
        lambda: sandbox.exec(["true"]),
        lambda: sandbox.read("x"),
        sandbox.tree_difference,
        lambda: sandbox.write("x", b""),
    ):
        with pytest.raises(SandboxLost):
            verb()


def test_an_image_that_is_not_there() -> None:
    with pytest.raises(ImageMissing, match="patchdeck/test:absent is not on this engine"):
        open_sandbox(SandboxSpec(image="patchdeck/test:absent"))


def test_labels_name_run_and_owner(opened: Open) -> None:
    sandbox = opened(run_id="test-labels")
    labels = client().api.inspect_container(sandbox.container)["Config"]["Labels"]
    assert labels[RUN_LABEL] == "test-labels"
    assert labels[OWNER_LABEL].startswith(f"{os.getpid()}:")
    assert sandbox.spec == type(sandbox.spec).model_validate_json(sandbox.spec.model_dump_json())


def test_opening_in_parallel(opened: Open) -> None:
    from concurrent.futures import ThreadPoolExecutor

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _n: opened(run_id="test-parallel"), range(8)))
    assert len({sandbox.container for sandbox in made}) == 8
    assert all(sandbox.read("gone.txt") == b"x\n" for sandbox in made)
    assert time.monotonic() - began < 60
