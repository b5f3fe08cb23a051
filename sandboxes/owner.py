"""Which host process owns a container, written so that a later process can tell whether it still lives."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

OWNER_FILE = ".owner"


def this_process() -> str:
    """pid:start:boot:pid-namespace:machine; the start time tells apart processes of the same pid."""
    pid = os.getpid()
    return f"{pid}:{_start_time(pid)}:{_place()}"


@contextmanager
def owned_folder(purpose: str) -> Iterator[Path]:
    """A private temporary folder that the reaper removes where this process is killed."""
    with tempfile.TemporaryDirectory(prefix=f"patchdeck-{purpose}-") as name:
        (Path(name) / OWNER_FILE).write_text(this_process())
        yield Path(name)


def dead_folders() -> list[Path]:
    """Folders of owned_folder whose process was killed."""
    found = []
    for mark in Path(tempfile.gettempdir()).glob(f"patchdeck-*/{OWNER_FILE}"):
        try:
            if is_dead(mark.read_text()):
                found.append(mark.parent)
        except OSError:
            continue  # it was removed while we looked
    return found


def is_dead(owner: str) -> bool:
    """True only where the owner surely ended; one of another machine or namespace is not ours to judge."""
    pid, _, rest = owner.partition(":")
    start, _, place = rest.partition(":")
    boot, _, where = place.partition(":")
    here_boot, _, here = _place().partition(":")
    if not pid.isdigit() or not where:
        return False
    namespace, _, machine = where.partition(":")
    here_namespace, _, here_machine = here.partition(":")
    if machine != here_machine or not machine:
        return False
    if boot != here_boot:
        return True
    if namespace != here_namespace:
        return False
    return _start_time(int(pid)) != start


def _start_time(pid: int) -> str:
    """Ticks since boot at which the process started; empty where there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = stat[stat.rindex(b")") + 2 :].split()
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


@cache
def _place() -> str:
    def line(path: str) -> str:
        try:
            return Path(path).read_text().strip()
        except OSError:
            return ""

    namespace = str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
    machine = line("/etc/machine-id") or os.uname().nodename
    return f"{_short(line('/proc/sys/kernel/random/boot_id'))}:{namespace}:{_short(machine)}"


def _short(name: str) -> str:
    # Labels end up in images, which travel: they need to tell machines apart, not to name them.
    return hashlib.sha256(name.encode()).hexdigest()[:12]
