"""A hijacked engine connection: standard input one way, framed standard output and error the other."""

import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

STDOUT, STDERR = 1, 2
_HEADER = struct.Struct(">BxxxL")


class EngineStream:
    """Frames of one attached container or running command. Not for use by two threads at once."""

    def __init__(self, response_socket: Any) -> None:
        """response_socket is what docker-py's attach_socket or exec_start(socket=True) gives."""
        self._keep = response_socket
        self._socket: socket.socket = getattr(response_socket, "_sock", response_socket)
        self._socket.setblocking(False)
        self._pending = bytearray(_read_ahead(response_socket))
        self.ended = False

    def fileno(self) -> int:
        return self._socket.fileno()

    def frames(self, wait_s: float) -> Iterator[tuple[int, bytes]]:
        """Whole or partial frames that are there within wait_s. Nothing, and ended set, after the last."""
        if not self._pending and not self._fill(wait_s):
            return
        while True:
            while len(self._pending) >= _HEADER.size:
                channel, length = _HEADER.unpack_from(self._pending)
                body = bytes(self._pending[_HEADER.size : _HEADER.size + length])
                if len(body) < length and len(body) == 0:
                    break
                del self._pending[: _HEADER.size + len(body)]
                if len(body) < length:
                    # A frame may be megabytes long: hand on what came and keep a header for the rest.
                    self._pending[:0] = _HEADER.pack(channel, length - len(body))
                    yield channel, body
                    break
                yield channel, body
            if not self._fill(0.0):
                return

    def send_some(self, payload: memoryview) -> int:
        """Send what the connection takes at once; 0 where it takes nothing now. Raises OSError."""
        try:
            return self._socket.send(payload)
        except BlockingIOError:
            return 0

    def send(self, payload: bytes, timeout_s: float = 60.0) -> None:
        """Send all of payload. Raises OSError, or TimeoutError where the reader does not take it."""
        view, deadline = memoryview(payload), time.monotonic() + timeout_s
        while view:
            sent = self.send_some(view)
            view = view[sent:]
            if not sent:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("the command does not read its standard input")
                _wait(self._socket, select.POLLOUT, left)

    def end_input(self) -> None:
        """Standard input ends here; output still comes."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.ended = True
        self._socket.close()

    def _fill(self, wait_s: float) -> bool:
        if self.ended:
            return False
        if not _wait(self._socket, select.POLLIN, wait_s):
            return False
        try:
            received = self._socket.recv(1 << 18)
        except BlockingIOError:
            return False
        except ConnectionError:
            received = b""
        if not received:
            self.ended = True
            return False
        self._pending += received
        return True


def _read_ahead(response_socket: Any) -> bytes:
    """Bytes that arrived together with the response's headers: http.client holds them in its own buffer."""
    response = getattr(response_socket, "_response", None)
    buffered = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    if buffered is None or not hasattr(buffered, "peek"):
        return b""
    return bytes(buffered.peek(1) or b"")


def _wait(connection: socket.socket, event: int, wait_s: float) -> bool:
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(max(0.0, wait_s) * 1000))
