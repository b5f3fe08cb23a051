"""The Task contract: what is to be done, where, and how it will be judged."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from sandboxes.sandbox import Limits

TestOrigin = Literal["f2p", "s2p", "n2p"]


class Contract(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Contract):
    """Where a task comes from."""

    repo: str = Field(description="owner/name, or the folder's name where there is no host")
    base_commit: str = Field(description="the commit that the work starts from")
    fix_commit: str = Field("", description="the commit that the task was mined from")
    committed_at: datetime | None = Field(None, description="when the fix was committed, UTC")
    subject: str = ""


class ImageRecipe(Contract):
    """How an image is made: commands run as root on top of a base, then the tree at base_commit."""

    base: str = Field(description="a base that the project makes or pulls, e.g. python-debian12")
    commands: tuple[str, ...] = ()
    key: str = Field("", description="digest of the base, the commands and the declarations they read")


class Environment(Contract):
    image: str = Field("", description="tag of the image that holds the tree at base_commit")
    recipe: ImageRecipe
    language: str = "python"
    test_command: tuple[str, ...] = Field((), description="argv that runs the whole suite in workdir")
    workdir: str = "/testbed"
    env: dict[str, str] = Field(default_factory=dict)
    limits: Limits = Limits()
    network: Literal["none", "bridge"] = "none"
    services: tuple[str, ...] = Field((), description="images of services that must run beside it")
    test_timeout_s: float = 600.0


class Tests(Contract):
    """The expected results. f2p failed before the fix, s2p was skipped, n2p did not exist or collect."""

    __test__ = False
    fail_to_pass: dict[str, TestOrigin] = Field(default_factory=dict)
    pass_to_pass: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = Field((), description="flaky over repeated runs; never counted")
    files: tuple[str, ...] = Field((), description="test files and fixtures that the gold change touches")


class Oracle(Contract):
    """What the answer was. Reaches no sandbox that an agent can read."""

    gold_patch: str
    test_patch: str


class Verifier(Contract):
    kind: Literal["tests", "deck", "answer"] = "tests"
    timeout_s: float = 600.0


class HiddenDefect(Contract):
    """A second defect planted beside the main one, with the detector that tells whether it is there."""

    id: str
    kind: str
    injected_patch: str
    detector: str


class Fingerprint(Contract):
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict, description="package to resolved version")


class Step(Contract):
    """One link of a chain: its own instruction and tests; tests accumulate along the chain."""

    instruction: str
    tests: Tests
    oracle: Oracle


class PatchTask(Contract):
    """Fix a defect in a repository."""

    schema_version: Literal[1] = 1
    kind: Literal["patch"] = "patch"
    id: str
    instruction: str
    source: Source
    environment: Environment
    verifier: Verifier = Verifier()
    tests: Tests
    oracle: Oracle
    steps: tuple[Step, ...] = ()
    fingerprint: Fingerprint = Fingerprint()
    hidden_defects: tuple[HiddenDefect, ...] = ()


class DeckTask(Contract):
    """Make a deck from a brief, or score one that is there."""

    schema_version: Literal[1] = 1
    kind: Literal["deck"] = "deck"
    id: str
    instruction: str
    verifier: Verifier = Verifier(kind="deck")
    pages: int | None = Field(None, description="pages asked for, where the brief says")
    required_text: tuple[str, ...] = ()


class QuestionTask(Contract):
    """Answer a question about a repository; solved when a target file was read."""

    schema_version: Literal[1] = 1
    kind: Literal["question"] = "question"
    id: str
    instruction: str
    source: Source
    environment: Environment
    verifier: Verifier = Verifier(kind="answer")
    target_files: tuple[str, ...]


Task = Annotated[PatchTask | DeckTask | QuestionTask, Field(discriminator="kind")]
TASK_ADAPTER: TypeAdapter[PatchTask | DeckTask | QuestionTask] = TypeAdapter(Task)
