"""The embedded stream: joined by id, appended once, alive after a kill at any byte."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import LOCK_FILE, Stream, StreamBusy, StreamDamaged

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def rollout(id: str, group: str = "g", token: int = 7, log_prob: float = -0.5) -> Rollout:
    segment = Segment(
        prompt_ids=(1, 2), output_ids=(token,), log_probs=(log_prob,), weight_versions=("v0",), seed=3
    )
    return Rollout(id=id, group=group, task_id=group, model="m", segments=(segment,), created_at=NOON)


def reward(id: str, value: float | None = 1.0) -> RewardRecord:
    return RewardRecord(
        rollout_id=id, value=value, valid=value is not None, scorer_digest="d", created_at=NOON
    )


def values(stream: Stream) -> dict[str, list[float | None]]:
    return {group.id: [m.reward.value for m in group.members] for group in stream.read()}


def test_a_group_is_complete_only_when_every_member_has_its_reward(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(rollout("a"), rollout("b"), reward("a", 0.0))
    assert stream.read() == []
    assert stream.waiting() == ["b"]
    stream.append(reward("b", 1.0))
    assert values(Stream(tmp_path)) == {"g": [0.0, 1.0]}
    assert stream.read(size=3) == []


def test_a_reward_may_come_before_its_rollout(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(reward("a", 0.25))
    stream.append(rollout("a"))
    assert values(Stream(tmp_path)) == {"g": [0.25]}


def test_a_resumed_run_appends_nothing_twice(tmp_path: Path) -> None:
    records = (rollout("a"), reward("a", 0.0), rollout("b"), reward("b", None))
    assert Stream(tmp_path).append(*records) == 4
    before = (tmp_path / "stream.jsonl").read_bytes()
    later = [r.model_copy(update={"created_at": NOON + timedelta(hours=1)}) for r in records]
    assert Stream(tmp_path).append(*later) == 0
    assert (tmp_path / "stream.jsonl").read_bytes() == before


def test_an_attempt_made_again_never_joins_the_reward_of_another_rollout(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(rollout("a", token=1))
    stream.append(rollout("a", token=2), reward("a", 1.0))
    (group,) = Stream(tmp_path).read()
    assert group.members[0].rollout.segments[0].output_ids == (2,)
    assert stream.append(rollout("a", token=3), reward("a", 0.0)) == 0, "a valid reward is final"


def test_a_reward_that_is_not_valid_can_be_retried(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(rollout("a", token=1), reward("a", None))
    stream.append(rollout("a", token=2))
    assert stream.read() == [], "the old verdict was not about the new rollout"
    stream.append(reward("a", 1.0))
    assert values(Stream(tmp_path)) == {"g": [1.0]}


def test_a_torn_last_line_is_not_read_and_repaired_by_the_next_writer(tmp_path: Path) -> None:
    Stream(tmp_path).append(rollout("a"), reward("a"))
    path = tmp_path / "stream.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[0][:40])
    reader = Stream(tmp_path)
    assert values(reader) == {"g": [1.0]}
    Stream(tmp_path).append(rollout("b"), reward("b", 0.0))
    assert values(reader) == values(Stream(tmp_path)) == {"g": [1.0, 0.0]}


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 2000))
def test_cut_at_any_byte_and_appended_again_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("stream")
    records = (rollout("a"), reward("a", 0.0), rollout("b"), reward("b", 1.0))
    Stream(folder).append(*records)
    path = folder / "stream.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, len(whole))])
    Stream(folder).append(*records)
    assert path.read_bytes() == whole


def test_a_whole_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(rollout("a"))
    with (tmp_path / "stream.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(StreamDamaged, match="line 2 of"):
        Stream(tmp_path).read()


def test_acknowledged_rollouts_are_not_read_again_nor_after_reclaiming(tmp_path: Path) -> None:
    stream, watching = Stream(tmp_path), Stream(tmp_path)
    stream.append(rollout("a"), reward("a"), rollout("b", "h"), reward("b", 0.0))
    assert watching.ack(["a"]) == 1
    assert watching.ack(["a"]) == 0
    assert values(stream) == {"h": [0.0]}
    assert [g.id for g in stream.read(acked=True)] == ["g", "h"]
    assert watching.reclaim() > 0
    assert values(stream) == values(Stream(tmp_path)) == {"h": [0.0]}
    assert stream.append(rollout("a"), reward("a")) == 0, "consumed once is consumed for good"
    assert Stream(tmp_path / "none").reclaim() == 0


def test_times_are_stored_in_utc(tmp_path: Path) -> None:
    local = datetime(2026, 5, 1, 20, tzinfo=timezone(timedelta(hours=8)))
    stream = Stream(tmp_path)
    stream.append(rollout("a").model_copy(update={"created_at": local}), reward("a"))
    stored = Stream(tmp_path).read()[0].members[0].rollout.created_at
    assert stored == NOON and stored.utcoffset() == timedelta(0)


def test_minus_infinity_survives_the_file(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.append(rollout("a", log_prob=float("-inf")), reward("a"))
    assert Stream(tmp_path).read()[0].members[0].rollout.segments[0].log_probs == (float("-inf"),)


def test_no_value_without_validity() -> None:
    for value, valid in ((0.0, False), (None, True), (float("nan"), True), (float("nan"), False)):
        with pytest.raises(ValueError, match="valid"):
            RewardRecord(rollout_id="a", value=value, valid=valid, scorer_digest="d", created_at=NOON)


def test_a_second_writer_waits_and_then_says_so(tmp_path: Path) -> None:
    stream = Stream(tmp_path, lock_timeout_s=0.1)
    with FileLock(tmp_path / LOCK_FILE), pytest.raises(StreamBusy, match="another process"):
        stream.append(rollout("a"))
    assert stream.append(rollout("a")) == 1


WRITER = """
import sys
from datetime import UTC, datetime
from rewards.feedback.experience import RewardRecord, Rollout, Segment
from rewards.feedback.stream import Stream
stream = Stream(sys.argv[1])
segment = Segment(prompt_ids=(1,) * 5000, output_ids=(2,), log_probs=(-1.0,), weight_versions=("v",))
for i in range(int(sys.argv[3])):
    id = f"{sys.argv[2]}{i:04d}"
    now = datetime.now(UTC)
    stream.append(
        Rollout(id=id, group="g", task_id="t", model="m", segments=(segment,), created_at=now),
        RewardRecord(rollout_id=id, value=0.5, valid=True, scorer_digest="d", created_at=now),
    )
"""


def writer(folder: Path, name: str, count: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name, str(count)])


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    processes = [writer(tmp_path, name, 25) for name in "xy"]
    assert [p.wait() for p in processes] == [0, 0]
    (group,) = Stream(tmp_path).read()
    assert len(group.members) == 50


def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path: Path) -> None:
    for _ in range(3):
        process = writer(tmp_path, "x", 100_000)
        path, deadline = tmp_path / "stream.jsonl", time.monotonic() + 30
        size = path.stat().st_size if path.exists() else 0
        while not path.exists() or path.stat().st_size < size + 100_000:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    Stream(tmp_path).append(rollout("last"), reward("last"))
    (group,) = [g for g in Stream(tmp_path).read() if len(g.members) > 1]
    ids = [m.rollout.id for m in group.members]
    assert ids == sorted(set(ids)) and ids[-1].startswith("x") and len(ids) >= 3
