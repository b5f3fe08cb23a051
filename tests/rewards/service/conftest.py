"""A reward service on a real socket, in a thread, whose judges a test chooses; and one in a process."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from rewards.reward import Reward
from rewards.service.app import ServiceSettings, application
from rewards.service.judges import Judges
from tasks.task import Environment, ImageRecipe, Oracle, PatchTask, Source, Tests

TOKEN = "a-token"


def a_task(id: str = "t1", image: str = "patchdeck/no-such-image:test") -> PatchTask:
    return PatchTask(
        id=id,
        instruction="mend it",
        source=Source(repo="demo/demo", base_commit="0" * 40),
        environment=Environment(
            image=image, recipe=ImageRecipe(base="python-debian12"), test_command=("python3", "-m", "pytest")
        ),
        tests=Tests(fail_to_pass={"tests/test_a.py::test_a": "f2p"}),
        oracle=Oracle(gold_patch="", test_patch=""),
    )


def scored(value: float, task_id: str = "t1") -> Reward:
    return Reward(task_id=task_id, value=value, scorer_digest="d")


Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """serve(patch=..., deck=..., **settings) starts a service and returns its URL."""
    with contextlib.ExitStack() as stack:

        def start(
            patch: Callable[[PatchTask, str | None], Reward] = lambda task, patch: scored(1.0, task.id),
            deck: Callable[[Path], Reward] = lambda path: scored(0.5, path.name),
            **settings: int,
        ) -> str:
            app = application([a_task()], ServiceSettings(token=TOKEN, **settings), Judges(patch, deck))
            config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
            listener = config.bind_socket()
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join(20)

            stack.callback(stop)
            while not server.started:
                time.sleep(0.01)
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

        yield start


@pytest.fixture
def serve_command() -> Iterator[Callable[[Path, str], tuple[str, str]]]:
    """Starts `patchdeck serve-rewards` on the tasks; gives its URL and the second line that it prints."""
    processes = []

    def start(tasks: Path, *options: str) -> tuple[str, str]:
        command = [
            sys.executable,
            "-m",
            "patchdeck.cli",
            "serve-rewards",
            str(tasks),
            "--port",
            "0",
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        return url, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
