"""A small image with a tree of every kind of file, on the project's own base."""

from collections.abc import Callable, Iterator

import pytest

from sandboxes.docker_sandbox import DockerSandbox, open_sandbox
from sandboxes.engine import client
from sandboxes.images import build_image, ensure_base
from sandboxes.sandbox import Limits, SandboxSpec

RUN = "test-sandboxes"
Open = Callable[..., DockerSandbox]

TREE = [
    "mkdir -p /testbed/pkg && cd /testbed && printf 'a = 1\\nb = 2\\n' > pkg/code.py",
    "cd /testbed && printf 'one\\r\\ntwo\\r\\n' > dos.txt && printf '\\0\\1\\377' > blob.bin",
    "cd /testbed && ln -s pkg/code.py link.py && printf '#!/bin/sh\\n' > tool.sh",
    "cd /testbed && printf 'build/\\n*.log\\n' > .gitignore",
    "cd /testbed && printf 'x\\n' > gone.txt && printf 'kept\\n' > tracked.log",
    "chown -R agent:agent /testbed",
    "su agent -c 'cd /testbed && git init -q && git add -f .'",
    "su agent -c 'cd /testbed && git -c user.name=b -c user.email=b@b commit -qm base'",
]


@pytest.fixture(scope="session")
def base() -> str:
    return ensure_base()


@pytest.fixture(scope="session")
def image(base: str) -> Iterator[str]:
    made = build_image(base, TREE, tag="patchdeck/test:tree", labels={"patchdeck.run": RUN})
    assert made.ok, made.log
    yield made.image
    client().images.remove(made.image, force=True)


@pytest.fixture
def opened(image: str) -> Iterator[Open]:
    """Open sandboxes that are closed after the test, with limits by name."""
    alive: list[DockerSandbox] = []

    def open_one(run_id: str = RUN, **limits: float) -> DockerSandbox:
        spec = SandboxSpec(image=image, user="agent", run_id=run_id, limits=Limits(**limits))
        alive.append(open_sandbox(spec))
        return alive[-1]

    yield open_one
    for sandbox in alive:
        sandbox.close()


@pytest.fixture
def sandbox(opened: Open) -> DockerSandbox:
    return opened()
