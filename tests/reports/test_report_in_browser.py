"""A report full of hostile text, opened in a real browser, runs nothing of it."""

from pathlib import Path

from reports.page import run_page
from reports.run_files import read_run
from tests.conftest import Capture
from tests.reports.conftest import HOSTILE


def test_the_hostile_text_would_run_in_a_page_that_does_not_escape_it(capture: Capture) -> None:
    seen = capture(f"<!doctype html><title>plain</title><p>{HOSTILE}</p>")
    assert seen.title == "pwned"
    assert seen.dialogs


def test_a_report_of_hostile_text_runs_nothing(capture: Capture, hostile_run: Path) -> None:
    seen = capture(run_page(read_run(hostile_run), []))
    assert seen.fault is None
    assert seen.title == "patchdeck · pipeline-bundled-1"
    assert (seen.dialogs, seen.popups, seen.navigations, seen.external, seen.missing) == ((), (), (), (), ())
