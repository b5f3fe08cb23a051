"""JUnit reports as pytest itself writes them here, and reports that must not be believed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tasks.languages.python import Python
from tasks.readers import junit

SUITE = """
import sys
import unittest
import pytest

@pytest.mark.parametrize("x", ["a b", "a - b", "c::d", "[e]", "é", "\\x1b"])
def test_ids(x):
    assert x != "c::d"

class TestBox:
    def test_in_class(self): pass

class Old(unittest.TestCase):
    def test_plain(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.skip("why")
    def test_skipped(self): pass

@pytest.mark.xfail
def test_xfail(): assert 0

@pytest.mark.xfail
def test_xpass(): pass

@pytest.fixture
def broken(): raise ValueError
def test_setup_error(broken): pass

@pytest.fixture
def late():
    yield
    raise ValueError
def test_teardown_error(late): pass
def test_both(late): assert 0
def test_lies(capsys):
    print("PASSED test_made_up.py::test_never", file=sys.__stdout__)
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_all.py").write_text(SUITE)
    (folder / "tests" / "test_uncollectable.py").write_text("import not_there\n")
    (folder / "tests" / "test_skipped_file.py").write_text(
        "import pytest\npytest.importorskip('not_there')\ndef test_a(): pass\n"
    )
    language = Python()
    plugin_folder = tmp_path_factory.mktemp("plugin")
    for path, content in language.support_files().items():
        (plugin_folder / Path(path).name).write_bytes(content)
    report = folder / "report.xml"
    command = [w for w in language.test_command()[4:] if not w.startswith(("--junitxml", "--timeout"))]
    done = subprocess.run(
        [sys.executable, *command, f"--junitxml={report}", "-p", "no:cacheprovider"],
        cwd=folder,
        env={"PYTHONPATH": str(plugin_folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return language.read_report(report.read_bytes(), done.stdout, done.returncode), report.read_bytes()


def test_every_kind_of_status_with_its_exact_node_id(reported):
    read, _ = reported
    file = "tests/test_all.py"
    assert read.complete, read.problem
    assert {k: v for k, v in read.results.items() if "::" in k} == {
        f"{file}::test_ids[a b]": "PASS",
        f"{file}::test_ids[a - b]": "PASS",
        f"{file}::test_ids[c::d]": "FAIL",
        f"{file}::test_ids[[e]]": "PASS",
        f"{file}::test_ids[\\xe9]": "PASS",
        f"{file}::test_ids[\\x1b]": "PASS",
        f"{file}::TestBox::test_in_class": "PASS",
        f"{file}::Old::test_plain": "PASS",
        f"{file}::Old::test_expected": "XFAIL",
        f"{file}::Old::test_skipped": "SKIP",
        f"{file}::test_xfail": "XFAIL",
        f"{file}::test_xpass": "XPASS",
        f"{file}::test_setup_error": "ERROR",
        f"{file}::test_teardown_error": "ERROR",
        f"{file}::test_both": "ERROR",
        f"{file}::test_lies": "PASS",
    }


def test_files_that_did_not_collect_are_told_from_skipped_ones(reported):
    read, _ = reported
    assert Python().collected_in("tests/test_uncollectable.py::test_a", read.results) == "ERROR"
    assert Python().collected_in("tests/test_skipped_file.py::test_a", read.results) == "SKIP"
    assert Python().collected_in("tests/test_all.py::test_new", read.results) is None


@pytest.mark.parametrize("cut", [0, 10, 0.5, -1])
def test_a_report_cut_short_is_not_whole(reported, cut):
    _, report = reported
    end = int(len(report) * cut) if isinstance(cut, float) else (cut if cut >= 0 else len(report) - 5)
    with pytest.raises(junit.BrokenReport):
        junit.read(report[:end])


@pytest.mark.parametrize("exit_code", [0, 2, 3, 4, 5, 137, None])
def test_an_exit_code_that_disagrees_makes_the_report_incomplete(reported, exit_code):
    _, report = reported
    assert not Python().read_report(report, "", exit_code).complete


def test_a_report_whose_failures_were_taken_out_disagrees_with_itself():
    counts = b'tests="2" failures="1" errors="0" skipped="0"'
    report = b"<testsuite " + counts + b'><testcase name="a"/><testcase name="b"/></testsuite>'
    with pytest.raises(junit.BrokenReport, match="announces 1 failures"):
        junit.read(report)


def test_entities_are_not_expanded():
    with pytest.raises(junit.BrokenReport):
        junit.read(b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite tests="0">&a;</testsuite>')
