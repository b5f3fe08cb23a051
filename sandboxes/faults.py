"""What the engine's errors mean for a caller: one sentence each, as classes of the contract."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sandboxes.sandbox import ImageMissing, SandboxFault, SandboxLost


class EngineMissing(SandboxFault):
    """No Docker engine answers, or none can be installed or started here."""


_GOING = ("is not running", "marked for removal", "RWLayer of container", "is dead")
"""How the engine speaks of a container that is being removed at this moment."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn whatever docker-py raises inside into a SandboxFault whose sentence says what was being done."""
    import docker.errors
    import requests.exceptions
    import urllib3.exceptions

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise ImageMissing(f"the image is not on this engine ({doing}): {_words(error)}") from error
    except docker.errors.APIError as error:
        words = _words(error)
        if "no space left on device" in words:
            raise SandboxFault(
                f"the engine's disk is full ({doing}): free room with `docker image prune` or on the host, "
                "then run the same command again"
            ) from error
        if error.status_code in (404, 409) or any(sign in words for sign in _GOING):
            raise SandboxLost(f"the container is gone or has stopped ({doing}): {words}") from error
        raise SandboxFault(f"the Docker engine refused ({doing}): {words}") from error
    except (
        requests.exceptions.RequestException,
        urllib3.exceptions.HTTPError,
        docker.errors.DockerException,
        ConnectionError,
        TimeoutError,
    ) as error:
        raise lost(doing) from error
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise SandboxFault(
            f"the host's disk is full ({doing}, {error.filename or 'a temporary file'}): free room, then run "
            "the same command again"
        ) from error


def lost(doing: str) -> SandboxLost:
    """The engine went away in the middle of something."""
    return SandboxLost(
        f"the Docker engine stopped answering ({doing}): start it again (`patchdeck setup` or "
        "`systemctl start docker`) and run the same command, it goes on from here"
    )


def _words(error: Exception) -> str:
    explanation = getattr(error, "explanation", None)
    return " ".join(str(explanation or error).split())
