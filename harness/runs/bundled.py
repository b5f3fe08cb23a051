"""The bundled model, served by a child process for the length of a run."""

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

BUNDLED = "bundled"
START_S = 180.0
_PR_SET_PDEATHSIG = 1


class ModelServerFailed(RuntimeError):
    """`patchdeck serve` did not come up."""


@contextlib.contextmanager
def bundled_server(log: Path) -> Iterator[str]:
    """Run `patchdeck serve` on a free port; yields its base URL. It dies with this process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("ab") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "patchdeck.cli", "serve", "--port", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
        )
    try:
        _wait(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: "subprocess.Popen[bytes]", health: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(health, timeout=5).status_code == 200:
                return
        if server.poll() is not None:
            break
        time.sleep(0.2)
    tail = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it printed nothing"]
    raise ModelServerFailed(f"`patchdeck serve` did not start: {tail[0]}; the whole is in {log}")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
