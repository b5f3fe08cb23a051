"""A run on disk, written through the contracts, with hostile text wherever an agent could put some."""

import json
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.episode import Episode, ModelCall, Step
from rewards.reward import Box, Component, Finding, Page, Reward
from rewards.submission import Submission
from tasks.task import Environment, Fingerprint, ImageRecipe, Oracle, PatchTask, Source, Tests

HOSTILE = (
    "<script>document.title='pwned';alert('pwned')</script><img src=x onerror=alert('pwned')>"
    "</pre></details><iframe src='javascript:alert(1)'></iframe>\x1b[31mred\x1b[0m \u202egnp.exe {{ 7*7 }}"
)


def png(width: int, height: int) -> bytes:
    """A plain grey picture."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    rows = b"".join(b"\0" + b"\xcc" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def a_task(name: str, instruction: str) -> PatchTask:
    return PatchTask(
        id=name,
        instruction=instruction,
        source=Source(repo="shop/stockroom", base_commit="a" * 40, subject=instruction.splitlines()[0]),
        environment=Environment(recipe=ImageRecipe(base="python-debian12")),
        tests=Tests(
            fail_to_pass={"tests/test_a.py::test_x": "f2p"}, pass_to_pass=("tests/test_a.py::test_y",)
        ),
        oracle=Oracle(gold_patch="", test_patch=""),
        fingerprint=Fingerprint(languages=("python",), versions={"python": "3.11"}),
    )


def write_attempt(folder: Path, task: PatchTask, attempt: int, *, reward: Reward, text: str) -> None:
    episode = Episode(
        run_id="r",
        task_id=task.id,
        attempt=attempt,
        agent="pipeline",
        model="bundled",
        seed=attempt,
        failing_tests_shown=True,
        calls=(ModelCall(id="c1", purpose="act", model="bundled", prompt_tokens=120, output_tokens=30),),
        steps=(
            Step(index=0, name="locate", observation=f"stockroom/orders.py:58 0.82\n{text}", seconds=1.2),
            Step(
                index=1,
                name="test",
                argument=text,
                observation="1 failed",
                exit_code=1,
                seconds=0.4,
                calls=("c1",),
            ),
        ),
        exit_status="submitted",
        submission=Submission(task_id=task.id, patch=text, explanation=text),
        started_at=datetime(2026, 5, 1, tzinfo=UTC),
        seconds=12.5,
    )
    place = folder / task.id / str(attempt)
    place.mkdir(parents=True)
    (place / "episode.json").write_text(episode.model_dump_json())
    (place / "reward.json").write_text(reward.model_dump_json())
    (place / "patch.diff").write_text(
        f"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-    if goods > least:\n+{text}\n"
    )
    (place / "test_output.txt").write_bytes(b"\xff\xfe " + text.encode())
    status = {
        "FAIL_TO_PASS": {"success": [], "failure": [f"tests/test_a.py::test_x[{text}]"]},
        "PASS_TO_PASS": {"success": ["tests/test_a.py::test_y"], "failure": []},
    }
    (place / "report.json").write_text(json.dumps({task.id: {"tests_status": status}}))


def a_reward(task_id: str, resolved: bool) -> Reward:
    return Reward(
        task_id=task_id,
        value=1.0 if resolved else 0.35,
        resolved=resolved,
        components=(
            Component(name="syntax", score=1.0, weight=0.1, evidence="1 file parses"),
            Component(name="run", score=1.0 if resolved else 0.0, weight=0.6, evidence=HOSTILE),
            Component(name="clip", score=None, weight=0.1, evidence="not available"),
        ),
        scorer_digest="d" * 64,
    )


def write_run(root: Path, name: str, *, tasks: int, shuffled: bool = False, text: str = HOSTILE) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    request = {
        "run_id": name,
        "agent": "pipeline",
        "model": "bundled",
        "tests": "shown",
        "seed": 0,
        "tasks_digest": "t1",
        "shuffle_ranking": shuffled,
        "command": ["patchdeck", "run", "tasks.jsonl", "--agent", "pipeline", "--model", "bundled"],
        "versions": {"patchdeck": "0.1.0"},
    }
    (folder / "run.json").write_text(json.dumps(request))
    made = [a_task(f"shop__stockroom-{i:04d}", f"Fix number {i}\n\n{text}") for i in range(tasks)]
    (folder / "tasks.jsonl").write_text("".join(task.model_dump_json() + "\n" for task in made))
    for index, task in enumerate(made):
        write_attempt(folder, task, 0, reward=a_reward(task.id, index % 2 == 0), text=text)
    lost = Reward(
        task_id=made[0].id,
        value=None,
        valid=False,
        failure="infrastructure",
        failure_reason="the engine went away",
        scorer_digest="d" * 64,
    )
    write_attempt(folder, made[0], 1, reward=lost, text=text)
    (folder / "funnel.json").write_text(
        json.dumps(
            {
                "commits": 33,
                "candidates": 12,
                "environments": 12,
                "validated": 11,
                "fallen": [{"commit": "c" * 40, "subject": text, "reason": text, "command": "pip install ."}],
            }
        )
    )
    return folder


def write_deck(folder: Path, name: str, text: str = HOSTILE) -> None:
    place = folder / "decks" / name
    (place / "shots").mkdir(parents=True)
    (place / "shots" / "page-01.png").write_bytes(png(1280, 720))
    finding = Finding(
        rule="type-size",
        layer="runtime",
        outcome="fail",
        message=text,
        page=1,
        element=f"section > p {text}",
        box=Box(x=100, y=200, width=400, height=60),
    )
    page = Page(
        index=1,
        value=0.4,
        components=(Component(name="runtime", score=0.4, weight=1, evidence=text),),
        findings=(finding,),
    )
    reward = Reward(
        task_id=name, value=0.4, components=page.components, scorer_digest="e" * 64, pages=(page,)
    )
    (place / "reward.json").write_text(reward.model_dump_json())


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path / "runs", "pipeline-bundled-1", tasks=3)
    write_deck(folder, "hostile")
    (folder / "training.jsonl").write_text(
        "".join(
            json.dumps({"step": i, "loss": -0.1 * i, "log_prob_positive": -2 + 0.1 * i}) + "\n"
            for i in range(4)
        )
    )
    return folder
