"""Trials in real containers: gold and empty, and each way of bending the judgement."""

import pytest

from rewards.code import grade
from tasks.trial import run_trial
from tasks.workspace import open_workspace

RUN = "test-trials"
FIX = """--- a/shelf.py
+++ b/shelf.py
@@ -1,2 +1,2 @@
 def total(prices):
-    return prices[0] + sum(prices[1:])
+    return sum(prices)
"""


def new_file(path, text, mode="100644"):
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    end = "" if text.endswith("\n") else "\\ No newline at end of file\n"
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{body}{end}"
    )


HOOK = """import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


@pytest.fixture(scope="module")
def task(mined):
    return mined.task("f2p")


def graded(task, patch):
    run = run_trial(task, patch, run_id=RUN)
    return run, grade(task, run)


def test_gold_resolves_and_empty_does_not(mined):
    for task in mined.tasks.values():
        assert graded(task, task.oracle.gold_patch)[1].resolved
        assert not graded(task, "")[1].resolved


def test_a_fix_of_ones_own_resolves_whatever_stands_around_it(task):
    run, reward = graded(task, f"The fix:\n```diff\n{FIX}```".replace("\n", "\r\n"))
    assert reward.resolved and run.touched_paths == ("shelf.py",)


@pytest.mark.parametrize(
    "planted",
    [
        new_file("conftest.py", HOOK),
        new_file("tests/conftest.py", HOOK),
        new_file("pytest.ini", "[pytest]\naddopts = --deselect tests/test_shelf.py::test_total_of_nothing\n"),
        new_file("sitecustomize.py", "import os\nos._exit(0)\n"),
        new_file("tests/test_cheapest.py", "def test_cheapest(): pass\n"),
        new_file("pytest.py", "print('1 passed')\n"),
        new_file("xml/__init__.py", "raise SystemExit(0)\n"),
        new_file("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'),
        new_file("tests/test_shelf.py/x", "a\n"),
    ],
    ids=[
        "conftest",
        "nested conftest",
        "ini",
        "sitecustomize",
        "test file",
        "runner",
        "library",
        "pyproject",
        "folder for a test",
    ],
)
def test_what_could_bend_the_judgement_is_left_out(task, planted):
    run, reward = graded(task, planted)
    assert not reward.resolved
    if run.patch_applied:
        assert run.dropped_paths and run.touched_paths == ()
        assert run.results["tests/test_shelf.py::test_total_of_nothing"] == "FAIL"
        assert run.results["tests/test_shelf.py::test_total"] == "PASS"


def test_weakened_tests_are_restored(task):
    weak = (
        "--- a/tests/test_shelf.py\n+++ b/tests/test_shelf.py\n@@ -4,2 +4,2 @@\n def test_total():\n"
        "-    assert shelf.total([1, 2]) == 3\n+    pass\n"
    )
    broken = FIX.replace("+    return sum(prices)", "+    return sum(prices) + 1")
    run, reward = graded(task, weak + broken)
    assert run.dropped_paths == ("tests/test_shelf.py",)
    assert run.results["tests/test_shelf.py::test_total"] == "FAIL" and not reward.resolved


def test_a_planted_file_gives_way_to_the_test_that_stands_there(mined):
    task = mined.task("n2p")
    planted = new_file("tests/test_cheapest.py", "def test_cheapest(): pass\n")
    run, reward = graded(task, planted + task.oracle.gold_patch)
    assert run.dropped_paths == ("tests/test_cheapest.py",) and reward.resolved
    assert not graded(task, planted)[1].resolved


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (new_file("link", "/etc/passwd", "120000"), "out of the tree"),
        (new_file("a/link", "../../etc/passwd", "120000"), "out of the tree"),
        (new_file("link", ".git/config", "120000"), "into .git"),
        (new_file("../outside.py", "x = 1\n"), "invalid path"),
        (new_file(".git/hooks/post-checkout", "x\n"), "invalid path"),
        (
            "diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/sub\n"
            "@@ -0,0 +1 @@\n+Subproject commit " + "1" * 40 + "\n",
            "submodules",
        ),
        (FIX.replace("prices[0]", "prices[9]"), "patch failed"),
        ("no patch here", "no unified diff"),
    ],
    ids=[
        "absolute link",
        "climbing link",
        "git link",
        "climbing path",
        "hook",
        "submodule",
        "stale",
        "prose",
    ],
)
def test_what_is_refused_says_why(task, patch, says):
    run, reward = graded(task, patch)
    assert not run.patch_applied and says in run.apply_error
    assert reward.value == 0.0 and not reward.resolved


@pytest.mark.parametrize(
    "cheat",
    [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "print('PASSED tests/test_shelf.py::test_total_of_nothing')",
    ],
    ids=["_exit", "exit", "print"],
)
def test_ending_the_runner_early_or_printing_passes_nothing(task, cheat):
    lines = "".join(f"+{line}\n" for line in cheat.splitlines())
    head = f"@@ -1 +1,{1 + lines.count(chr(10))} @@"
    patch = f"--- a/shelf.py\n+++ b/shelf.py\n{head}\n{lines} def total(prices):\n"
    run, reward = graded(task, patch)
    assert run.patch_applied and not reward.resolved


def test_code_that_never_ends_is_a_valid_failure(task):
    slow = task.model_copy(
        update={"environment": task.environment.model_copy(update={"test_timeout_s": 3.0})}
    )
    loop = "--- a/shelf.py\n+++ b/shelf.py\n@@ -1 +1,3 @@\n+while True:\n+    pass\n def total(prices):\n"
    run, reward = graded(slow, loop)
    assert run.timed_out and reward.valid and not reward.resolved


@pytest.mark.parametrize("shown", [False, True], ids=["hidden", "shown"])
def test_the_workspace_holds_the_base_commit_alone(mined, shown):
    task = mined.task("f2p")
    later = [mined.shelf.commits[kind] for kind in ("f2p", "s2p", "n2p", "breaks")]
    with open_workspace(task, run_id=RUN, show_tests=shown) as sandbox:

        def sh(line):
            return sandbox.exec(["sh", "-c", line]).text

        assert sh("git rev-list --all --reflog | wc -l").strip() == "1"
        assert sh("git remote; git tag; git stash list; git for-each-ref").count("\n") == 1
        assert all("fatal" in sh(f"git cat-file -t {commit}") for commit in later)
        assert "return sum(prices)\n" not in sh("git cat-file --batch-all-objects --batch")
        assert ("test_total_of_nothing" in sh("cat tests/test_shelf.py")) is shown
        assert sh("git status --porcelain") == ""
        assert sandbox.tree_difference() == b""
        sandbox.exec(
            [
                "sh",
                "-c",
                "sed -i 's/prices.0. + sum(prices.1:.)/sum(prices)/' shelf.py && git commit -qam mine",
            ]
        )
        patch = sandbox.tree_difference().decode()
    assert graded(task, patch)[1].resolved
