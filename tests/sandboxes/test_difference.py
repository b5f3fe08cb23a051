"""The patch from the image's tree to what the work left, whatever the work did to hide or dress it up."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from sandboxes.docker_sandbox import DockerSandbox
from sandboxes.sandbox import SandboxFault


def shell(sandbox: DockerSandbox, script: str) -> None:
    result = sandbox.exec(["sh", "-ec", script])
    assert result.exit_code == 0, result.text


def applied(sandbox: DockerSandbox, patch: bytes, folder: Path) -> dict[str, bytes]:
    """The tree that `git apply` makes of the image's tree and the patch, `.git` left out."""
    with tarfile.open(sandbox._tree.archive) as archive:
        archive.extractall(folder, filter="tar")
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=patch, check=True)
    return {
        str(path.relative_to(folder)): str(path.readlink()).encode()
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and ".git/" not in f"{path.relative_to(folder)}/"
    }


def test_an_untouched_tree_gives_an_empty_patch(sandbox: DockerSandbox) -> None:
    assert sandbox.tree_difference() == b""


def test_every_kind_of_change_survives_the_round_trip(sandbox: DockerSandbox, tmp_path: Path) -> None:
    shell(
        sandbox,
        "printf 'a = 3\\n' > pkg/code.py; rm gone.txt; chmod +x tool.sh; : > empty; "
        "printf '\\0\\2' > blob.bin; "
        "printf 'one\\r\\nthree\\r\\n' > dos.txt; printf 'no newline' > 'with space'; "
        "ln -s /etc/passwd secrets; mkdir -p deep/er; "
        "printf '\\377\\n' > deep/er/latin; printf 'q\\n' > 'quo\"te'",
    )
    patch = sandbox.tree_difference()
    tree = applied(sandbox, patch, tmp_path)
    assert tree["pkg/code.py"] == b"a = 3\n"
    assert "gone.txt" not in tree
    assert (tmp_path / "tool.sh").stat().st_mode & 0o111
    assert tree["empty"] == b""
    assert tree["blob.bin"] == b"\0\2"
    assert tree["dos.txt"] == b"one\r\nthree\r\n"
    assert tree["with space"] == b"no newline"
    assert tree["deep/er/latin"] == b"\xff\n"
    assert tree['quo"te'] == b"q\n"
    assert tree["secrets"] == b"/etc/passwd"
    assert b"root:" not in patch


def test_staged_and_committed_work_counts(sandbox: DockerSandbox) -> None:
    shell(
        sandbox,
        "echo staged > s.py; git add s.py; echo committed > c.py; git add c.py; "
        "git -c user.name=a -c user.email=a@a commit -qm mine; echo loose > l.py",
    )
    patch = sandbox.tree_difference()
    for name in (b"s.py", b"c.py", b"l.py"):
        assert b"+++ b/" + name in patch


def test_a_rewritten_history_or_no_repository_changes_nothing(sandbox: DockerSandbox) -> None:
    shell(sandbox, "echo 'a = 9' > pkg/code.py; rm -rf .git; git init -q; git add -A")
    assert b"+a = 9" in sandbox.tree_difference()


def test_rules_and_attributes_of_the_work_have_no_say(sandbox: DockerSandbox) -> None:
    shell(
        sandbox,
        "printf '*\\n' > .gitignore; printf '*\\n' > .git/info/exclude; "
        "printf '* -diff eol=crlf\\n' > .gitattributes; "
        "git config core.fsmonitor 'touch /tmp/ran'; echo 'a = 4' > pkg/code.py; echo new > hidden.py",
    )
    patch = sandbox.tree_difference()
    assert b"+a = 4\n" in patch
    assert b"+++ b/hidden.py" in patch


