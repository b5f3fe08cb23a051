"""Tries candidate files one after another, each test process fresh, and restores the tree after each.

Called as `try_candidates.py JOB.json`. JOB holds root, out, candidates (id, path, content as base64), wanted
(ids that must come to pass), must_pass (ids that must stay so), failing (the run of the failing tests, or
null) and suite (the whole run), each with its argv, its configuration's and report's path and its seconds,
and until_s.
One JSON line a candidate is appended to out; the first that passes everything ends the job.
"""

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def run(job: dict[str, Any], name: str) -> dict[str, Any]:
    """One pytest process in a group of its own, killed whole when its time is up."""
    part = job[name]
    Path(part["report"]).unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        part["argv"],
        cwd=job["root"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(part["timeout_s"])
        timed_out = False
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
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
