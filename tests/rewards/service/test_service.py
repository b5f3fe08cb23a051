"""The reward service over real HTTP: what it answers, and that no fault ever becomes a number."""

import base64
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from rewards.code import invalid
from rewards.reward import Reward
from rewards.slides.static.source import NotADeck
from sandboxes.sandbox import SandboxFault
from tasks.store import append_task
from tasks.task import PatchTask

from .conftest import TOKEN, Serve, a_task, scored

BEARER = {"Authorization": f"Bearer {TOKEN}"}


def post(url: str, path: str, body: object, headers: dict[str, str] = BEARER) -> httpx.Response:
    return httpx.post(f"{url}{path}", json=body, headers=headers, timeout=60)


def metric(url: str, line: str) -> bool:
    return line in httpx.get(f"{url}/metrics").text.splitlines()


def test_a_patch_gets_its_reward(serve: Serve) -> None:
    seen: list[tuple[str, str | None]] = []

    def judge(task: PatchTask, patch: str | None) -> Reward:
        seen.append((task.id, patch))
        return scored(0.25)

    url = serve(patch=judge)
    answer = post(url, "/rewards/patch", {"task_id": "t1", "patch": "diff é"})
    assert answer.status_code == 200
    assert Reward.model_validate_json(answer.content) == scored(0.25)
    assert seen == [("t1", "diff é")]
    assert metric(url, 'patchdeck_reward_requests_total{kind="patch",status="200"} 1.0')
    assert metric(url, 'patchdeck_reward_seconds_count{kind="patch"} 1.0')


def fault(task: PatchTask, patch: str | None) -> Reward:
    raise SandboxFault("the engine is gone: start it")


@pytest.mark.parametrize(
    ("judge", "failure"),
    [
        (fault, "infrastructure"),
        (lambda task, patch: invalid(task.id, "oracle", "the engine is gone: start it"), "oracle"),
    ],
)
def test_a_fault_is_503_with_its_reason_and_no_number(
    serve: Serve, judge: Callable[[PatchTask, str | None], Reward], failure: str
) -> None:
    url = serve(patch=judge)
    answer = post(url, "/rewards/patch", {"task_id": "t1", "patch": ""})
    assert answer.status_code == 503
    assert answer.json() == {"detail": {"failure": failure, "reason": "the engine is gone: start it"}}
    assert answer.headers["retry-after"] == "5"
    assert metric(url, f'patchdeck_reward_invalid_total{{failure="{failure}",kind="patch"}} 1.0')


def test_a_defect_of_ours_is_500_and_no_number(serve: Serve) -> None:
    def broken(task: PatchTask, patch: str | None) -> Reward:
        raise KeyError("a defect")

    answer = post(serve(patch=broken), "/rewards/patch", {"task_id": "t1", "patch": ""})
    assert answer.status_code == 500 and "value" not in answer.text


def test_wrong_requests(serve: Serve) -> None:
    url = serve(largest_body=2000)
    good = {"task_id": "t1", "patch": ""}
    assert post(url, "/rewards/patch", good, {}).status_code == 401
    assert post(url, "/rewards/patch", good, {"Authorization": "Bearer other"}).status_code == 401
    assert post(url, "/rewards/deck", {"html": ""}, {}).status_code == 401
    assert post(url, "/rewards/patch", {"task_id": "none", "patch": ""}).status_code == 404
    assert post(url, "/rewards/patch", {"patch": ""}).status_code == 422
    assert post(url, "/rewards/patch", {"task_id": "t1", "patch": 7}).status_code == 422
    assert httpx.post(f"{url}/rewards/patch", content=b"\xff{", headers=BEARER).status_code == 422
    assert post(url, "/rewards/deck", {"html": "x", "files": {"a.html": "x"}}).status_code == 422
    assert post(url, "/rewards/deck", {}).status_code == 422
    assert post(url, "/rewards/patch", {"task_id": "t1", "patch": "x" * 3000}).status_code == 413
    assert post(url, "/rewards/patch", good).status_code == 200


