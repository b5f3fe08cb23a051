"""An experience stream on disk: one file of JSON lines, many readers, one writer at a time."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rewards.feedback.experience import Experience, RewardRecord, Rollout, utc

STREAM_FILE = "stream.jsonl"
LOCK_FILE = "stream.lock"
HEAD_BYTES = 256
"""The first bytes tell one generation of the file from the next: reclaiming writes its time there."""


class StreamDamaged(RuntimeError):
    """A whole line of the stream can't be read: something else wrote into the file."""


class StreamBusy(RuntimeError):
    """Another process kept the writer's lock for too long."""


class _Ack(BaseModel):
    """These rollouts are consumed. Kept for ever, so that a resumed run can't append them again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    record: Literal["ack"] = "ack"
    rollout_ids: tuple[str, ...]
    created_at: AwareDatetime


_Record = Rollout | RewardRecord | _Ack
_RECORD: TypeAdapter[_Record] = TypeAdapter(Annotated[_Record, Field(discriminator="record")])


@dataclass(frozen=True)
class Group:
    """Every member answers the same task and has its reward, valid or not; members in order of their id."""

    id: str
    members: tuple[Experience, ...]


class _State:
    """What the lines read so far amount to. A line can be taken twice without harm."""

    def __init__(self) -> None:
        self.rollouts: dict[str, Rollout] = {}
        self.rewards: dict[str, RewardRecord] = {}
        self.acked: set[str] = set()

    def wanted(self, record: _Record) -> bool:
        """Whether the record would change anything.

        A valid reward is final, for itself and for the rollout it was given to. Until then a rollout may be
        superseded (a killed attempt was made again), and so may a reward that is not valid (it was retried).
        """
        if isinstance(record, _Ack):
            return not self.acked.issuperset(record.rollout_ids)
        key = record.id if isinstance(record, Rollout) else record.rollout_id
        if key in self.acked:
            return False
        reward, rollout = self.rewards.get(key), self.rollouts.get(key)
        if isinstance(record, Rollout):
            settled = reward is not None and reward.valid and rollout is not None
            return not settled and not _same(record, rollout)
        return not (reward is not None and reward.valid) and not _same(record, reward)

    def take(self, record: _Record) -> None:
        if not self.wanted(record):
            return
        if isinstance(record, _Ack):
            self.acked.update(record.rollout_ids)
        elif isinstance(record, Rollout):
            superseded = self.rollouts.get(record.id)
            self.rollouts[record.id] = record
            if superseded is not None:
                self.rewards.pop(record.id, None)
        else:
            self.rewards[record.rollout_id] = record

    def records(self) -> Iterator[_Record]:
        """What has to be kept: the acknowledgements, then all that is not acknowledged."""
        yield _Ack(rollout_ids=tuple(sorted(self.acked)), created_at=datetime.now(UTC))
        yield from (r for key, r in self.rollouts.items() if key not in self.acked)
        yield from (r for key, r in self.rewards.items() if key not in self.acked)


class Stream:
    """Experience in a folder, safe against being killed at any moment.

    A line is one record, written by one call and synced; a last line without its newline is what a killed
    writer left, and neither read nor kept. Readers need no lock. Every verb raises StreamDamaged for a whole
    line that is no record; those that write raise StreamBusy where the lock can't be had in lock_timeout_s.
    """

    def __init__(self, folder: Path | str, *, lock_timeout_s: float = 60.0) -> None:
        self.folder = Path(folder)
        self.path = self.folder / STREAM_FILE
        self._lock_timeout_s = lock_timeout_s
        self._state = _State()
        self._offset = 0
        self._lines = 0
        self._head = b""

    def append(self, *records: Rollout | RewardRecord) -> int:
        """Append the records that change anything and return how many did; times are stored in UTC.

        A record that is already there is not appended again. Once a rollout has a valid reward, neither
        changes; before that a later record of the same id takes the place of the earlier one.
        """
        return self._write([r.model_copy(update={"created_at": utc(r.created_at)}) for r in records])

    def read(self, *, size: int = 1, acked: bool = False) -> list[Group]:
        """The complete groups, in the order in which they first appeared.

        A group is complete when it has at least `size` rollouts and each has its reward. acked=True
        gives the acknowledged members too, so far as they are not reclaimed.
        """
        self._refresh()
        by_group: dict[str, list[Rollout]] = {}
        for rollout in self._state.rollouts.values():
            if acked or rollout.id not in self._state.acked:
                by_group.setdefault(rollout.group, []).append(rollout)
        groups = []
        for name, rollouts in by_group.items():
            if len(rollouts) < size or any(r.id not in self._state.rewards for r in rollouts):
                continue
            rollouts.sort(key=lambda r: r.id)
            joined = tuple(Experience(rollout=r, reward=self._state.rewards[r.id]) for r in rollouts)
            groups.append(Group(name, joined))
        return groups

    def waiting(self) -> list[str]:
        """Ids of the rollouts whose reward has not come, in order of appearance."""
        self._refresh()
        state = self._state
        return [key for key in state.rollouts if key not in state.rewards and key not in state.acked]

    def ack(self, rollout_ids: Iterable[str]) -> int:
        """Mark rollouts as consumed, known or not; returns how many had not been before."""
        self._refresh()
        before = len(self._state.acked)
        self._write([_Ack(rollout_ids=tuple(rollout_ids), created_at=datetime.now(UTC))])
        return len(self._state.acked) - before

    def reclaim(self) -> int:
        """Give the room of consumed and superseded records back; returns how many bytes the file lost."""
        if not self.path.exists():
            return 0
        with self._locked():
            before = self.path.stat().st_size
            temporary = self.path.with_suffix(".tmp")
            with temporary.open("wb") as file:
                for record in self._state.records():
                    file.write(_line(record))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            _sync_folder(self.folder)
            self._refresh()
            return before - self._offset

    def _write(self, records: list[Rollout | RewardRecord] | list[_Ack]) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            lines = []
            for record in records:
                if self._state.wanted(record):
                    self._state.take(record)
                    lines.append(_line(record))
            if lines:
                self._append_bytes(b"".join(lines))
                self._offset += sum(map(len, lines))
                self._lines += len(lines)
            return len(lines)

    def _append_bytes(self, payload: bytes) -> None:
        created = not self.path.exists()
        with self.path.open("ab", buffering=0) as file:
            end = file.tell()
            try:
                written = 0
                while written < len(payload):
                    written += file.write(payload[written:])
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                self._forget()
                raise
        if created:
            _sync_folder(self.folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the writer's lock, with the state brought up to date and a torn last line cut off."""
        lock = FileLock(self.folder / LOCK_FILE)
        try:
            lock.acquire(timeout=self._lock_timeout_s)
        except Timeout:
            raise StreamBusy(
                f"another process has been writing the experience in {self.folder} for more than "
                f"{self._lock_timeout_s:g} s: wait for it, or stop it, and try again"
            ) from None
        try:
            self._refresh(repair=True)
            yield
        finally:
            lock.release()

    def _forget(self) -> None:
        self._state, self._offset, self._lines, self._head = _State(), 0, 0, b""

    def _refresh(self, *, repair: bool = False) -> None:
        """Take what was appended since the last call; with repair (under the lock) cut a torn last line."""
        try:
            file = self.path.open("r+b" if repair else "rb")
        except FileNotFoundError:
            self._forget()
            return
        with file:
            head = file.read(HEAD_BYTES)
            if not head.startswith(self._head) or os.fstat(file.fileno()).st_size < self._offset:
                self._forget()
            file.seek(self._offset)
            whole, newline, torn = file.read().rpartition(b"\n")
            for line in whole.split(b"\n") if newline else ():
                self._lines += 1
                self._state.take(self._parse(line))
                self._offset += len(line) + 1
            self._head = head[: self._offset]
            if torn and repair:
                file.truncate(self._offset)

    def _parse(self, line: bytes) -> _Record:
        try:
            return _RECORD.validate_json(line)
        except ValidationError as error:
            raise StreamDamaged(
                f"line {self._lines} of {self.path} is no experience record "
                f"({error.errors()[0]['msg']}): take that line out or restore the file"
            ) from error


def _line(record: _Record) -> bytes:
    return record.model_dump_json().encode() + b"\n"


def _same(record: Rollout | RewardRecord, other: Rollout | RewardRecord | None) -> bool:
    """Equal but for the time of writing."""
    if other is None:
        return False
    return record.model_dump(exclude={"created_at"}) == other.model_dump(exclude={"created_at"})


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
