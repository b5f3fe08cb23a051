"""Python: repositories whose tests pytest can run (unittest suites among them)."""

import ast
import re
import shlex
import sys
from importlib import resources

from tasks.languages.language import EnvironmentRecipe, NoRecipe, ReadFile, SuiteReport
from tasks.languages.python_declarations import declared
from tasks.readers import junit, pytest_log
from tasks.testrun import TestStatus

_TEST_FOLDERS = frozenset(
    {"test", "tests", "testsuite", "unittests", "testdata", "test_data", "__snapshots__"}
)
_RUNNER_FILES = frozenset({"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
# Files that steer the interpreter or the runner without being tests.
_STEERING_FILES = frozenset(
    {
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "sitecustomize.py",
        "usercustomize.py",
        ".coveragerc",
        "pyvenv.cfg",
    }
)
_RUNNER_MODULES = frozenset(
    {
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "pytest_timeout",
        "coverage",
        "xdist",
    }
)
_BUILT_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".git", ".venv", ".mypy_cache", ".ruff_cache"})
_COMPILED = (".c", ".cc", ".cpp", ".pyx")
_PLUGIN_FOLDER = "/tmp/patchdeck-plugin"
_PLUGIN = "patchdeck_pytest_plugin"
_TEST_TIMEOUT_S = 30
"""A defect that never ends fails its own test and leaves the others their turn."""
_PIP = "/opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-input"

# The tree stands last on the path: tests find their helpers, and no file of the tree can stand in for the
# runner or for a library, which `python -m pytest` alone would allow.
_PATH_FILE = (
    "for packages in /opt/venv/lib/python3*/site-packages; do "
    "printf '/testbed\\n/testbed/src\\n' > \"$packages/testbed.pth\"; done"
)


class Python:
    """A venv at /opt/venv from the repository's own declarations, the whole suite by pytest."""

    name = "python"
    report_path = "/tmp/patchdeck-report/junit.xml"

    def recognises(self, paths: list[str]) -> bool:
        return any(path.endswith(".py") for path in paths)

    def is_source(self, path: str) -> bool:
        return path.endswith(".py") and not self.is_test_path(path)

    def is_test_path(self, path: str) -> bool:
        *folders, name = path.split("/")
        if name in _RUNNER_FILES or any(folder.lower() in _TEST_FOLDERS for folder in folders):
            return True
        stem, dot, suffix = name.rpartition(".")
        if f"{dot}{suffix}" != ".py":
            return False
        return stem in {"test", "tests"} or stem.startswith("test_") or stem.endswith(("_test", "_tests"))

    def is_protected(self, path: str) -> bool:
        *folders, name = path.split("/")
        return (
            self.is_test_path(path)
            or name in _STEERING_FILES
            or name.endswith((".pth", ".pyc", ".egg-link"))
            or any(f in _BUILT_FOLDERS or f.endswith((".egg-info", ".dist-info")) for f in folders)
        )

    def shadows_runtime(self, path: str) -> bool:
        top = path.removeprefix("src/").split("/", 1)[0].removesuffix(".py")
        return top in sys.stdlib_module_names or top in _RUNNER_MODULES

    def recipe(self, paths: list[str], read: ReadFile) -> EnvironmentRecipe:
        found = declared(paths, read)
        if not found.installable and not any(p.endswith(".py") for p in paths):
            raise NoRecipe("the tree at this commit holds neither a Python package nor a Python module")
        extras = f"[{','.join(found.extras)}]" if found.extras else ""
        build = [*found.build_requirements, "setuptools<81", "wheel", "editables"]
        commands = ["python3 -m venv /opt/venv", f"{_PIP} --upgrade pip"]
        commands.append(f"{_PIP} {_quoted(_without_doubles(build))}")
        wanted = [*found.requirements, "pytest", "pytest-timeout", "coverage"]
        instance: tuple[str, ...]
        if found.installable:
            commands.append(f"{_PIP} -e .{extras} {_quoted(wanted)}")
            instance = (f"{_PIP} --no-deps --no-build-isolation -e .", _PATH_FILE)
        else:
            commands.append(f"{_PIP} {_quoted(wanted)}")
            instance = (_PATH_FILE,)
        compiled = any(path.endswith(_COMPILED) and not self.is_test_path(path) for path in paths)
        return EnvironmentRecipe(
            base="python-debian12-compiler" if compiled else "python-debian12",
            environment_commands=tuple(commands),
            instance_commands=instance,
            declarations=found.paths,
            env={
                "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
                "VIRTUAL_ENV": "/opt/venv",
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )

    def support_files(self) -> dict[str, bytes]:
        plugin = resources.files("tasks.readers").joinpath("pytest_plugin.py").read_bytes()
        return {f"{_PLUGIN_FOLDER}/{_PLUGIN}.py": plugin}

    def test_command(self) -> tuple[str, ...]:
        return (
            "env",
            f"PYTHONPATH={_PLUGIN_FOLDER}",
            "/opt/venv/bin/python",
            "-P",
            "-m",
            "pytest",
            "-p",
            _PLUGIN,
            "-p",
            "no:randomly",
            f"--timeout={_TEST_TIMEOUT_S}",
            "-rA",
            "--tb=short",
            "--color=no",
            "--maxfail=0",
            "--continue-on-collection-errors",
            "-o",
            "junit_family=xunit1",
            f"--junitxml={self.report_path}",
        )

    def read_report(self, report: bytes | None, log: str, exit_code: int | None) -> SuiteReport:
        if report is None:
            return SuiteReport(pytest_log.parse(log), False, "the suite left no report")
        try:
            results = junit.read(report)
        except junit.BrokenReport as error:
            return SuiteReport(pytest_log.parse(log), False, str(error))
        bad = any(status in {"FAIL", "ERROR"} for status in results.values())
        if exit_code not in {0, 1}:
            return SuiteReport(
                results, False, f"pytest ended with exit code {exit_code}: the run is not whole"
            )
        if bad != (exit_code == 1):
            said = "holds failures" if bad else "holds none"
            return SuiteReport(results, False, f"exit code {exit_code}, but the report {said}")
        return SuiteReport(results, True)

    def parses(self, path: str, content: bytes) -> bool:
        if not path.endswith(".py"):
            return True
        try:
            ast.parse(content)
        except (SyntaxError, ValueError):
            return False
        return True

    def versions_command(self) -> tuple[str, ...]:
        listing = (
            "import platform; from importlib.metadata import distributions as d; "
            "print('python=='+platform.python_version()); "
            "print(*sorted({f'{x.name}=={x.version}' for x in d()}), sep='\\n')"
        )
        return ("/opt/venv/bin/python", "-c", listing)

    def collected_in(self, test_id: str, results: dict[str, TestStatus]) -> TestStatus | None:
        module = test_id.split("::", 1)[0].removesuffix(".py").replace("/", ".")
        return results.get(module)


def _quoted(words: list[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _without_doubles(requirements: list[str]) -> list[str]:
    """The first requirement for each distribution; a later, more general one would contradict it."""
    kept: dict[str, str] = {}
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        kept.setdefault(name, requirement)
    return list(kept.values())
