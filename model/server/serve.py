"""Binds the port, loads the weights and serves until a signal."""

import contextlib
import errno
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import uvicorn

from kernels.registry import best_kernels
from model.checkpoints.checkpoint import load_checkpoint
from model.engine.engine import Engine
from model.server.app import create_app
from model.server.cli import ServeError
from model.weights import ensure_weights

GRACE_SECONDS = 5


def serve(
    host: str, port: int, *, weights: Path | None, name: str, threads: int | None, token: str | None
) -> None:
    """Runs until SIGINT or SIGTERM. Prints one line with the URL when ready. Raises ServeError."""
    with _listen(host, port) as listener:
        kernels = best_kernels(threads, _say)
        if kernels.batch_invariant:
            # The kernels have threads of their own; PyTorch's would only spin beside them.
            torch.set_num_threads(1)
        elif threads:
            torch.set_num_threads(threads)
        engine = Engine(load_checkpoint(weights or ensure_weights(_say)), kernels)
        shown = f"[{host}]" if ":" in host else host
        line = f"patchdeck serve: {name} ({engine.weight_version}) on http://{shown}:{listener.getsockname()[1]}/v1"
        config = uvicorn.Config(
            create_app(engine, name, token),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        try:
            _Server(config, line).run(sockets=[listener])
        finally:
            engine.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, line: str) -> None:
        super().__init__(config)
        self._line = line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self._line, flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals end the command with 0; uvicorn's own handling would raise them once more."""
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ServeError(
            f"{host} is no address of this machine ({error.strerror}): give another --host"
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ServeError(
                f"port {port} on {host} is in use: choose another with --port, or 0 for any"
            ) from error
        raise ServeError(f"can't listen on {host}:{port} ({error.strerror}): give another address") from error
    return listener


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
