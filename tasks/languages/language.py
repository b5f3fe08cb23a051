"""The Language protocol: what a language's file answers, and the registry of languages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tasks.testrun import TestStatus

ReadFile = Callable[[str], bytes | None]
"""Contents of a path of the tree, None where it is not there."""


@dataclass(frozen=True)
class EnvironmentRecipe:
    """How a repository's environment is made, in two layers.

    environment_commands run once over a tree at /testbed and are shared by every commit with the same key;
    instance_commands run over each commit's own tree. Shell lines, run as root, workdir /testbed. base is the
    name of a base image.
    """

    base: str
    environment_commands: tuple[str, ...]
    instance_commands: tuple[str, ...]
    declarations: tuple[str, ...]
    """Paths whose contents decide what is installed."""
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteReport:
    """A suite's results; complete where the structured report is whole and agrees with the exit code."""

    results: dict[str, TestStatus]
    complete: bool
    problem: str = ""


class Language(Protocol):
    """One language. Pure: knows paths and texts, never a container."""

    name: str

    def recognises(self, paths: list[str]) -> bool:
        """True where the tree is of this language."""
        ...

    def is_source(self, path: str) -> bool:
        """A source file of the language that is neither test nor documentation."""
        ...

    def is_test_path(self, path: str) -> bool:
        """A test, or a fixture, snapshot or configuration that only tests read."""
        ...

    def is_protected(self, path: str) -> bool:
        """A path by which a change could bend its own judgement: tests and whatever steers the runner."""
        ...

    def shadows_runtime(self, path: str) -> bool:
        """A new file that would be loaded in place of the runner's or the runtime's own."""
        ...

    def recipe(self, paths: list[str], read: ReadFile) -> EnvironmentRecipe:
        """Raises NoRecipe where the tree declares nothing that can be installed."""
        ...

    def support_files(self) -> dict[str, bytes]:
        """Files laid outside the tree before the suite runs, absolute path to contents."""
        ...

    def test_command(self) -> tuple[str, ...]:
        """argv that runs the whole suite; it writes its structured report to report_path."""
        ...

    report_path: str

    def read_report(self, report: bytes | None, log: str, exit_code: int | None) -> SuiteReport:
        """Results from the structured report; from the log where there is none, then not complete."""
        ...

    def parses(self, path: str, content: bytes) -> bool:
        """False where a source file of the language does not parse."""
        ...

    def versions_command(self) -> tuple[str, ...]:
        """argv that prints `name==version` lines of what is installed, the runtime first."""
        ...

    def collected_in(self, test_id: str, results: dict[str, TestStatus]) -> TestStatus | None:
        """Status of the file that a test stands in where that file was not collected, else None."""
        ...


class NoRecipe(RuntimeError):
    """The repository declares no environment that the language's rules can build."""


class UnknownLanguage(RuntimeError):
    """No language here recognises the repository."""


def languages() -> tuple[Language, ...]:
    """Every language known, the first that recognises a tree wins."""
    from tasks.languages.python import Python

    return (Python(),)


def named(name: str) -> Language:
    """The language of a task. Raises UnknownLanguage."""
    for language in languages():
        if language.name == name:
            return language
    raise UnknownLanguage(
        f"no support for the language {name!r}: known are " + ", ".join(x.name for x in languages())
    )


def recognise(paths: list[str]) -> Language:
    """The language of a tree. Raises UnknownLanguage."""
    for language in languages():
        if language.recognises(paths):
            return language
    raise UnknownLanguage("no supported language in this repository: patchdeck mines Python so far")
