"""A container that never runs: how files are read out of an image."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.owner import this_process
from sandboxes.sandbox import OWNER_LABEL


@contextmanager
def unstarted(image: str) -> Iterator[str]:
    """Id of such a container for the length of the block, labelled for the reaper. Raises SandboxFault."""
    with translated("making a container to read from"):
        api = client().api
        container: str = api.create_container(
            image, ["true"], entrypoint="", network_disabled=True, labels={OWNER_LABEL: this_process()}
        )["Id"]
    try:
        yield container
    finally:
        with translated("removing a container"):
            api.remove_container(container, force=True, v=True)
