"""A command spoken to line by line over its standard input and output."""

import time

from sandboxes.faults import lost
from sandboxes.running import End, Running
from sandboxes.sandbox import SandboxLost
from sandboxes.stream import STDOUT

_ERROR_TAIL = 4096
_LINE_LIMIT = 64 << 20


class CommandDuplex:
    """See sandboxes.sandbox.Duplex. One thread at a time."""

    def __init__(self, running: Running, end: End) -> None:
        self._running = running
        self._end = end
        self._received = bytearray()
        self._errors = bytearray()
        self._closed = False

    def send(self, payload: bytes) -> None:
        """Write payload to standard input. Raises SandboxLost where the command ended or does not read."""
        try:
            self._running.stream.send(payload)
        except OSError as error:
            raise self._gone() from error

    def receive_line(self, timeout_s: float) -> bytes:
        """One line of standard output without its newline. Raises TimeoutError, or SandboxLost at its end."""
        deadline = time.monotonic() + timeout_s
        searched = 0
        while (at := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if self._running.stream.ended or searched > _LINE_LIMIT:
                raise self._gone()
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no line within {timeout_s:g} s")
            for channel, body in self._running.stream.frames(left):
                if channel == STDOUT:
                    self._received += body
                else:
                    self._errors = (self._errors + body)[-_ERROR_TAIL:]
        line = bytes(self._received[:at])
        del self._received[: at + 1]
        return line

    def close(self) -> None:
        """End the command and whatever it started."""
        if self._closed:
            return
        self._closed = True
        self._running.stream.close()
        try:
            self._end(self._running.token)
        except SandboxLost:
            return

    def _gone(self) -> SandboxLost:
        said = self._errors.decode("utf-8", "backslashreplace").strip()
        return (
            SandboxLost(f"the command in the sandbox ended: {said}")
            if said
            else lost("speaking to a command")
        )
