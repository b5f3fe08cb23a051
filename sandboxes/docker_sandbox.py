"""A sandbox in a Docker container: a read-only image, and memory file systems for what the work writes."""

import io
import secrets
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, cast

from sandboxes.container import create_container, remove_container
from sandboxes.difference import tree_patch
from sandboxes.duplex import CommandDuplex
from sandboxes.engine import client
from sandboxes.faults import lost, translated
from sandboxes.owner import this_process
from sandboxes.running import Running
from sandboxes.sandbox import (
    ExecResult,
    ImageMissing,
    SandboxFault,
    SandboxLost,
    SandboxSpec,
)
from sandboxes.stream import EngineStream
from sandboxes.tree import BaseTree, base_tree, members
from sandboxes.users import resolve_user

_START_S = 30.0
_END_S = 20.0
_LINKS = 16
_KILLED = 137
_LOOKS, _LOOK_S = 4, 0.05


class DockerSandbox:
    """See sandboxes.sandbox.Sandbox. Safe to use from several threads."""

    spec: SandboxSpec

    def __init__(self, spec: SandboxSpec, container: str, user: tuple[int, int], tree: BaseTree) -> None:
        self.spec = spec
        self.container = container
        self._user = user
        self._tree = tree
        self._guardian: EngineStream | None = None
        self._ending = threading.Lock()
        self._closed = False

    def exec(
        self,
        argv: list[str],
        *,
        timeout_s: float = 60.0,
        stdin: bytes | None = None,
        env: dict[str, str] | None = None,
        workdir: str | None = None,
        user: str | None = None,
    ) -> ExecResult:
        running = self._start(argv, stdin is not None, env, workdir, user)
        result = running.finish(stdin, timeout_s, self.spec.limits.output_mb << 20, self._end)
        if result.exit_code == _KILLED:
            self._expect_alive()
        return result

    @property
    def name(self) -> str:
        return self.container

    def spawn(self, argv: list[str], *, user: str | None = None) -> CommandDuplex:
        return CommandDuplex(self._start(argv, True, None, None, user), self._end)

    def read(self, path: str) -> bytes:
        place = PurePosixPath(self.spec.workdir) / path
        for _ in range(_LINKS):
            found = self._fetch(place)
            if isinstance(found, bytes):
                return found
            place = place.parent / found
        raise FileNotFoundError(f"{path} leads through too many symbolic links")

    def _fetch(self, place: PurePosixPath) -> bytes | str:
        """Content of a regular file, or the target of a symbolic link. Raises FileNotFoundError."""
        import docker.errors

        with translated(f"reading {place}"):
            try:
                chunks, stat = client().api.get_archive(self.container, str(place))
            except docker.errors.NotFound:
                # The engine has one status for both; only a missing container is a fault.
                self._expect_running()
                raise FileNotFoundError(str(place)) from None
            except docker.errors.APIError as error:
                if "not a directory" in str(error.explanation):
                    raise FileNotFoundError(str(place)) from None
                raise
            try:
                # The size that the file claims may be one hole: never read past the limit.
                if int(stat.get("size", 0)) > (self.spec.limits.disk_mb + self._tree.size_mb) << 20:
                    raise FileNotFoundError(f"{place} claims more bytes than the sandbox may hold")
                for _, member, content in members(cast("Iterator[bytes]", chunks), single=True):
                    if content is not None:
                        return content.read()
                    if member.issym():
                        return member.linkname
                    break
                raise FileNotFoundError(f"{place} is not a regular file")
            finally:
                _close(chunks)

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None:
        """Write one file as the sandbox's user, its missing folders made. Only below the workdir and /tmp."""
        import docker.errors

        place = PurePosixPath(self.spec.workdir) / path
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            member = tarfile.TarInfo(place.name)
            member.size, member.mode, member.mtime = len(content), mode, int(time.time())
            member.uid, member.gid = self._user
            archive.addfile(member, io.BytesIO(content))
        with translated(f"writing {path}"):
            try:
                client().api.put_archive(self.container, str(place.parent), packed.getvalue())
                return
            except docker.errors.NotFound:
                made = self.exec(["mkdir", "-p", "--", str(place.parent)], workdir="/")
            if made.exit_code != 0:
                raise SandboxFault(f"cannot make {place.parent} in the sandbox: {made.text.strip()}")
            client().api.put_archive(self.container, str(place.parent), packed.getvalue())

    def tree_difference(self) -> bytes:
        with translated("reading the tree"):
            chunks, _ = client().api.get_archive(self.container, self.spec.workdir)
            try:
                room = (self.spec.limits.disk_mb + self._tree.size_mb) << 20
                return tree_patch(self._tree, cast("Iterator[bytes]", chunks), room)
            finally:
                _close(chunks)

    def close(self) -> None:
        """Remove the container and what it wrote. Once is enough; an engine that is gone is no error here."""
        if self._closed:
            return
        self._closed = True
        if self._guardian is not None:
            self._guardian.close()
        try:
            remove_container(self.container)
        except SandboxLost:
            return

    def __enter__(self) -> "DockerSandbox":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _start(
        self, argv: list[str], stdin: bool, env: dict[str, str] | None, workdir: str | None, user: str | None
    ) -> Running:
        token = secrets.token_hex(16)
        with translated(f"running {argv[0]}"):
            api = client().api
            command = api.exec_create(
                self.container,
                argv,
                stdin=stdin,
                environment={**(env or {}), "PATCHDECK_COMMAND": f"{token}-end"},
                workdir=workdir or self.spec.workdir,
                user=user if user is not None else f"{self._user[0]}:{self._user[1]}",
            )["Id"]
            stream = EngineStream(api.exec_start(command, socket=True))
        return Running(self.container, command, token, stream)

    def _expect_running(self) -> None:
        """Raises SandboxLost where the container is gone or has stopped."""
        with translated("asking for the container"):
            state = client().api.inspect_container(self.container)["State"]
        if not state["Running"]:
            raise SandboxLost("the container is gone or has stopped: something else ended it")

    def _expect_alive(self) -> None:
        """Raises SandboxLost where a command was killed because its container was."""
        # The engine notes the end of a container a moment after that of the commands in it.
        for _ in range(_LOOKS):
            self._expect_running()
            time.sleep(_LOOK_S)

    def _end(self, token: str) -> None:
        """End every process of one command. Raises SandboxLost where the guardian does not answer."""
        with self._ending:
            guardian = self._guardian
            try:
                if guardian is None or guardian.ended:
                    raise lost("ending a command")
                guardian.send(f"end {token}\n".encode())
                _await_line(guardian, f"ended {token}".encode(), _END_S)
            except OSError as error:
                raise lost("ending a command") from error

    def _open(self) -> None:
        """Start the guardian, then lay the image's tree into the empty workdir."""
        with translated("starting the sandbox"):
            api = client().api
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._guardian = EngineStream(api.attach_socket(self.container, streams))
            api.start(self.container)
            _await_line(self._guardian, b"ready", _START_S)
            if self._tree.entries:
                with self._tree.archive.open("rb") as archive:
                    api.put_archive(self.container, self.spec.workdir, archive)


