"""The sandbox an agent works in: the tree at the base commit alone, with the tests where they are shown."""

from sandboxes.docker_sandbox import open_sandbox
from sandboxes.sandbox import Sandbox
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

    With show_tests the task's tests stand in the tree and belong to its one commit. The gold change is in
    neither case anywhere in it. Raises SandboxFault, ImageMissing among them.
    """
    sandbox = open_sandbox(sandbox_spec(task, run_id=run_id))
    if show_tests:
        try:
            lay_tests(sandbox, task)
            sandbox.exec(["sh", "-c", _AS_BASE], workdir=task.environment.workdir, user=AGENT)
        except BaseException:
            sandbox.close()
            raise
    return sandbox
