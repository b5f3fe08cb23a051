"""Plain git plumbing over a repository that is only ever read, in bulk."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A history is read from wherever it lies, also where another user owns it; nothing in it is run.
_BASE = ("git", "-c", "safe.directory=*", "-c", "core.quotePath=false", "-c", "protocol.ext.allow=never")


class GitError(RuntimeError):
    """git refused, with what it said."""


class NotARepository(GitError):
    """The path or URL holds no git history."""


@dataclass(frozen=True)
class TreeEntry:
    """One path of a tree: mode as git prints it (100644, 100755, 120000, 160000)."""

    mode: str
    object_id: str
    path: str


@dataclass(frozen=True)
class Repository:
    """A git directory, bare or not."""

    git_dir: Path

    def argv(self, *arguments: str) -> list[str]:
        return [*_BASE, f"--git-dir={self.git_dir}", *arguments]

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Standard output of one git command. Raises GitError with the last line that git printed."""
        done = subprocess.run(self.argv(*arguments), input=stdin, capture_output=True, check=False)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines() or ["no message"]
            raise GitError(f"git {_verb(arguments)} failed in {self.git_dir}: {said[-1]}")
        return done.stdout

    def tree(self, commit: str) -> list[TreeEntry]:
        """Every path of the commit's tree."""
        entries = []
        for record in self.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            if record:
                head, path = record.split(b"\t", 1)
                mode, _, object_id = head.decode().split(" ")
                entries.append(TreeEntry(mode, object_id, path.decode("utf-8", "surrogateescape")))
        return entries

    def blobs(self, object_ids: Iterable[str]) -> list[bytes]:
        """Contents of objects in the order asked for. Raises GitError where one is missing."""
        wanted = list(object_ids)
        answer = self.run("cat-file", "--batch", stdin="".join(f"{i}\n" for i in wanted).encode())
        contents, at = [], 0
        for object_id in wanted:
            end = answer.index(b"\n", at)
            header = answer[at:end].split(b" ")
            if header[-1] == b"missing":
                raise GitError(
                    f"object {object_id} is missing in {self.git_dir}: the clone is partial or damaged, "
                    "clone it whole"
                )
            size = int(header[2])
            contents.append(answer[end + 1 : end + 1 + size])
            at = end + 1 + size + 1
        return contents

    def blob(self, commit: str, path: str) -> bytes | None:
        """Contents of one file at a commit, or None where it is not there."""
        try:
            return self.run("cat-file", "blob", f"{commit}:{path}")
        except GitError:
            return None

    def difference(self, base: str, commit: str, paths: Iterable[str]) -> str:
        """A patch over the paths, whole enough to apply anywhere: binary hunks carry their full index.

        A path whose text is not UTF-8 is put as a binary hunk, so that the patch is always text.
        """
        patch = ""
        for path in paths:
            part = self._difference(base, commit, path)
            try:
                patch += part.decode()
            except UnicodeDecodeError:
                with tempfile.NamedTemporaryFile("w", suffix=".gitattributes") as attributes:
                    attributes.write("* -diff\n")
                    attributes.flush()
                    patch += self._difference(base, commit, path, attributes=attributes.name).decode()
        return patch

    def _difference(self, base: str, commit: str, path: str, *, attributes: str = os.devnull) -> bytes:
        plumbing = ("diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff")
        plain = ("--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "-U3")
        settings = ("-c", f"core.attributesFile={attributes}", "--literal-pathspecs")
        return self.run(*settings, *plumbing, *plain, base, commit, "--", path)

    @contextmanager
    def lines(self, *arguments: str) -> Iterator[Iterator[bytes]]:
        """NUL-terminated records of a long-running git command, which is ended when the block is left."""
        with subprocess.Popen(
            self.argv(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as running:
            assert running.stdout is not None
            try:
                yield _records(running.stdout)
            finally:
                running.kill()


def _verb(arguments: tuple[str, ...]) -> str:
    return next((a for a in arguments if not a.startswith("-") and "=" not in a), "")


def _records(stream: object) -> Iterator[bytes]:
    read = stream.read1  # type: ignore[attr-defined]
    held = b""
    while chunk := read(1 << 16):
        *whole, held = (held + chunk).split(b"\0")
        yield from whole
    if held:
        yield held


def patch_paths(patch: str) -> tuple[str, ...]:
    """Paths that a patch touches, as git itself reads it. Raises GitError where git can't read it."""
    if not patch:
        return ()
    done = subprocess.run(
        ["git", "apply", "--numstat", "-z", "-"],
        input=patch.encode(),
        capture_output=True,
        check=False,
        cwd=tempfile.gettempdir(),
    )
    if done.returncode != 0:
        raise GitError(f"git can't read the patch: {done.stderr.decode('utf-8', 'backslashreplace').strip()}")
    records = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return tuple(record.split("\t", 2)[2] for record in records if record.count("\t") >= 2)


def open_repository(path: Path) -> Repository:
    """The repository at a working tree, a bare git directory, or a folder inside a working tree.

    Raises NotARepository, also where the history has no commit yet.
    """
    if not path.exists():
        raise NotARepository(f"{path} does not exist: give a git working tree, a bare git directory or a URL")
    # GIT_CEILING_DIRECTORIES is not used: a folder inside a working tree counts as that tree.
    found = subprocess.run(
        [*_BASE, "-C", str(path if path.is_dir() else path.parent), "rev-parse", "--absolute-git-dir"],
        capture_output=True,
        check=False,
    )
    if found.returncode != 0:
        raise NotARepository(
            f"{path} is not a git repository: give a working tree, a bare git directory or a URL"
        )
    repository = Repository(Path(found.stdout.decode().rstrip("\n")))
    head = subprocess.run(
        repository.argv("rev-parse", "--verify", "--quiet", "HEAD^{commit}"), capture_output=True, check=False
    )
    if head.returncode != 0:
        raise NotARepository(
            f"{path} has an empty history: commit something first, or name another repository"
        )
    return repository
