"""The Sandbox contract: what untrusted work may use, and the verbs a caller has over it."""

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

OWNER_LABEL = "patchdeck.owner"
RUN_LABEL = "patchdeck.run"


class SandboxFault(RuntimeError):
    """The sandbox itself failed (engine gone, disk full, image missing): never the work's own fault."""


class SandboxLost(SandboxFault):
    """The container or the engine went away while work was under way; the same call may be tried anew."""


class ImageMissing(SandboxFault):
    """The image that the specification names is not on this engine."""


class Limits(BaseModel):
    """Ceilings on one sandbox. Passing one ends the work, never the host."""

    model_config = ConfigDict(frozen=True)

    memory_mb: int = Field(2048, ge=32, description="memory and swap together, MiB")
    cpus: float = Field(1.0, gt=0, description="share of cores, as docker's --cpus")
    pids: int = Field(256, ge=8, description="processes and threads at once")
    disk_mb: int = Field(1024, ge=8, description="what the work may write in all, MiB")
    output_mb: int = Field(8, ge=1, description="captured output of one command, MiB; the rest is cut")


class SandboxSpec(BaseModel):
    """Everything another machine needs to open the same sandbox."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    image: str
    workdir: str = "/testbed"
    user: str | None = Field(None, description="user inside the container; None keeps the image's own")
    env: dict[str, str] = Field(default_factory=dict)
    network: Literal["none", "bridge"] = "none"
    limits: Limits = Limits()
    run_id: str = Field("adhoc", description="label by which a run's leftovers are found")
    owner: str = Field("", description="host process that owns the sandbox, set by whoever opens it")


@dataclass(frozen=True)
class ExecResult:
    """What one command did.

    exit_code is None where the command was killed for its time; output is standard output and standard
    error interleaved, as raw bytes, since programs print what is not UTF-8.
    """

    exit_code: int | None
    output: bytes
    timed_out: bool
    truncated: bool
    seconds: float

    @property
    def text(self) -> str:
        """The output as text; a byte that is not UTF-8 becomes its backslash escape."""
        return self.output.decode("utf-8", "backslashreplace")


class Duplex(Protocol):
    """A running command spoken to over its standard input and output."""

    def send(self, payload: bytes) -> None: ...

    def receive_line(self, timeout_s: float) -> bytes:
        """One line without its newline. Raises TimeoutError, or SandboxLost where the command ended."""
        ...

    def close(self) -> None: ...


class Sandbox(Protocol):
    """An open sandbox. Every verb raises SandboxFault where the sandbox, not the work, failed."""

    spec: SandboxSpec

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
        """Run argv; past timeout_s the whole process tree is killed."""
        ...

    @property
    def name(self) -> str:
        """How the engine's own tools call it."""
        ...

    def spawn(self, argv: list[str], *, user: str | None = None) -> Duplex: ...

    def read(self, path: str) -> bytes:
        """Contents of one regular file. Raises FileNotFoundError."""
        ...

    def write(self, path: str, content: bytes, *, mode: int = 0o644) -> None: ...

    def tree_difference(self) -> bytes:
        """A git patch from the tree that the image holds to the tree as it is now (tracked or not)."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> "Sandbox": ...

    def __exit__(self, *exc: object) -> None: ...
