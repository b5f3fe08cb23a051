"""The browser's container: no network, not root, read-only, limited, and spoken to over standard input and
output."""

import json
import secrets
import time
from typing import Any

from sandboxes.browser.image import PYTHON, USER_ID
from sandboxes.browser.source import BOOT, seccomp_profile, worker_archive
from sandboxes.container import KIND_LABEL, remove_container
from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.owner import this_process
from sandboxes.sandbox import OWNER_LABEL, RUN_LABEL, SandboxFault, SandboxLost
from sandboxes.stream import STDOUT, EngineStream

MEMORY = 2 << 30
PIDS = 512
START_S = 120.0
_LARGEST_EVENT = 256 << 20
_ERROR_TAIL = 4096


class BrowserContainer:
    """One running worker. Not for use by two threads at once."""

    def __init__(self, image: str, run_id: str) -> None:
        """Start it and wait until its Chromium is up. Raises SandboxFault."""
        self._received = bytearray()
        self._errors = bytearray()
        self._id = _create(image, run_id)
        try:
            with translated("starting the browser's container"):
                api = client().api
                attached = api.attach_socket(
                    self._id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                )
                self._stream = EngineStream(attached)
                api.start(self._id)
            archive = worker_archive()
            self._write(str(len(archive)).encode() + b"\n" + archive)
            first = self.receive(START_S)
            if first["event"] != "ready":
                raise SandboxFault(f"the browser does not start in its container: {first.get('detail', '')}")
            self.version = str(first["version"])
        except TimeoutError as error:
            self.close()
            raise SandboxLost(f"the browser did not start within {START_S:g} s{self._said()}") from error
        except BaseException:
            self.close()
            raise

    def send(self, message: dict[str, Any]) -> None:
        self._write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """The worker's next event. Raises TimeoutError, or SandboxLost where the worker ended."""
        deadline = time.monotonic() + timeout_s
        searched = 0
        while (at := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if self._stream.ended or searched > _LARGEST_EVENT:
                raise SandboxLost(f"the browser's worker ended{self._said()}")
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no event from the browser's worker within {timeout_s:g} s")
            for channel, body in self._stream.frames(left):
                if channel == STDOUT:
                    self._received += body
                else:
                    self._errors = (self._errors + body)[-_ERROR_TAIL:]
        event: dict[str, Any] = json.loads(self._received[:at])
        del self._received[: at + 1]
        return event

    def close(self) -> None:
        """End and remove the container; an engine that is gone is no error here."""
        stream = getattr(self, "_stream", None)
        if stream is not None:
            stream.close()
        try:
            remove_container(self._id)
        except SandboxLost:
            return

    def _write(self, payload: bytes) -> None:
        try:
            self._stream.send(payload)
        except OSError as error:
            raise SandboxLost(f"the browser's worker does not listen{self._said()}") from error

    def _said(self) -> str:
        said = self._errors.decode("utf-8", "backslashreplace").strip().splitlines()
        return f": {' | '.join(said[-4:])[:800]}" if said else ""


def _create(image: str, run_id: str) -> str:
    from docker.types import LogConfig

    with translated("creating the browser's container"):
        api = client().api
        host_config = api.create_host_config(
            network_mode="none",
            init=True,
            read_only=True,
            tmpfs={"/tmp": "size=768m,mode=1777", "/home/pages": f"size=64m,uid={USER_ID},gid={USER_ID}"},
            mem_limit=MEMORY,
            memswap_limit=MEMORY,
            pids_limit=PIDS,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={seccomp_profile()}"],
            log_config=LogConfig(type="none"),
        )
        made: str = api.create_container(
            image,
            [PYTHON, "-B", "-c", BOOT],
            name=f"patchdeck-browser-{secrets.token_hex(6)}",
            user=f"{USER_ID}:{USER_ID}",
            environment={"HOME": "/home/pages", "LANG": "C.UTF-8", "TZ": "UTC"},
            working_dir="/home/pages",
            stdin_open=True,
            labels={RUN_LABEL: run_id, OWNER_LABEL: this_process(), KIND_LABEL: "browser"},
            host_config=host_config,
        )["Id"]
    return made
