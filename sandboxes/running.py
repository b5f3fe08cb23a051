"""One command under way in a container: feed it, collect what it prints, end it at its time."""

import select
import time
from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.engine import client
from sandboxes.faults import lost, translated
from sandboxes.sandbox import ExecResult, SandboxLost
from sandboxes.stream import EngineStream

End = Callable[[str], None]

_DRAIN_S = 3.0
_QUIET_S = 0.25
_LAST_WORDS_S = 1.0
_INTERVAL_S = 0.01


@dataclass
class Running:
    """command: the engine's id of it; token: what its processes carry in their environment."""

    container: str
    command: str
    token: str
    stream: EngineStream

    def finish(self, stdin: bytes | None, timeout_s: float, output_bytes: int, end: End) -> ExecResult:
        """Wait for the end, or bring it about after timeout_s. More than output_bytes is dropped."""
        began = time.monotonic()
        deadline = began + timeout_s
        kept = bytearray()
        truncated = False

        def take(wait_s: float) -> bool:
            nonlocal truncated
            any_came = False
            for _, body in self.stream.frames(wait_s):
                any_came = True
                room = output_bytes - len(kept)
                kept.extend(body[:room])
                truncated = truncated or len(body) > room
                if time.monotonic() > deadline:
                    break
            return any_came

        try:
            unsent = memoryview(stdin or b"")
            input_open = stdin is not None
            while not self.stream.ended and (left := deadline - time.monotonic()) > 0:
                if input_open:
                    unsent, input_open = self._feed(unsent, min(left, _QUIET_S))
                    take(0.0)
                # A child in the background holds the output open: ask whether the command itself is done.
                elif not take(min(left, _QUIET_S)) and not self.stream.ended and self.exit_code() is not None:
                    # What it printed last may still be on its way.
                    while not self.stream.ended and time.monotonic() < deadline and take(_LAST_WORDS_S):
                        pass
                    break
            timed_out = not self.stream.ended and self.exit_code() is None
            if timed_out:
                end(self.token)
                drained = time.monotonic() + _DRAIN_S
                deadline = drained
                while not self.stream.ended and time.monotonic() < drained:
                    take(_QUIET_S)
                exit_code = None
            else:
                exit_code = self._await_exit_code()
        finally:
            self.stream.close()
        seconds = time.monotonic() - began
        return ExecResult(exit_code, bytes(kept), timed_out, truncated, seconds)

    def exit_code(self) -> int | None:
        """The exit status, or None while the command runs. Raises SandboxLost where the container is gone."""
        with translated("asking how a command ended"):
            state = client().api.exec_inspect(self.command)
        return None if state["Running"] or state["ExitCode"] is None else int(state["ExitCode"])

    def _await_exit_code(self) -> int:
        deadline = time.monotonic() + _DRAIN_S
        while (code := self.exit_code()) is None:
            if time.monotonic() > deadline:
                raise SandboxLost("the engine does not say how a command ended")
            time.sleep(_INTERVAL_S)
        return code

    def _feed(self, unsent: memoryview, wait_s: float) -> tuple[memoryview, bool]:
        """Send what goes now. Returns what is left and whether standard input is still open."""
        poll = select.poll()
        poll.register(self.stream.fileno(), select.POLLIN | (select.POLLOUT if unsent else 0))
        if unsent:
            poll.poll(wait_s * 1000)
        try:
            unsent = unsent[self.stream.send_some(unsent) :] if unsent else unsent
            if not unsent:
                self.stream.end_input()
                return unsent, False
        except (BrokenPipeError, ConnectionResetError):
            # The command ended without reading all of its input, which is its right.
            return unsent[:0], False
        except OSError as error:
            raise lost("feeding a command") from error
        return unsent, True