def test_what_the_base_ignores_and_by_products_are_left_out_but_tracked_files_are_not(
    sandbox: DockerSandbox,
) -> None:
    shell(
        sandbox,
        "mkdir -p build __pycache__ .pytest_cache; touch build/x new.log __pycache__/a.pyc .pytest_cache/b; "
        "echo changed > tracked.log",
    )
    patch = sandbox.tree_difference()
    assert [line for line in patch.splitlines() if line.startswith(b"diff")] == [
        b"diff --git a/tracked.log b/tracked.log"
    ]


def test_a_repository_inside_the_tree_counts_as_files(sandbox: DockerSandbox) -> None:
    shell(sandbox, "git init -q inner; echo 1 > inner/file; git -C inner add .")
    assert b"+++ b/inner/file" in sandbox.tree_difference()


def test_a_file_that_becomes_a_folder_and_the_reverse(sandbox: DockerSandbox, tmp_path: Path) -> None:
    shell(
        sandbox,
        "rm gone.txt; mkdir gone.txt; echo 1 > gone.txt/x; rm -r pkg; "
        " echo 2 > pkg; rm link.py; ln dos.txt link.py",
    )
    tree = applied(sandbox, sandbox.tree_difference(), tmp_path)
    assert (tree["gone.txt/x"], tree["pkg"], tree["link.py"]) == (b"1\n", b"2\n", b"one\r\ntwo\r\n")


def test_pipes_and_devices_are_passed_by(sandbox: DockerSandbox) -> None:
    shell(sandbox, "mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"")
    assert sandbox.tree_difference() == b""


def test_a_hole_of_a_petabyte_is_a_sentence(sandbox: DockerSandbox) -> None:
    shell(sandbox, "truncate -s 1P hole")
    with pytest.raises(SandboxFault, match="claims more than its limit"):
        sandbox.tree_difference()
    with pytest.raises(FileNotFoundError, match="claims more bytes"):
        sandbox.read("hole")


def test_read_and_write(sandbox: DockerSandbox) -> None:
    sandbox.write("new/folder/file", b"\0\xff", mode=0o755)
    assert sandbox.read("new/folder/file") == b"\0\xff"
    assert sandbox.read("/testbed/link.py") == b"a = 1\nb = 2\n"
    assert (
        sandbox.exec(["sh", "-c", "echo more >> new/folder/file; stat -c '%U %a' new/folder/file"]).text
        == "agent 755\n"
    )
    sandbox.write("/tmp/scratch", b"x")
    assert sandbox.read("/tmp/scratch") == b"x"
    for missing in ("absent", "pkg", "absent/deeper", "pkg/code.py/below"):
        with pytest.raises(FileNotFoundError):
            sandbox.read(missing)


def test_the_tree_belongs_to_the_user_and_holds_its_history(sandbox: DockerSandbox) -> None:
    assert sandbox.exec(["git", "status", "--porcelain"]).output == b""
    assert sandbox.exec(["sh", "-c", "stat -c %U . pkg pkg/code.py .git | sort -u"]).text == "agent\n"


def test_a_command_spoken_to_line_by_line(sandbox: DockerSandbox) -> None:
    duplex = sandbox.spawn(["sh", "-c", 'echo noise >&2; while read -r spoken; do echo "got $spoken"; done'])
    for number in range(20):
        duplex.send(f"{number}\n".encode())
        assert duplex.receive_line(5.0) == f"got {number}".encode()
    with pytest.raises(TimeoutError):
        duplex.receive_line(0.2)
    duplex.close()
    assert "spoken" not in sandbox.exec(["ps", "axo", "args"]).text


def test_a_spawned_command_that_ends_is_lost_with_its_last_words(sandbox: DockerSandbox) -> None:
    duplex = sandbox.spawn(["sh", "-c", "echo last; echo why >&2; exit 1"])
    assert duplex.receive_line(5.0) == b"last"
    with pytest.raises(SandboxFault, match="why"):
        duplex.receive_line(5.0)
    duplex.close()


def test_members_of_a_tar_that_is_no_tar() -> None:
    from sandboxes.tree import members

    with pytest.raises(SandboxFault, match="broken archive"):
        list(members(iter([io.BytesIO(b"x" * 1024).getvalue()])))
