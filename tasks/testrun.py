"""The TestRun contract: what one trial of a change showed."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

TestStatus = Literal["PASS", "FAIL", "SKIP", "XFAIL", "XPASS", "ERROR"]


class TestRun(BaseModel):
    """All that grading needs to know about one trial; a fault of the sandbox raises instead."""

    __test__ = False
    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    patch_exists: bool
    patch_applied: bool
    apply_error: str = ""
    dropped_paths: tuple[str, ...] = Field((), description="protected paths that the patch touched")
    touched_paths: tuple[str, ...] = ()
    parses: bool = Field(True, description="every touched source file parses")
    results: dict[str, TestStatus] = Field(default_factory=dict)
    report_complete: bool = Field(False, description="the structured report exists and is whole")
    exit_code: int | None = None
    timed_out: bool = False
    log: str = ""
    seconds: float = 0.0