def open_sandbox(spec: SandboxSpec) -> DockerSandbox:
    """A running sandbox whose workdir holds the image's tree. Raises ImageMissing or another SandboxFault."""
    import docker.errors

    if not spec.owner:
        spec = spec.model_copy(update={"owner": this_process()})
    with translated("looking for the image"):
        try:
            image = client().api.inspect_image(spec.image)
        except docker.errors.NotFound as error:
            raise ImageMissing(
                f"the image {spec.image} is not on this engine: make it again with the command that built it "
                "(`patchdeck setup` for a base, `patchdeck mine` for a task)"
            ) from error
    user = resolve_user(image["Id"], (image["Config"].get("User") or "") if spec.user is None else spec.user)
    with translated("keeping the image's tree"):
        tree = base_tree(spec.image, image["Id"], spec.workdir, user)
    if not tree.archive.exists():
        # Somebody emptied the cache while this process held its index.
        base_tree.cache_clear()
        with translated("keeping the image's tree"):
            tree = base_tree(spec.image, image["Id"], spec.workdir, user)
    container = create_container(spec, user, tree)
    sandbox = DockerSandbox(spec, container, user, tree)
    try:
        sandbox._open()
    except BaseException:
        sandbox.close()
        raise
    return sandbox


def _await_line(stream: EngineStream, wanted: bytes, wait_s: float) -> None:
    """Read until a line is wanted. Raises SandboxLost where the stream ends or time passes first."""
    deadline, received = time.monotonic() + wait_s, b""
    while wanted not in received:
        left = deadline - time.monotonic()
        if left <= 0 or stream.ended:
            said = received.decode("utf-8", "backslashreplace").strip()
            raise SandboxLost(f"the sandbox's first process does not answer{': ' + said if said else ''}")
        for _, body in stream.frames(left):
            received += body


def _close(chunks: Any) -> None:
    if chunks is not None and hasattr(chunks, "close"):
        chunks.close()
