"""The server that a run starts for the bundled model, and its end."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from harness.runs.bundled import bundled_server

HOLDER = """
import sys, time
from pathlib import Path
from harness.runs.bundled import bundled_server
with bundled_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(600)
"""


def alive(url: str) -> bool:
    try:
        return httpx.get(url.removesuffix("/v1") + "/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_the_server_ends_with_the_block(tmp_path: Path) -> None:
    with bundled_server(tmp_path / "server.log") as url:
        assert alive(url)
    assert not alive(url)


def test_the_server_dies_with_a_process_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "server.log")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    url = holder.stdout.readline().strip()
    assert alive(url)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    deadline = time.monotonic() + 10
    while alive(url):
        assert time.monotonic() < deadline, "the server outlived the run that started it"
        time.sleep(0.05)
