"""The Docker engine: a client for it, and an engine where none answers yet."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sandboxes.faults import EngineMissing

if TYPE_CHECKING:
    import docker

Report = Callable[[str], None]

READ_TIMEOUT_S = 600
"""A commit of a large image on a slow disk is minutes; a dead engine shows as a closed socket at once."""

_clients = threading.local()


def client() -> "docker.DockerClient":
    """This thread's connection to the engine that the environment names (DOCKER_HOST or the local socket).

    Raises EngineMissing with one sentence where none answers.
    """
    import os

    import docker
    import docker.errors
    import requests.exceptions

    held: Any = getattr(_clients, "held", None)
    # A forked child must not share its parent's connections.
    if held is not None and held[0] == os.getpid():
        connection: docker.DockerClient = held[1]
        return connection
    try:
        connection = docker.from_env(timeout=READ_TIMEOUT_S)
        connection.ping()
    except PermissionError as error:
        raise EngineMissing(_NO_PERMISSION) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        if "Permission denied" in str(error):
            raise EngineMissing(_NO_PERMISSION) from error
        raise EngineMissing(
            "no Docker engine answers: run `patchdeck setup` as root, or install and start Docker "
            "(https://docs.docker.com/engine/install/)"
        ) from error
    _clients.held = (os.getpid(), connection)
    return connection


_NO_PERMISSION = (
    "no permission for the Docker engine's socket: add this user to the group `docker` "
    "(`usermod -aG docker $USER`, then log in anew) or run as root"
)


def ensure_engine(report: Report | None = None) -> None:
    """See that an engine answers: one that is there, else Debian's docker.io installed and dockerd started.

    Raises EngineMissing with one sentence where that can't be done here. Doing it twice changes nothing.
    """
    from sandboxes.daemon import provide_daemon

    say = report or (lambda _message: None)
    try:
        client().ping()
    except (EngineMissing, OSError) as error:
        _clients.held = None
        if isinstance(error, EngineMissing) and str(error) == _NO_PERMISSION:
            raise
        provide_daemon(say)
        client()
    say("answering")
