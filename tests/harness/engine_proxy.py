"""A door to the Docker engine that can be shut, so that an engine can go away without stopping it."""

import os
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

ENGINE = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


class EngineProxy:
    """Passes bytes between a socket of its own and the engine's until it is stopped."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "engine.sock"
        self.address = f"unix://{self.path}"
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)

    def __enter__(self) -> "EngineProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> None:
        self.path.unlink(missing_ok=True)
        for connection in (self._listener, *self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                outer = socket.socket(socket.AF_UNIX)
                outer.connect(ENGINE)
                self._open += [inner, outer]
                for source, sink in ((inner, outer), (outer, inner)):
                    threading.Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
