"""Mining a real history in real containers: what becomes a task, what falls, and what a kill leaves."""

import json
import signal
import subprocess
import sys
import time

import pytest

from sandboxes.engine import client
from sandboxes.sandbox import RUN_LABEL
from tasks.mining.command import mining_run_id
from tasks.store import load_tasks


def origins(task):
    return {test.split("::")[-1]: origin for test, origin in task.tests.fail_to_pass.items()}


def test_the_funnel_counts_every_stage(mined):
    assert mined.funnel.candidates == 5
    assert mined.funnel.environments == 5
    assert mined.funnel.validated == len(mined.tasks) == 3
    assert mined.funnel.with_f2p == 1
    assert "5 candidates" in mined.stderr


def test_origins_are_kept_apart(mined):
    assert origins(mined.task("f2p")) == {"test_total_of_nothing": "f2p"}
    assert origins(mined.task("s2p")) == {"test_label": "s2p"}
    assert origins(mined.task("n2p")) == {"test_cheapest": "n2p"}


def test_a_wavering_test_is_quarantined_and_never_expected(mined):
    for task in mined.tasks.values():
        assert "tests/test_waver.py::test_wavers" in task.tests.quarantined
        assert "tests/test_waver.py::test_wavers" not in task.tests.pass_to_pass
        assert "tests/test_shelf.py::test_total" in task.tests.pass_to_pass


def test_a_merge_is_no_candidate(mined):
    judged = {path.name for path in mined.out.with_name("tasks.mining").iterdir() if path.is_dir()}
    assert mined.shelf.commits["merge"] not in judged


@pytest.mark.parametrize(
    ("kind", "reason", "shown"),
    [
        ("refactoring", "every test passes before the fix already", "PASSED tests/test_shelf.py::test_count"),
        (
            "breaks",
            "the fix itself breaks tests/test_shelf.py::test_total",
            "FAILED tests/test_shelf.py::test_total",
        ),
    ],
)
def test_what_fell_keeps_its_reason_command_and_log(mined, kind, reason, shown):
    fell = next(o for o in mined.funnel.fallen if o.commit == mined.shelf.commits[kind])
    assert reason in fell.reason
    assert "pytest" in fell.command
    assert shown in (mined.out.parent / fell.log).read_text()


def test_the_instruction_names_no_hidden_test(mined):
    assert mined.task("f2p").instruction == "Fix total of an empty shelf\n\nAn empty list has no first price."


def test_the_fingerprint_says_what_is_installed(mined):
    versions = mined.task("f2p").fingerprint.versions
    assert versions["python"].startswith("3.") and "pytest" in versions and "coverage" in versions


def test_the_same_command_again_changes_nothing(mined, patchdeck):
    before = mined.out.read_bytes()
    stamps = {p: p.stat().st_mtime_ns for p in mined.out.with_name("tasks.mining").glob("*/outcome.json")}
    done = patchdeck("mine", str(mined.shelf.folder), "--fix-worded", "--out", str(mined.out))
    assert done.returncode == 0, done.stderr
    assert mined.out.read_bytes() == before
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps


def test_a_task_whose_image_was_pruned_is_made_again(mined, patchdeck):
    before = mined.out.read_bytes()
    image = mined.task("f2p").environment.image
    client().images.remove(image, force=True)
    done = patchdeck("mine", str(mined.shelf.folder), "--fix-worded", "--out", str(mined.out))
    assert done.returncode == 0, done.stderr
    assert client().images.list(name=image)
    assert mined.out.read_bytes() == before


def test_killed_in_the_middle_the_same_command_goes_on(mined, patchdeck, tmp_path):
    out = tmp_path / "again.jsonl"
    command = ["mine", str(mined.shelf.folder), "--fix-worded", "--out", str(out), "--workers", "2"]
    running = subprocess.Popen([sys.executable, "-m", "patchdeck.cli", *command], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("again.mining/*/outcome.json")):
            assert time.monotonic() < deadline and running.poll() is None
            time.sleep(0.05)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    judged = {p: p.stat().st_mtime_ns for p in tmp_path.glob("again.mining/*/outcome.json")}
    assert 0 < len(judged) < 5
    done = patchdeck(*command)
    assert done.returncode == 0, done.stderr
    assert {p: p.stat().st_mtime_ns for p in judged} == judged, "a judged candidate was judged again"
    assert [t.model_copy(update={"fingerprint": None}) for t in load_tasks(out)] == [
        t.model_copy(update={"fingerprint": None}) for t in mined.tasks.values()
    ]
    label = {"label": f"{RUN_LABEL}={mining_run_id(out)}"}
    assert client().containers.list(all=True, filters=label) == []
    assert client().volumes.list(filters=label) == []
    assert not list(tmp_path.glob("again.mining/*/.*")) and not list(tmp_path.glob(".*"))


def test_bad_input_is_one_sentence(tmp_path, shelf, patchdeck):
    (tmp_path / "empty").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path / "unborn")], check=True)
    no_tests = tmp_path / "no-tests"
    subprocess.run(["git", "init", "-q", str(no_tests)], check=True)
    (no_tests / "a.py").write_text("a = 1\n")
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "-C", str(no_tests), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(no_tests), *who, "commit", "-q", "-m", "fix a"], check=True)
    for arguments, says in (
        ([str(tmp_path / "empty")], "is not a git repository"),
        ([str(tmp_path / "absent")], "does not exist"),
        ([str(tmp_path / "unborn")], "empty history"),
        ([str(no_tests)], "has no tests"),
        ([str(shelf.folder), "--since", "2025-01-01"], "no commit since"),
        (["https://127.0.0.1:1/a/b.git"], "can't be cloned"),
    ):
        done = patchdeck("mine", *arguments, "--out", str(tmp_path / "o.jsonl"))
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("error: ") and says in done.stderr.replace("\n", " "), done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "o.jsonl").exists()


def test_the_funnel_file_is_what_reports_read(mined):
    body = json.loads(mined.out.with_name("tasks.funnel.json").read_text())
    assert {"commits", "candidates", "environments", "validated", "fallen"} <= body.keys()
    assert {"commit", "subject", "reason", "command", "log"} <= body["fallen"][0].keys()
