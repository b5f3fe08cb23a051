"""The tree that an image holds in its workdir: kept on the host, so that no sandbox can tamper with it."""

import hashlib
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from filelock import FileLock
from platformdirs import user_cache_path

from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.sandbox import SandboxFault
from sandboxes.unstarted import unstarted

SYMLINK, EXECUTABLE, REGULAR = "120000", "100755", "100644"
_BLOCK = 4096


@dataclass(frozen=True)
class File:
    """One file or symbolic link of a tree. digest is the SHA-256 of its content, or of its target."""

    mode: str
    digest: str


@dataclass(frozen=True)
class BaseTree:
    """What the image holds below its workdir.

    archive: the tree as a tar, owned by the sandbox's user; files: every file and link by its path, `.git`
    left out; size_mb: room it takes on a file system of 4 KiB blocks; entries: inodes it takes.
    """

    archive: Path
    files: dict[str, File]
    size_mb: int
    entries: int


def trees_path() -> Path:
    """Folder of the cache; one folder an image inside."""
    return user_cache_path("patchdeck") / "trees"


@lru_cache(maxsize=32)
def base_tree(image: str, image_id: str, workdir: str, owner: tuple[int, int]) -> BaseTree:
    """The tree of an image, from the cache or read from the engine once. Raises SandboxFault."""
    where = hashlib.sha256(json.dumps([2, workdir, owner]).encode()).hexdigest()[:16]
    folder = trees_path() / image_id.removeprefix("sha256:")[:32]
    folder.mkdir(parents=True, exist_ok=True)
    archive, index = folder / f"{where}.tar", folder / f"{where}.json"
    if not index.exists():
        with FileLock(folder / "lock"):
            if not index.exists():
                _read_image(image, workdir, owner, archive, index)
    held = json.loads(index.read_bytes())
    files = {path: File(*entry) for path, entry in held["files"].items()}
    return BaseTree(archive, files, held["size_mb"], held["entries"])


def _read_image(image: str, workdir: str, owner: tuple[int, int], archive: Path, index: Path) -> None:
    import docker.errors

    files: dict[str, File] = {}
    blocks = entries = 0
    partial = archive.with_suffix(".partial")
    try:
        with (
            unstarted(image) as container,
            translated(f"reading the tree of {image}"),
            tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as out,
        ):
            try:
                chunks, _ = client().api.get_archive(container, workdir)
            except docker.errors.NotFound:
                chunks = iter(())
            for path, member, content in members(cast("Iterator[bytes]", chunks)):
                member.name = path
                member.uid, member.gid = owner
                member.uname = member.gname = ""
                if member.isdev():
                    continue
                if member.islnk():
                    member.linkname = _below_top(member.linkname)
                entries += 1
                blocks += -(-member.size // _BLOCK) + member.isdir()
                hashed = _Hashed(content) if content is not None else None
                out.addfile(member, cast("IO[bytes] | None", hashed))
                if entry := describe(path, member, hashed.digest() if hashed else None, files):
                    files[path] = entry
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    size_mb = -(-blocks * _BLOCK // (1 << 20))
    body = {
        "files": {path: [entry.mode, entry.digest] for path, entry in files.items()},
        "size_mb": size_mb,
        "entries": entries,
    }
    partial_index = index.with_suffix(".json-partial")
    try:
        partial_index.write_text(json.dumps(body))
        partial_index.replace(index)
    finally:
        partial_index.unlink(missing_ok=True)


class _Hashed:
    """A reader that hashes what passes through it."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        part = self._source.read(size)
        self._hash.update(part)
        return part

    def digest(self) -> str:
        return self._hash.hexdigest()


def describe(path: str, member: tarfile.TarInfo, digest: str | None, known: dict[str, File]) -> File | None:
    """What a patch can say about one member: files, links and hard links; None for the rest and `.git`."""
    if any(part.lower() == ".git" for part in PurePosixPath(path).parts):
        return None
    if member.issym():
        return File(SYMLINK, hashlib.sha256(os.fsencode(member.linkname)).hexdigest())
    if member.islnk():
        return known.get(_below_top(member.linkname), known.get(member.linkname))
    if member.isreg() and digest is not None:
        return File(EXECUTABLE if member.mode & 0o100 else REGULAR, digest)
    return None


def members(
    chunks: Iterator[bytes], *, single: bool = False
) -> Iterator[tuple[str, tarfile.TarInfo, IO[bytes] | None]]:
    """Members of an engine's archive of a folder, by their path inside it, the folder itself left out.

    single: the archive is of one file, which keeps its name.
    """
    source = _Chunks(chunks)
    if not source.peek():
        return
    try:
        with tarfile.open(fileobj=cast(Any, source), mode="r|", errors="surrogateescape") as archive:
            for member in archive:
                path = member.name if single else _below_top(member.name)
                if path:
                    yield path, member, archive.extractfile(member) if member.isreg() else None
    except tarfile.TarError as error:
        raise SandboxFault(f"the engine sent a broken archive: {error}") from error


def _below_top(name: str) -> str:
    return name.partition("/")[2].rstrip("/")


class _Chunks:
    """A readable file over an iterator of chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = b""

    def peek(self) -> bytes:
        if not self._held:
            self._held = next(self._chunks, b"")
        return self._held

    def read(self, size: int) -> bytes:
        parts, wanted = [], size
        while wanted > 0 and self.peek():
            part, self._held = self._held[:wanted], self._held[wanted:]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)
