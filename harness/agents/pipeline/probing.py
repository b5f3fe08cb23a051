"""Runs the probe in the sandbox and reads what it wrote, without trusting it."""

import json
import posixpath
import uuid
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from sandboxes.sandbox import Sandbox
from tasks.languages.language import Language, named
from tasks.task import PatchTask

FOLDER = "/tmp/patchdeck-repair"


class TestRecord(BaseModel):
    """One test's outcome as pytest told it, and the traceback's frames inside the tree, outermost first."""

    __test__ = False
    outcome: str = "failed"
    seconds: float = 0.0
    message: str = ""
    exception: str = ""
    frames: list[tuple[str, int, str, dict[str, list[str]]]] = Field(default_factory=list)


class ProbeReport(BaseModel):
    """What one probed run did. calls: test id, "path:line of the def", parameter, kinds of values seen."""

    results: dict[str, TestRecord] = Field(default_factory=dict)
    errors: dict[str, str] = Field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = Field(default_factory=dict)
    loaded: dict[str, list[int]] = Field(default_factory=dict)
    calls: dict[str, dict[str, dict[str, list[str]]]] = Field(default_factory=dict)
    outside: list[str] = Field(default_factory=list)
    """modules that the tests imported from outside the tree"""
    skipped: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class ProbeResult:
    report: ProbeReport | None
    """None where the run left no readable report"""
    output: str
    timed_out: bool
    seconds: float


@dataclass
class Prober:
    """Sends the programs into the sandbox once and builds their command lines."""

    sandbox: Sandbox
    task: PatchTask
    extra: tuple[str, ...] = field(default=("-rN",))
    sent: bool = False
    plain: bool = False
    """the project's own addopts are left out, since with them no report came"""

    @property
    def language(self) -> Language:
        return named(self.task.environment.language)

    def send(self) -> None:
        if self.sent:
            return
        inside = resources.files("harness.agents.pipeline.inside")
        for name in ("probe.py", "try_candidates.py"):
            self.sandbox.write(f"{FOLDER}/{name}", inside.joinpath(name).read_bytes())
        self.sent = True

    def interpreter(self) -> list[str]:
        """The start of the test command up to and with the interpreter."""
        command = list(self.task.environment.test_command)
        for index, word in enumerate(command):
            if word == "-m" and command[index + 1 : index + 2] == ["pytest"]:
                return command[:index]
        return ["/opt/venv/bin/python"]

    def argv(self, config_path: str, targets: list[str]) -> list[str]:
        """The task's own pytest command, run through the probe, on the given files ([]: the whole suite).

        What serves the report that grading reads is left out: its plugin is not in an agent's sandbox.
        """
        command = list(self.task.environment.test_command)
        options: list[str] = []
        for index, word in enumerate(command):
            if word == "-m" and command[index + 1 : index + 2] == ["pytest"]:
                options = [w for w in command[index + 2 :] if not w.startswith("--junitxml")]
        grading = {posixpath.basename(p).removesuffix(".py") for p in self.language.support_files()}
        for plugin in grading & set(options):
            at = options.index(plugin)
            del options[at - 1 : at + 1]
        if self.plain:
            options = [*options, "-o", "addopts="]
        return [*self.interpreter(), f"{FOLDER}/probe.py", config_path, *options, *self.extra, *targets]

    def configure(self, **settings: object) -> tuple[str, str]:
        """Write a probe's configuration; returns its path and the path of the report to come."""
        self.send()
        key = uuid.uuid4().hex[:8]
        config, out = f"{FOLDER}/probe-{key}.json", f"{FOLDER}/report-{key}.json"
        defaults: dict[str, Any] = {
            "root": self.task.environment.workdir,
            "out": out,
            "first": [],
            "only": None,
            "coverage": False,
            "test_s": 10.0,
            "deadline_s": 60.0,
            "stop_on_failure": False,
        }
        self.sandbox.write(config, json.dumps({**defaults, **settings}).encode())
        return config, out

    def run(self, targets: list[str], *, timeout_s: float, **settings: object) -> ProbeResult:
        """One probed run; once more without the project's own addopts where the first left no report."""
        config, out = self.configure(**settings)
        for plain in dict.fromkeys((self.plain, True)):
            self.plain = plain
            done = self.sandbox.exec(
                self.argv(config, targets),
                timeout_s=timeout_s,
                env={**self.task.environment.env, "PYTHONDONTWRITEBYTECODE": "1"},
                workdir=self.task.environment.workdir,
            )
            report = self.read(out)
            if report is not None or done.timed_out:
                break
        return ProbeResult(report, done.text[-4000:], done.timed_out, done.seconds)

    def read(self, path: str) -> ProbeReport | None:
        try:
            return ProbeReport.model_validate_json(self.sandbox.read(path))
        except (FileNotFoundError, ValidationError, UnicodeDecodeError):
            return None
