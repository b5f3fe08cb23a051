"""The patch from an image's tree to the tree that the work left, made on the host from bytes alone."""

import hashlib
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from sandboxes.owner import owned_folder
from sandboxes.sandbox import SandboxFault
from sandboxes.tree import SYMLINK, BaseTree, File, describe, members

BY_PRODUCTS = (
    "__pycache__/",
    "*.py[co]",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    ".coverage",
    ".coverage.*",
    "*.egg-info/",
    ".tox/",
    ".nox/",
)
"""What running Python code leaves behind; never part of a patch, whatever the repository ignores."""


class TreeTooLarge(SandboxFault):
    """The work claims a tree larger than its disk limit allows, by holes in files."""


def tree_patch(base: BaseTree, chunks: Iterator[bytes], room: int) -> bytes:
    """A git patch (binary, full index, no renames) from base to the engine's archive of the tree now.

    New files that the base's own `.gitignore` files or BY_PRODUCTS name are left out; the work's own ignore
    rules, attributes and configuration have no say. Repositories inside the tree count as plain files, their
    `.git` left out. room: bytes that regular files may claim together. Raises TreeTooLarge.
    """
    with owned_folder("difference") as folder:
        blobs = folder / "blobs"
        blobs.mkdir()
        new: dict[str, File] = {}
        claimed = 0
        for path, member, content in members(chunks):
            claimed += member.size if member.isreg() else 0
            if claimed > room:
                raise TreeTooLarge(f"the tree claims more than its limit of {room >> 20} MiB at {path}")
            digest = None
            if content is not None:
                digest = _store(content, blobs, base.files.get(path))
            if entry := describe(path, member, digest, new):
                new[path] = entry
                if entry.mode == SYMLINK:
                    (blobs / entry.digest).write_bytes(os.fsencode(member.linkname))
        changed = {p for p in base.files.keys() | new.keys() if base.files.get(p) != new.get(p)}
        changed -= _ignored(base, changed, folder)
        if not changed:
            return b""
        trees = [{path: tree[path] for path in changed if path in tree} for tree in (base.files, new)]
        # A new hard link may stand for a file that did not change, so both sides may need the base's bytes.
        _store_base(base, {entry.digest for tree in trees for entry in tree.values()}, blobs)
        return _git_patch(trees, blobs, folder)


def _store(content: IO[bytes], blobs: Path, known: File | None) -> str:
    """Digest of one file; its bytes are kept unless they are what the base holds at the same path."""
    digest = hashlib.sha256()
    partial = blobs / "partial"
    with partial.open("wb") as kept:
        while part := content.read(1 << 20):
            digest.update(part)
            kept.write(part)
    name = digest.hexdigest()
    if known is not None and known.digest == name:
        partial.unlink()
    else:
        partial.replace(blobs / name)
    return name


def _store_base(base: BaseTree, digests: set[str], blobs: Path) -> None:
    wanted = {digest for digest in digests if not (blobs / digest).exists()}
    if not wanted:
        return
    with tarfile.open(base.archive, errors="surrogateescape") as archive:
        for member in archive:
            path = member.name
            entry = base.files.get(path)
            if entry is None or entry.digest not in wanted:
                continue
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                (blobs / entry.digest).write_bytes(content.read())
            elif member.issym():
                (blobs / entry.digest).write_bytes(os.fsencode(member.linkname))


def _ignored(base: BaseTree, changed: set[str], folder: Path) -> set[str]:
    """Those of the changed paths that count for nothing: by-products, what the image's own
    `.git/info/exclude` names, and new files that the base ignores."""
    if not changed:
        return set()
    by_products = folder / "by-products"
    rules = folder / "rules"
    rules.mkdir()
    _git(["init", "-q", "."], rules)
    excluded = b""
    with tarfile.open(base.archive, errors="surrogateescape") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if member.name == ".git/info/exclude" and content is not None:
                excluded = content.read()
            elif member.name.rpartition("/")[2] == ".gitignore" and member.name in base.files:
                target = rules / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content else b"")
    # Without the `.gitignore` files' say, since those leave tracked files alone.
    by_products.write_bytes("\n".join(BY_PRODUCTS).encode() + b"\n" + excluded)
    bare = folder / "no-rules"
    bare.mkdir()
    _git(["init", "-q", "."], bare)
    named = _check_ignore(bare, changed, by_products)
    return named | _check_ignore(rules, {path for path in changed if path not in base.files}, None)


def _check_ignore(rules: Path, paths: set[str], excludes: Path | None) -> set[str]:
    if not paths:
        return set()
    settings = ["-c", f"core.excludesFile={excludes or '/dev/null'}"]
    listed = b"\0".join(os.fsencode(path) for path in sorted(paths)) + b"\0"
    answer = _git([*settings, "check-ignore", "--no-index", "-z", "--stdin"], rules, listed, allowed=(0, 1))
    return {os.fsdecode(path) for path in answer.split(b"\0") if path}


def _git_patch(trees: list[dict[str, File]], blobs: Path, folder: Path) -> bytes:
    repository = folder / "repository.git"
    _git(["init", "-q", "--bare", str(repository)], folder)
    script = folder / "import"
    with script.open("wb") as out:
        for number, tree in enumerate(trees):
            out.write(b"commit refs/heads/t%d\ncommitter p <p@p> 0 +0000\ndata 0\n" % number)
            out.write(b"deleteall\n")
            for path, entry in sorted(tree.items()):
                content = (blobs / entry.digest).read_bytes()
                out.write(b"M %s inline %s\n" % (entry.mode.encode(), _quoted(path)))
                out.write(b"data %d\n" % len(content))
                out.write(content)
                out.write(b"\n")
    with script.open("rb") as source:
        _git(["-c", "core.compression=0", "fast-import", "--quiet"], repository, source)
    plain = ["-c", "core.quotePath=true", "-c", "core.attributesFile=/dev/null", "-c", "diff.algorithm=myers"]
    options = ["-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv"]
    return _git([*plain, "diff-tree", *options, "refs/heads/t0", "refs/heads/t1"], repository)


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _git(
    arguments: list[str], folder: Path, given: bytes | IO[bytes] = b"", *, allowed: tuple[int, ...] = (0,)
) -> bytes:
    """Run git so that nothing of the user's or the machine's configuration has a say. Raises SandboxFault."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    with tempfile.TemporaryFile() as held:
        if isinstance(given, bytes):
            held.write(given)
            held.seek(0)
        source = held if isinstance(given, bytes) else given
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=env, stdin=source, capture_output=True, check=False
        )
    if done.returncode not in allowed:
        said = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise SandboxFault(f"git {arguments[0]} failed while the work's tree was compared: {said}")
    return bytes(done.stdout)
