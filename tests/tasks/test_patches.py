"""Submitted patches as models and people send them, applied with real git."""

import re
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.patches import UnreadablePatch, read_patch

OLD = "".join(f"line {n}\n" for n in range(1, 31))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 20\n", "line 20\n\nline 20 and a half\n")


def git(folder, *arguments, stdin=None):
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=True,
    ).stdout


def diff(folder, old, new, name="a.txt"):
    (folder / name).write_bytes(old)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", "--allow-empty")
    (folder / name).write_bytes(new)
    made = git(folder, "diff", "--no-color").decode()
    (folder / name).write_bytes(old)
    return made


def applied(folder, patch, name="a.txt"):
    git(folder, "apply", "-", stdin=read_patch(patch).text.encode())
    return (folder / name).read_bytes()


@pytest.fixture
def patch(tmp_path):
    return diff(tmp_path, OLD.encode(), NEW.encode())


def test_as_git_writes_it(tmp_path, patch):
    assert read_patch(patch).text == patch
    assert applied(tmp_path, patch) == NEW.encode()


@pytest.mark.parametrize(
    "disguise",
    [
        lambda p: f"Here is the fix:\n\n```diff\n{p}```\n\nIt mends the defect.\n",
        lambda p: p.rstrip("\n"),
        lambda p: p.replace("\n", "\r\n"),
        lambda p: re.sub(r"@@ -(\d+),\d+ \+(\d+),\d+ @@", r"@@ -\1,3 +\2,99 @@", p),
        lambda p: re.sub(r"@@ -(\d+),\d+ \+(\d+),\d+ @@", r"@@ -\1 +\2 @@", p),
        lambda p: re.sub(r"(?m)^ $", "", p),
        lambda p: (
            "From abc Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n a.txt | 2 +-\n\n"
            + p
            + "-- \n2.39.5\n\n"
        ),
        lambda p: "".join(
            line + "\n" for line in p.splitlines() if not line.startswith(("diff --git", "index"))
        ),
    ],
    ids=[
        "prose and fence",
        "no newline",
        "crlf",
        "wrong counts",
        "no counts",
        "bare blank",
        "mail",
        "no git header",
    ],
)
def test_disguises(tmp_path, patch, disguise):
    assert applied(tmp_path, disguise(patch)) == NEW.encode()


def test_a_crlf_file_keeps_its_line_ends(tmp_path):
    old, new = OLD.replace("\n", "\r\n").encode(), NEW.replace("\n", "\r\n").encode()
    made = diff(tmp_path, old, new)
    git(tmp_path, "config", "core.autocrlf", "false")
    assert applied(tmp_path, made) == new


def test_a_last_line_without_newline(tmp_path):
    assert applied(tmp_path, diff(tmp_path, b"a\nb", b"a\nc")) == b"a\nc"


def test_a_removed_sql_comment_is_no_file_header(tmp_path):
    old, new = b"select 1;\n-- a comment\n-- another\nselect 2;\n", b"select 1;\nselect 2;\n"
    assert applied(tmp_path, diff(tmp_path, old, new)) == new


def test_new_empty_file_rename_and_mode_change(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "old name.py").write_text("x = 1\n" * 10)
    (tmp_path / "run.sh").write_text("true\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    (tmp_path / "old name.py").rename(tmp_path / "new.py")
    (tmp_path / "empty.py").touch()
    (tmp_path / "run.sh").chmod(0o755)
    git(tmp_path, "add", "-A")
    made = git(tmp_path, "diff", "--cached", "-M").decode()
    git(tmp_path, "reset", "-q", "--hard")
    git(tmp_path, "apply", "-", stdin=read_patch(made).text.encode())
    assert (tmp_path / "new.py").exists() and not (tmp_path / "old name.py").exists()
    assert (tmp_path / "empty.py").read_bytes() == b""
    assert (tmp_path / "run.sh").stat().st_mode & 0o111


def test_binary_with_contents_survives(tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(range(256)))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    (tmp_path / "x.bin").write_bytes(bytes(range(255, -1, -1)) * 3)
    made = git(tmp_path, "diff", "--binary").decode()
    git(tmp_path, "checkout", "-q", ".")
    assert applied(tmp_path, f"```\n{made}```\n", "x.bin") == bytes(range(255, -1, -1)) * 3


def test_binary_without_contents_is_refused_with_the_cure():
    text = "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"
    with pytest.raises(UnreadablePatch, match="git diff --binary"):
        read_patch(text)


def test_a_build_product_without_contents_is_left_out(patch):
    built = (
        "diff --git a/p/__pycache__/m.cpython-311.pyc b/p/__pycache__/m.cpython-311.pyc\n"
        "new file mode 100644\n"
        "index 0000000..1\nBinary files /dev/null and b/p/__pycache__/m.cpython-311.pyc differ\n"
    )
    read = read_patch(built + patch)
    assert read.text == patch
    assert read.dropped == ("p/__pycache__/m.cpython-311.pyc",)


@pytest.mark.parametrize("nothing", [None, "", "  \n\n"])
def test_nothing_is_an_empty_patch(nothing):
    assert read_patch(nothing).text == ""


def test_prose_alone_is_no_patch():
    with pytest.raises(UnreadablePatch, match="no unified diff"):
        read_patch("I could not find the defect.\n")


LINE = st.text(st.sampled_from("ab-+ @\\\t#"), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=st.lists(LINE, min_size=1, max_size=25), new=st.lists(LINE, max_size=25), end=st.booleans())
def test_any_text_diff_survives_reading_between_prose(tmp_path_factory, old, new, end):
    folder = tmp_path_factory.mktemp("tree")
    before, after = ("\n".join(lines) + ("\n" if end else "") for lines in (old, new))
    made = diff(folder, before.encode(), after.encode())
    if made:
        assert applied(folder, f"The fix:\n{made}") == after.encode()
