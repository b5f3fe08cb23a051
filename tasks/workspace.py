"""The sandbox an agent works in: the tree at the base commit alone, with the tests where they are shown."""

import re

from sandboxes.docker_sandbox import open_sandbox
from sandboxes.sandbox import Duplex, ExecResult, Sandbox
from tasks.instances import AGENT
from tasks.submission import lay_tests
from tasks.task import PatchTask
from tasks.trial import sandbox_spec

_AS_BASE = (
    "git commit -q --amend --no-edit --allow-empty && "
    "git reflog expire --expire=now --all && git gc -q --prune=now"
)


def open_workspace(task: PatchTask, *, run_id: str, show_tests: bool) -> Sandbox:
    """A fresh sandbox on the task's image; whoever opens it closes it.

    With show_tests the task's tests stand in the tree, belong to its one commit and to no tree difference.
    The gold change is in neither case anywhere in it. Raises SandboxFault, ImageMissing among them.
    """
    sandbox = open_sandbox(sandbox_spec(task, run_id=run_id))
    if not show_tests:
        return sandbox
    try:
        lay_tests(sandbox, task)
        sandbox.exec(["sh", "-c", _AS_BASE], workdir=task.environment.workdir, user=AGENT)
    except BaseException:
        sandbox.close()
        raise
    return _WithTests(sandbox, frozenset(task.tests.files))


class _WithTests:
    """A sandbox whose tree difference leaves out the tests that were shown."""

    def __init__(self, inner: Sandbox, tests: frozenset[str]) -> None:
        self.spec = inner.spec
        self._inner = inner
        self._headers = {f"diff --git a/{path} b/{path}".encode() for path in tests}

    def exec(
        self,
        argv: list[str],
        *,
        timeout_s: float = 60.0,
        stdin: bytes | None = None,
        env: dict[str, str] | None = None,
        workdir: str | None = None,
        user: str | None = None,
    ) -> ExecResult:
        return self._inner.exec(argv, timeout_s=timeout_s, stdin=stdin, env=env, workdir=workdir, user=user)

    @property
    def name(self) -> str:
        return self._inner.name

    def spawn(self, argv: list[str], *, user: str | None = None) -> Duplex:
        return self._inner.spawn(argv, user=user)

    def read(self, path: str) -> bytes:
        return self._inner.read(path)

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        self._inner.write(path, content, mode=mode)

    def tree_difference(self) -> bytes:
        sections = re.split(rb"(?m)^(?=diff --git )", self._inner.tree_difference())
        return b"".join(part for part in sections if part.split(b"\n", 1)[0] not in self._headers)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> "_WithTests":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
