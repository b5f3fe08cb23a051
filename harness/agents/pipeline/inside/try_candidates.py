"""Tries candidate files one after another, each in a process of its own, and restores the tree after each.

Called as `try_candidates.py JOB.json`. JOB holds root, out, candidates (id, path, content as base64), wanted
(ids that must come to pass), must_pass (ids that must stay so), failing (the run of the failing tests, or
null) and suite (the whole run), each with its argv, its configuration's and report's path and its seconds,
outside (modules from outside the tree that the tests import) and until_s.
One JSON line a candidate is appended to out; the first that passes everything ends the job.
"""

import base64
import contextlib
import importlib
import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any


def preload(names: list[str], root: str) -> bool:
    """Import pytest and what the tests need from outside the tree, so that a fork has it for nothing.

    False where the tree's own code came in with it (a plugin may need the very library under repair): forks
    would not see the candidate then, and each process has to begin anew.
    """
    for name in ["pytest", *names]:
        # Whatever a module does when imported alone, the tests import it again in their own way.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    within = os.path.realpath(root) + os.sep
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return not any(os.path.realpath(file).startswith(within) for file in files if isinstance(file, str))


def run(job: dict[str, Any], name: str) -> dict[str, Any]:
    """One pytest run in a fork of its own, in a group of its own, killed whole when its time is up."""
    part = job[name]
    Path(part["report"]).unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        become_probe(job, part["argv"])
    deadline = time.monotonic() + part["timeout_s"]
    pause = 0.001
    while not (timed_out := time.monotonic() > deadline):
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(pause)
        pause = min(0.005, 1.5 * pause)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if timed_out:
        os.waitpid(child, 0)
    try:
        with Path(part["report"]).open(encoding="utf-8") as file:
            told = json.load(file)
    except (OSError, ValueError):
        return {"timed_out": timed_out, "outcomes": None, "messages": {}}
    return {
        "timed_out": timed_out,
        "outcomes": {node: record["outcome"] for node, record in told["results"].items()},
        "messages": {n: r["message"][:200] for n, r in told["results"].items() if r["outcome"] == "failed"},
        "errors": sorted(told["errors"]),
    }


def become_probe(job: dict[str, Any], argv: list[str]) -> None:
    """The child's whole life: never returns, whatever the code under test does."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.chdir(job["root"])
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        if not job["forks"]:
            os.execvp(argv[0], argv)
        probe = next(i for i, word in enumerate(argv) if word.endswith("/probe.py"))
        sys.argv = argv[probe:]
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        os._exit(70)


def regressed(job: dict[str, Any], told: dict[str, Any]) -> list[str]:
    """Tests that passed before and do not now, nor in two more runs of their own: flaky ones are let off."""
    outcomes = told["outcomes"] or {}
    worse = [node for node in job["must_pass"] if outcomes.get(node) not in ("passed", "skipped")]
    for _ in range(2):
        if not worse or len(worse) > 5 or told["outcomes"] is None:
            break
        with Path(job["suite"]["config"]).open(encoding="utf-8") as file:
            kept = file.read()
        try:
            with Path(job["suite"]["config"]).open("w", encoding="utf-8") as file:
                json.dump({**json.loads(kept), "only": worse}, file)
            again = run(job, "suite")["outcomes"] or {}
        finally:
            with Path(job["suite"]["config"]).open("w", encoding="utf-8") as file:
                file.write(kept)
        worse = [node for node in worse if again.get(node) != "passed"]
    return worse


def attempt(job: dict[str, Any], candidate: dict[str, Any]) -> dict[str, Any]:
    path = Path(job["root"]) / candidate["path"]
    with path.open("rb") as file:
        original = file.read()
    times = path.stat()
    started = time.monotonic()
    found: dict[str, Any] = {"id": candidate["id"], "failing": None, "suite": None, "regressed": []}
    try:
        with path.open("wb") as file:
            file.write(base64.b64decode(candidate["content"]))
        if job["failing"]:
            found["failing"] = run(job, "failing")
        told = found["failing"]
        wanted = set(job["wanted"])
        passed = (
            told is not None
            and told["outcomes"] is not None
            and all(told["outcomes"].get(node) == "passed" for node in wanted)
        )
        if passed or not job["failing"]:
            found["suite"] = run(job, "suite")
            found["regressed"] = regressed(job, found["suite"])
    finally:
        with path.open("wb") as file:
            file.write(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    found["seconds"] = time.monotonic() - started
    return found


def main() -> None:
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        job = json.load(file)
    started = time.monotonic()
    job["forks"] = preload(job["outside"], job["root"])
    for candidate in job["candidates"]:
        if time.monotonic() - started > job["until_s"]:
            break
        found = attempt(job, candidate)
        with Path(job["out"]).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(found) + "\n")
        if found["suite"] and found["suite"]["outcomes"] and not found["regressed"]:
            break


if __name__ == "__main__":
    main()
