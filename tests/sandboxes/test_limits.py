"""Every limit by attack: the work ends or is refused, the sandbox and the host go on."""

import time
from collections.abc import Callable

import pytest

from sandboxes.docker_sandbox import DockerSandbox

Open = Callable[..., DockerSandbox]


def shell(sandbox: DockerSandbox, script: str, timeout_s: float = 30.0) -> str:
    return sandbox.exec(["sh", "-c", script], timeout_s=timeout_s).text


def test_a_fork_bomb_ends_with_its_command(opened: Open) -> None:
    sandbox = opened(pids=64)
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    result = sandbox.exec(["python3", "-c", bomb], timeout_s=2.0)
    assert result.timed_out
    assert result.exit_code is None
    assert int(shell(sandbox, "ps ax | wc -l")) < 10


def test_children_that_left_session_parent_and_environment_die_at_the_timeout(sandbox: DockerSandbox) -> None:
    script = (
        "setsid sleep 7001 & (setsid sleep 7002 &) ; "
        "setsid env -i sh -c 'sleep 7003 & sleep 7004' & sleep 7005"
    )
    result = sandbox.exec(["sh", "-c", script], timeout_s=1.5)
    assert result.timed_out
    assert result.seconds < 8
    assert "sleep 700" not in shell(sandbox, "ps axo args | grep -v grep")


def test_a_server_left_in_the_background_outlives_the_timeout_of_another_command(
    sandbox: DockerSandbox,
) -> None:
    assert sandbox.exec(["sh", "-c", "sleep 7100 >/dev/null 2>&1 &"]).exit_code == 0
    assert sandbox.exec(["sleep", "50"], timeout_s=0.5).timed_out
    assert "sleep 7100" in shell(sandbox, "ps axo args")


def test_a_background_child_that_holds_the_output_does_not_hold_the_result(sandbox: DockerSandbox) -> None:
    result = sandbox.exec(["sh", "-c", "sleep 7200 & echo done"], timeout_s=30)
    assert (result.exit_code, result.output) == (0, b"done\n")
    assert result.seconds < 5


def test_memory_beyond_the_limit_ends_the_process_alone(opened: Open) -> None:
    sandbox = opened(memory_mb=128, disk_mb=64)
    result = sandbox.exec(["python3", "-c", "x = bytearray(400 << 20); print(len(x))"])
    assert result.exit_code == 137
    assert shell(sandbox, "echo alive") == "alive\n"


@pytest.mark.parametrize("place", ["/testbed", "/tmp", "/dev/shm"])
def test_a_filled_disk_is_an_error_of_the_writer(opened: Open, place: str) -> None:
    sandbox = opened(disk_mb=32)
    written = shell(sandbox, f"exec 2>&1; head -c 200M /dev/zero > {place}/fill; stat -c %s {place}/fill")
    assert "No space left" in written
    assert int(written.split()[-1]) <= 32 << 20
    assert shell(sandbox, "echo alive") == "alive\n"


def test_empty_files_without_end_are_refused(opened: Open) -> None:
    sandbox = opened(disk_mb=8)
    made = "import itertools\nfor n in itertools.count():\n    open(f'/testbed/{n}', 'w').close()\n"
    assert "No space left" in sandbox.exec(["python3", "-c", made], timeout_s=60).text


def test_nothing_outside_workdir_and_scratch_can_be_written(sandbox: DockerSandbox) -> None:
    for place in ("/etc/x", "/usr/x", "/home/agent/x", "/var/tmp/x"):
        assert sandbox.exec(["touch", place]).exit_code != 0
        assert sandbox.exec(["touch", place], user="root").exit_code != 0


def test_output_is_cut_and_the_command_still_ends(opened: Open) -> None:
    sandbox = opened(output_mb=1)
    result = sandbox.exec(["sh", "-c", "head -c 50M /dev/zero; exit 3"])
    assert (result.exit_code, len(result.output), result.truncated) == (3, 1 << 20, True)


def test_an_endless_flood_ends_at_its_time(opened: Open) -> None:
    sandbox = opened(output_mb=1)
    result = sandbox.exec(["yes"], timeout_s=1.0)
    assert result.timed_out
    assert result.truncated
    assert result.seconds < 8


def test_no_network(sandbox: DockerSandbox) -> None:
    probe = "import socket; socket.create_connection(('1.1.1.1', 53), 2)"
    result = sandbox.exec(["python3", "-c", probe])
    assert result.exit_code == 1
    assert b"unreachable" in result.output
    assert shell(sandbox, "ls /sys/class/net") == "lo\n"


def test_the_user_holds_no_capability_and_gains_none(sandbox: DockerSandbox) -> None:
    assert shell(sandbox, "grep CapEff /proc/self/status").split() == ["CapEff:", "0" * 16]
    assert shell(sandbox, "grep NoNewPrivs /proc/self/status").split() == ["NoNewPrivs:", "1"]
    assert shell(sandbox, "id -un") == "agent\n"


def test_the_user_cannot_end_the_guardian(sandbox: DockerSandbox) -> None:
    shell(sandbox, "kill -9 1; for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done 2>/dev/null")
    assert sandbox.exec(["sleep", "60"], timeout_s=0.5).timed_out
    assert shell(sandbox, "echo alive") == "alive\n"


def test_bytes_that_are_no_text_come_back_whole(sandbox: DockerSandbox) -> None:
    result = sandbox.exec(["printf", "a\\377\\000b"])
    assert result.output == b"a\xff\x00b"
    assert result.text == "a\\xff\x00b"


def test_a_large_input_goes_in_and_out(sandbox: DockerSandbox) -> None:
    given = bytes(range(256)) * 20_000
    assert sandbox.exec(["cat"], stdin=given).output == given


def test_input_that_nobody_reads_is_no_fault(sandbox: DockerSandbox) -> None:
    assert sandbox.exec(["true"], stdin=b"x" * 20_000_000).exit_code == 0
    assert sandbox.exec(["sleep", "30"], stdin=b"x" * 20_000_000, timeout_s=1.0).timed_out


def test_a_program_that_is_not_there(sandbox: DockerSandbox) -> None:
    result = sandbox.exec(["no-such-program"])
    assert result.exit_code in (126, 127)
    assert "no-such-program" in result.text


def test_environment_workdir_and_user_of_one_command(sandbox: DockerSandbox) -> None:
    result = sandbox.exec(["sh", "-c", "echo $A; pwd; id -u"], env={"A": "b c"}, workdir="/tmp", user="root")
    assert result.text.split("\n")[:3] == ["b c", "/tmp", "0"]


def test_two_threads_in_one_sandbox(sandbox: DockerSandbox) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        began = time.monotonic()
        slow = pool.submit(sandbox.exec, ["sleep", "60"], timeout_s=2.0)
        steady = pool.submit(sandbox.exec, ["sh", "-c", "sleep 4; echo steady"])
        quick = [pool.submit(sandbox.exec, ["echo", str(n)]) for n in range(6)]
        assert [task.result().text for task in quick] == [f"{n}\n" for n in range(6)]
        assert slow.result().timed_out
        assert steady.result().text == "steady\n"
        assert time.monotonic() - began < 30
