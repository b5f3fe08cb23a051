"""Runs pytest and writes down what each test did: outcome, traceback, lines covered, arguments seen.

Called as `probe.py CONFIG.json pytest-arguments…` with the tree as working directory. CONFIG holds root, out,
first (ids to run before all others), only (ids to run, or null), coverage (bool), test_s (seconds after
which one test counts as failed), deadline_s (after it, what is left is not run) and stop_on_failure.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

CONFIG: dict[str, Any] = {}
MAX_FRAMES = 40


class TookTooLong(BaseException):
    """A test ran past its time. Not an Exception, so that code under test does not swallow it."""


def too_long(number: int, frame: object) -> None:
    raise TookTooLong(f"still running after {CONFIG['test_s']} s")


def kinds(value: object) -> list[str]:
    """Coarse truths about a value, enough to tell which guard would have caught it. Calls no user code."""
    known = type(value)
    found = [f"type:{known.__name__}"]
    if value is None:
        found.append("none")
    elif known in (int, float):
        found += ["zero"] * (value == 0) + ["negative"] * (value < 0) + ["one"] * (value == 1)  # type: ignore[operator]
    elif known in (str, bytes, list, tuple, dict, set, frozenset):
        found += ["empty"] * (len(value) == 0) + ["single"] * (len(value) == 1)  # type: ignore[arg-type]
    elif known is bool:
        found.append("true" if value else "false")
    return found


def own_values(value: object) -> list[tuple[str, object]]:
    """An instance's own attributes, read past whatever its class defines."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [(str(name), held[name]) for name in list(held)[:20]] if type(held) is dict else []


class Probe:
    def __init__(self) -> None:
        self.root = os.path.realpath(CONFIG["root"]) + os.sep
        self.started = time.monotonic()
        self.results: dict[str, dict[str, Any]] = {}
        self.errors: dict[str, str] = {}
        self.arguments: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
        self.calls: dict[str, dict[str, list[str]]] = {}
        self.skipped = 0
        self.stopped = False
        self.coverage: Any = None
        if CONFIG["coverage"]:
            import coverage

            self.coverage = coverage.Coverage(
                data_file=None,
                config_file=False,
                include=[self.root + "*"],
                omit=["*/.venv/*", "*/site-packages/*"],
            )
            self.coverage.start()

    def pytest_collection_modifyitems(self, session: Any, config: Any, items: list[Any]) -> None:
        first = {node: rank for rank, node in enumerate(CONFIG["first"])}
        files = {node.split("::")[0] for node in first}
        if CONFIG["only"] is not None:
            wanted = set(CONFIG["only"])
            items[:] = [item for item in items if item.nodeid in wanted]
        items.sort(key=lambda i: (i.nodeid not in first, i.nodeid.split("::")[0] not in files))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> object:
        if self.stopped or time.monotonic() - self.started > CONFIG["deadline_s"]:
            self.skipped += 1
            return True
        return None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, CONFIG["test_s"])
        if self.coverage is None:
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            return
        self.coverage.switch_context(item.nodeid)
        seen: dict[str, dict[str, list[str]]] = {}
        root = self.root

        def profile(frame: Any, event: str, argument: object) -> None:
            code = frame.f_code
            if event != "call" or not code.co_filename.startswith(root):
                return
            name = f"{code.co_filename[len(root) :]}:{code.co_firstlineno}"
            calls = seen.setdefault(name, {})
            for parameter in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
                told = calls.setdefault(parameter, [])
                if len(told) < 12:
                    told.extend(k for k in kinds(frame.f_locals.get(parameter)) if k not in told)
            for attribute, value in own_values(frame.f_locals.get("self")):
                told = calls.setdefault(f"self.{attribute}", [])
                if len(told) < 12:
                    told.extend(k for k in kinds(value) if k not in told)

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.setprofile(before)
            self.coverage.switch_context("")
            self.calls[item.nodeid] = seen  # type: ignore[assignment]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        record = self.results.setdefault(
            item.nodeid, {"outcome": "passed", "seconds": 0.0, "frames": [], "message": "", "exception": ""}
        )
        record["seconds"] += report.duration
        if report.outcome == "passed" or (report.outcome == "skipped" and record["outcome"] == "failed"):
            return
        record["outcome"] = report.outcome
        if report.outcome == "failed" and call.excinfo is not None:
            record["message"] = str(call.excinfo.exconly(tryshort=True))[:500]
            record["exception"] = call.excinfo.typename
            record["frames"] = list(self.frames(call.excinfo.traceback))[-MAX_FRAMES:]
            if CONFIG["stop_on_failure"]:
                self.stopped = True

    def frames(self, traceback: Any) -> Any:
        for entry in traceback:
            path = str(entry.path)
            if path.startswith(self.root):
                values: dict[str, list[str]] = {}
                for name, value in list(entry.frame.f_locals.items())[:30]:
                    values[name] = kinds(value)
                yield [path[len(self.root) :], entry.lineno + 1, entry.name, values]

    def outside(self) -> list[str]:
        """Modules that were imported from files outside the tree, this program's own folder aside."""
        held = (self.root, f"{Path(__file__).resolve().parent}/")
        return [
            name
            for name, module in list(sys.modules.items())
            if isinstance(file := getattr(module, "__file__", None), str)
            and name != "__main__"
            and not os.path.realpath(file).startswith(held)
        ]

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.errors[report.nodeid] = str(report.longrepr)[-1500:]

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        lines: dict[str, dict[str, list[int]]] = {}
        loaded: dict[str, list[int]] = {}
        if self.coverage is not None:
            self.coverage.stop()
            data = self.coverage.get_data()
            for path in data.measured_files():
                if not path.startswith(self.root):
                    continue
                relative = path[len(self.root) :]
                for line, contexts in data.contexts_by_lineno(path).items():
                    for context in contexts:
                        if context:
                            lines.setdefault(context, {}).setdefault(relative, []).append(line)
                        else:
                            loaded.setdefault(relative, []).append(line)
        found = {
            "results": self.results,
            "errors": self.errors,
            "lines": lines,
            "loaded": loaded,
            "calls": self.calls,
            "outside": self.outside() if CONFIG["coverage"] else [],
            "skipped": self.skipped,
            "seconds": time.monotonic() - self.started,
        }
        partial = CONFIG["out"] + ".part"
        with Path(partial).open("w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(found, file)
        Path(partial).replace(CONFIG["out"])


def main() -> int:
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        CONFIG.update(json.load(file))
    if not sys.flags.safe_path:
        # As `python -m pytest` would have it; this program's own folder is no part of the tests' world.
        sys.path[0] = str(Path.cwd())
    # Bytecode is matched to its source by seconds and size: candidates read the old file's and leave none.
    sys.pycache_prefix = str(Path(sys.argv[1]).parent / "bytecode")
    sys.dont_write_bytecode = not CONFIG["coverage"]
    return int(pytest.main([*sys.argv[2:], "-p", "no:cacheprovider"], plugins=[Probe()]))


if __name__ == "__main__":
    # Threads or atexit handlers of the code under test must not hold or change the verdict.
    code = main()
    sys.stdout.flush()
    os._exit(code)
