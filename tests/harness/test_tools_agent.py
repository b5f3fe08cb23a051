"""The conversational agent against a scripted endpoint over HTTP, in real sandboxes, by `patchdeck run`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewards.feedback.stream import Stream
from tests.harness.conftest import patchdeck
from tests.harness.scripted_server import chat_reply, refusal, scripted

Reply = dict[str, Any]
SEEN = {"token_ids": [7, 8], "weight_versions": ["w0", "w0"]}
MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]}


def clamp_task(tasks_file: Path) -> dict[str, Any]:
    tasks = [json.loads(line) for line in tasks_file.read_text().splitlines()]
    [task] = [task for task in tasks if "clamp" in task["instruction"]]
    return task  # type: ignore[no-any-return]


def run(tasks_file: Path, runs: Path, url: str, *options: str) -> "tuple[int, str]":
    done = patchdeck(
        *("run", str(tasks_file), "--agent", "tools", "--model", "m", "--base-url", url),
        *("--instance-ids", clamp_task(tasks_file)["id"], "--runs", str(runs), "--run-id", "r", *options),
        OPENAI_API_KEY="sk-never-to-be-written",
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def episode_of(runs: Path) -> dict[str, Any]:
    [path] = runs.glob("r/*/0/episode.json")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def resolved(runs: Path) -> bool:
    [path] = runs.glob("r/*/0/reward.json")
    return bool(json.loads(path.read_text())["resolved"])


def answering(turn: Callable[[int, Reply], Reply]) -> Callable[[str, Reply], tuple[int, Reply]]:
    """turn gets how many replies the conversation holds, and the body."""

    def answer(path: str, body: Reply) -> tuple[int, Reply]:
        if path.endswith("/models"):
            return 200, MODELS
        return 200, turn(sum(m["role"] == "assistant" for m in body["messages"]), body)

    return answer


def by_tools(turn: int, body: Reply) -> Reply:
    calls: list[tuple[str, Reply]] = [
        ("search", {"pattern": "def clamp"}),
        ("view", {"path": "shelf.py", "last": 2}),
        ("edit", {"path": "shelf.py", "old": "min(value, value)", "new": "min(value, high)"}),
        ("run", {"command": "printf 'x\\xff'; exit 3"}),
        ("fly", {}),
        ("edit", {"path": "../etc/passwd", "old": "", "new": "x"}),
        ("view", {"pfad": 1}),
        ("submit", {"explanation": "the upper bound was not used"}),
    ]
    return chat_reply(None, calls[turn])


def by_blocks(turn: int, body: Reply) -> Reply:
    blocks = ["cat shelf.py", "sed -i 's/min(value, value)/min(value, high)/' shelf.py", "submit"]
    return chat_reply(f"I go on.\n```bash\n{blocks[turn]}\n```\n")


def test_tool_calls_repair_the_defect(tasks_file: Path, tmp_path: Path) -> None:
    with scripted(answering(by_tools)) as (url, received):
        code, err = run(tasks_file, tmp_path, url)
    assert code == 0 and resolved(tmp_path), err
    episode = episode_of(tmp_path)
    steps = {(s["name"], s["exit_code"]): s["observation"] for s in episode["steps"]}
    assert "shelf.py:1:def clamp" in steps["search", 0]
    assert "return max(low" in steps["view", 0]
    assert steps["run", 3] == "x\\xff"
    assert "there is no tool 'fly'" in steps["fly", None]
    assert "lies outside the tree" in steps["edit", None]
    assert "the arguments of view are wrong" in steps["view", None]
    assert episode["submission"]["explanation"] == "the upper bound was not used"
    assert episode["submission"]["files_read"] == ["shelf.py"]
    assert "test_above" in received[0]["messages"][1]["content"]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"sk-never" not in path.read_bytes()


@pytest.mark.parametrize("mode", ["text", "auto"])
def test_bash_blocks_repair_the_defect(tasks_file: Path, tmp_path: Path, mode: str) -> None:
    def answer(path: str, body: Reply) -> tuple[int, Reply]:
        if "tools" in body:
            return 400, refusal("this model takes no tools")
        return answering(by_blocks)(path, body)

    with scripted(answer) as (url, received):
        code, err = run(tasks_file, tmp_path, url, "--tool-mode", mode)
    assert code == 0 and resolved(tmp_path), err
    assert ("tools" in received[0]) == (mode == "auto")
    assert "exit code 0" in received[-1]["messages"][-1]["content"]


def test_blocks_in_answer_to_tools_are_taken_up(tasks_file: Path, tmp_path: Path) -> None:
    with scripted(answering(by_blocks)) as (url, received):
        code, _ = run(tasks_file, tmp_path, url)
    assert code == 0 and resolved(tmp_path)
    assert ["tools" in body for body in received] == [True, False, False]


def test_hidden_tests_reach_no_prompt(tasks_file: Path, tmp_path: Path) -> None:
    with scripted(answering(by_blocks)) as (url, received):
        code, _ = run(tasks_file, tmp_path, url, "--tests", "hidden", "--tool-mode", "text")
    assert code == 0 and resolved(tmp_path)
    assert "test_above" not in json.dumps(received)
    assert episode_of(tmp_path)["failing_tests_shown"] is False


def test_a_conversation_without_end_stops_at_its_turns(tasks_file: Path, tmp_path: Path) -> None:
    with scripted(answering(lambda turn, body: chat_reply("hm"))) as (url, received):
        code, _ = run(tasks_file, tmp_path, url, "--budget-turns", "3")
    episode = episode_of(tmp_path)
    assert code == 0 and len(received) == 3
    assert (episode["exit_status"], episode["exit_reason"]) == ("budget", "the turns were used up")


def test_sampled_ids_become_experience_once(tasks_file: Path, tmp_path: Path) -> None:
    def with_ids(turn: int, body: Reply) -> Reply:
        reply = by_blocks(turn, body)
        reply["choices"][0] |= SEEN
        reply["choices"][0]["logprobs"] = {
            "content": [{"token": "t", "logprob": -0.5, "bytes": None, "top_logprobs": []}] * 2
        }
        return {**reply, "prompt_token_ids": [1, 2, 3 + turn]}

    with scripted(answering(with_ids)) as (url, _):
        for _ in range(2):
            code, err = run(tasks_file, tmp_path, url, "--tool-mode", "text", "--attempts", "2")
            assert code == 0, err
    [group] = Stream(tmp_path / "r" / "experience").read(size=2)
    assert group.id == f"{clamp_task(tasks_file)['id']}/shown"
    assert [s.prompt_ids for s in group.members[0].rollout.segments] == [(1, 2, 3), (1, 2, 4), (1, 2, 5)]
    assert group.members[0].rollout.segments[0].output_ids == (7, 8)
    assert group.members[0].reward.value == 1.0


def test_an_endpoint_that_goes_away_stops_the_run_and_loses_nothing(tasks_file: Path, tmp_path: Path) -> None:
    answers = 0

    def answer(path: str, body: Reply) -> tuple[int, Reply]:
        nonlocal answers
        if path.endswith("/models") and not answers:
            return 200, MODELS
        answers += 1
        return (200, by_blocks(0, body)) if answers < 2 else (401, refusal("the key has run out"))

    with scripted(answer) as (url, _):
        code, err = run(tasks_file, tmp_path, url, "--tool-mode", "text")
    assert code == 1
    [told] = [line for line in err.splitlines() if line.startswith("error:")]
    assert "refuses the key: put a valid one into OPENAI_API_KEY; the same command goes on" in told
    assert not list(tmp_path.glob("r/*/0"))
    with scripted(answering(by_blocks)) as (url, _):
        code, _ = run(tasks_file, tmp_path, url, "--tool-mode", "text")
    assert code == 0 and resolved(tmp_path)


def test_a_fault_of_one_attempt_alone_is_kept_apart_and_retried_on_demand(
    tasks_file: Path, tmp_path: Path
) -> None:
    def broken(path: str, body: Reply) -> tuple[int, Reply]:
        return (200, MODELS) if path.endswith("/models") else (422, refusal("no such thing"))

    with scripted(broken) as (url, _):
        code, err = run(tasks_file, tmp_path, url, "--tool-mode", "text", "--json")
    assert code == 1 and "1 attempts have no valid reward: --retry-infra makes them again" in err
    [path] = tmp_path.glob("r/*/0/reward.json")
    assert json.loads(path.read_text())["value"] is None
    with scripted(answering(by_blocks)) as (url, _):
        assert run(tasks_file, tmp_path, url, "--tool-mode", "text")[0] == 1
        assert run(tasks_file, tmp_path, url, "--tool-mode", "text", "--retry-infra")[0] == 0
    assert resolved(tmp_path)
