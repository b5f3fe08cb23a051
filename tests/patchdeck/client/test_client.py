"""The trainer's client against a real service: rewards come through, faults never as numbers."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from patchdeck.client.client import RewardClient, RewardRefused, RewardUnavailable
from rewards.code import invalid
from rewards.reward import Reward
from rewards.service.app import ServiceSettings, application
from rewards.service.judges import Judges
from sandboxes.sandbox import SandboxFault
from tasks.task import Environment, ImageRecipe, Oracle, PatchTask, Source, Tests

TASK = PatchTask(
    id="t1",
    instruction="",
    source=Source(repo="demo/demo", base_commit="0" * 40),
    environment=Environment(recipe=ImageRecipe(base="python-debian12")),
    tests=Tests(),
    oracle=Oracle(gold_patch="", test_patch=""),
)
Judge = Callable[[PatchTask, str | None], Reward]


class Service:
    def __init__(self, judge: Judge) -> None:
        def deck(path: Path) -> Reward:
            return Reward(task_id="", value=len(path.read_text()) / 10, scorer_digest="d")

        settings = ServiceSettings(token="secret", retry_after_s=0)
        config = uvicorn.Config(
            application([TASK], settings, Judges(judge, deck)), port=0, log_level="critical"
        )
        listener = config.bind_socket()
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        while not self.server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)


@pytest.fixture
def service() -> Iterator[Callable[[Judge], str]]:
    started: list[Service] = []

    def start(judge: Judge) -> str:
        started.append(Service(judge))
        return started[-1].url

    yield start
    for one in started:
        one.stop()


def client(url: str, token: str = "secret", attempts: int = 3) -> RewardClient:
    return RewardClient(url, token, attempts=attempts, first_wait_s=0.01)


def test_rewards_come_through(service: Callable[[Judge], str]) -> None:
    url = service(lambda task, patch: Reward(task_id=task.id, value=len(patch or "") / 8, scorer_digest="d"))
    with client(url + "/") as rewards:
        assert rewards.patch("t1", "diff")["value"] == 0.5
        assert rewards.patch("t1", None)["value"] == 0.0
        deck = rewards.deck("<p>x", task_id="brief")
        assert (deck["value"], deck["task_id"], deck["valid"]) == (0.4, "brief", True)


def test_a_passing_fault_is_tried_again(service: Callable[[Judge], str]) -> None:
    calls = []

    def judge(task: PatchTask, patch: str | None) -> Reward:
        calls.append(1)
        if len(calls) < 3:
            raise SandboxFault("engine restarting")
        return Reward(task_id=task.id, value=1.0, scorer_digest="d")

    with client(service(judge)) as rewards:
        assert rewards.patch("t1", "")["value"] == 1.0
    assert len(calls) == 3


def test_a_lasting_fault_raises_and_is_no_number(service: Callable[[Judge], str]) -> None:
    calls = []

    def judge(task: PatchTask, patch: str | None) -> Reward:
        calls.append(1)
        return invalid(task.id, "environment", "the image is broken")

    with (
        client(service(judge)) as rewards,
        pytest.raises(RewardUnavailable, match="the image is broken") as caught,
    ):
        rewards.patch("t1", "")
    assert caught.value.failure == "environment"
    assert len(calls) == 3


def test_a_defect_of_the_service_raises(service: Callable[[Judge], str]) -> None:
    def judge(task: PatchTask, patch: str | None) -> Reward:
        raise ZeroDivisionError

    with client(service(judge)) as rewards, pytest.raises(RewardUnavailable, match="HTTP 500"):
        rewards.patch("t1", "")


def test_nobody_there_raises() -> None:
    with (
        client("http://127.0.0.1:9") as rewards,
        pytest.raises(RewardUnavailable, match="after 3 attempts") as caught,
    ):
        rewards.patch("t1", "")
    assert caught.value.failure == "connection"


def test_a_wrong_request_is_refused_at_once(service: Callable[[Judge], str]) -> None:
    url = service(lambda task, patch: Reward(task_id=task.id, value=1.0, scorer_digest="d"))
    with client(url) as rewards, pytest.raises(RewardRefused, match="no patch task 'none'"):
        rewards.patch("none", "")
    with client(url, token="wrong") as rewards, pytest.raises(RewardRefused, match="401"):
        rewards.patch("t1", "")


def test_the_client_imports_nothing_else_of_patchdeck() -> None:
    code = (
        "import sys, patchdeck.client.client\n"
        "rooms = {'kernels', 'sandboxes', 'tasks', 'rewards', 'model', 'harness', 'reports', 'fastapi'}\n"
        "print(sorted(rooms & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
