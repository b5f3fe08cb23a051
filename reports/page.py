"""Renders a run, or the index of runs, as one self-contained HTML page.

Everything shown is taken for hostile: Jinja2 escapes it, hidden characters are written out, decks are shown
as pictures, and the page's content security policy allows no script, no network and no style but its own.
"""

import base64
import hashlib
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.diff import diff_lines
from reports.run_files import AttemptFiles, RunFiles
from reports.text import shortened, visible
from reports.training import training_view

OBSERVATION_LIMIT = 2_500
"""Characters of one observation that a page shows; the whole is in episode.json."""
OUTPUT_LIMIT = 6_000


def run_page(run: RunFiles, siblings: list[RunFiles]) -> str:
    """The run's page. Of its siblings (the runs in its folder), those on the same tasks are listed."""
    digest = run.request.get("tasks_digest")
    relatives = [r for r in siblings if digest and r.request.get("tasks_digest") == digest]
    many = len(run.attempts) > 100
    return _render(
        "run.html.j2",
        run=run,
        funnel=_funnel_view(run.funnel),
        relatives=relatives if len(relatives) > 1 else [],
        fingerprints=_by_fingerprint(run),
        training=training_view(run.training),
        diff_lines=diff_lines,
        command=_command(run),
        command_for=lambda attempt: _command(run, attempt),
        digests=sorted(_digests(run)),
        observation_limit=OBSERVATION_LIMIT // 4 if many else OBSERVATION_LIMIT,
        output_limit=OUTPUT_LIMIT // 4 if many else OUTPUT_LIMIT,
    )


def index_page(root: Path, runs: list[RunFiles]) -> str:
    """The page that lists all runs under root."""

    class Row:
        def __init__(self, run: RunFiles) -> None:
            self.run = run
            self.has_report = (run.folder / "report.html").is_file()
            self.tests_shown = run.tests_shown if run.tests_shown in ("shown", "hidden") else "?"

        def __getattr__(self, name: str) -> Any:
            return getattr(self.run, name)

    return _render("index.html.j2", root=str(root), runs=[Row(run) for run in runs])


def _render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=visible, shortened=shortened, duration=_duration, base64=_base64, png_size=_png_size
    )
    style = (Path(__file__).parent / "templates" / "style.css").read_text()
    style_hash = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(style=Markup(style), style_hash=style_hash, **values)


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _png_size(content: bytes) -> tuple[int, int]:
    """Width and height in pixels, from a PNG's header; 16:9 where the bytes are no PNG."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 24:
        return 1280, 720
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def _funnel_view(funnel: dict[str, Any]) -> dict[str, Any]:
    """The funnel's counts as stages; each stage from the candidates on has its share of them."""
    words = {
        "commits": "commits seen",
        "candidates": "candidates",
        "environments": "environments built",
        "validated": "validated",
    }
    if "candidates" not in funnel:
        return {}
    candidates = max(int(funnel["candidates"]), 1)
    stages = [
        {
            "name": words[name],
            "count": int(funnel[name]),
            "share": None if name == "commits" else int(funnel[name]) / candidates,
        }
        for name in words
        if name in funnel
    ]
    return {"stages": stages, "fallen": funnel.get("fallen", [])}


def _by_fingerprint(run: RunFiles) -> list[dict[str, Any]]:
    """Attempts and resolved attempts by language, framework and version, the commonest first."""
    seen: Counter[str] = Counter()
    resolved: Counter[str] = Counter()
    for attempt in run.valid:
        task = run.tasks.get(attempt.task_id)
        if task is None:
            continue
        print_ = task.fingerprint
        versions = [
            f"{n} {v}" for n, v in print_.versions.items() if n in (*print_.languages, *print_.frameworks)
        ]
        for name in {*print_.languages, *print_.frameworks, *versions, task.source.repo}:
            seen[name] += 1
            resolved[name] += bool(attempt.reward and attempt.reward.resolved)
    order = sorted(seen, key=lambda name: (-seen[name], name))
    return [{"name": name, "count": seen[name], "resolved": resolved[name]} for name in order[:12]]


def _command(run: RunFiles, attempt: AttemptFiles | None = None) -> str:
    """The command that makes the run again, or one of its tasks in a run of its own beside it."""
    words = [str(word) for word in run.request.get("command", [])]
    if not words:
        words = ["patchdeck", "run", "TASKS", "--agent", run.agent]
    if attempt is not None:
        words = _without_option(_without_option(words, "--run-id"), "--instance-ids")
        words = [word for word in words if word != "--new"]
        words += ["--instance-ids", attempt.task_id, "--run-id", f"{run.id}-again"]
    return shlex.join(words)


def _without_option(words: list[str], name: str) -> list[str]:
    """The words without an option and its value, written as one word or as two."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith(f"{name}="):
            skip = False
        elif word == name:
            skip = True
        else:
            kept.append(word)
    return kept


def _digests(run: RunFiles) -> set[str]:
    rewards = [a.reward for a in run.attempts if a.reward] + [d.reward for d in run.decks]
    return {reward.scorer_digest for reward in rewards}