def test_a_very_large_body_is_refused_before_it_is_read(serve: Serve) -> None:
    def endless() -> "list[bytes]":
        return [b"x" * 65536] * 200

    answer = httpx.post(
        f"{serve(largest_body=100_000)}/rewards/deck", content=iter(endless()), headers=BEARER, timeout=30
    )
    assert answer.status_code == 413


def test_a_deck_of_files_is_laid_out_and_removed(serve: Serve) -> None:
    seen: dict[str, bytes] = {}
    folders: list[Path] = []

    def judge(path: Path) -> Reward:
        folders.append(path)
        seen.update({str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()})
        return scored(0.5, "deck")

    picture = b"\x89PNG\x00"
    files = {"index.html": "<p>é", "img/a.png": {"base64": base64.b64encode(picture).decode()}}
    answer = post(serve(deck=judge), "/rewards/deck", {"task_id": "brief-1", "files": files})
    assert answer.json()["value"] == 0.5 and answer.json()["task_id"] == "brief-1"
    assert seen == {"index.html": "<p>é".encode(), "img/a.png": picture}
    assert not folders[0].exists()


@pytest.mark.parametrize(
    "name", ["../a.html", "/etc/a.html", "a/../../b", "", "a\\b", "a\0b", ".", "x" * 5000]
)
def test_no_file_leaves_the_decks_folder(serve: Serve, name: str) -> None:
    answer = post(serve(), "/rewards/deck", {"files": {name: "x"}})
    assert answer.status_code == 422, answer.text


def test_what_is_no_deck_is_the_clients_fault(serve: Serve) -> None:
    def judge(path: Path) -> Reward:
        raise NotADeck(f"{path} holds no HTML: give an HTML file")

    answer = post(serve(deck=judge), "/rewards/deck", {"html": "x"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the deck/deck.html holds no HTML: give an HTML file"


def test_the_queue_is_bounded_and_the_workers_too(serve: Serve) -> None:
    release, running, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def slow(task: PatchTask, patch: str | None) -> Reward:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        release.wait(30)
        with lock:
            running[0] -= 1
        return scored(1.0)

    url = serve(patch=slow, workers=2, queue=1)
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(post, url, "/rewards/patch", {"task_id": "t1", "patch": ""}) for _ in range(8)]
        refused = []
        while len(refused) < 5:
            refused = [f.result() for f in sent if f.done()]
        assert httpx.get(f"{url}/health").json()["running"] == 3, "health answers while all are busy"
        release.set()
        statuses = sorted(f.result().status_code for f in sent)
    assert statuses == [200] * 3 + [503] * 5
    assert all(r.json()["detail"]["failure"] == "queue" and r.headers["retry-after"] for r in refused)
    assert most[0] == 2


def test_the_command_serves_and_a_missing_image_is_503(
    tmp_path: Path, serve_command: Callable[..., tuple[str, str]]
) -> None:
    append_task(tmp_path / "tasks.jsonl", a_task())
    url, line = serve_command(tmp_path / "tasks.jsonl")
    bearer = {"Authorization": f"Bearer {line.removeprefix('token ')}"}
    assert httpx.get(f"{url}/health").json()["tasks"] == 1
    answer = post(url, "/rewards/patch", {"task_id": "t1", "patch": ""}, bearer)
    assert answer.status_code == 503
    assert answer.json()["detail"]["failure"] == "infrastructure"
    assert "no-such-image" in answer.json()["detail"]["reason"]


def test_the_token_file_is_made_private_and_used_again(
    tmp_path: Path, serve_command: Callable[..., tuple[str, str]]
) -> None:
    append_task(tmp_path / "tasks.jsonl", a_task())
    file = tmp_path / "token"
    for _ in range(2):
        url, line = serve_command(tmp_path / "tasks.jsonl", "--token-file", str(file))
        assert line == f"token in {file}"
        assert file.stat().st_mode & 0o777 == 0o600
        bearer = {"Authorization": f"Bearer {file.read_text().strip()}"}
        assert post(url, "/rewards/patch", {"task_id": "none"}, bearer).status_code == 404
