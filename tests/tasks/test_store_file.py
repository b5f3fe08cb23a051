"""Task files: round trip, bad lines, a writer killed in mid-line."""

import pytest

from tasks.store import BadTaskFile, append_task, dump, load_tasks
from tasks.task import Environment, ImageRecipe, Oracle, PatchTask, Source, Tests


def task(name="a__b-1"):
    return PatchTask(
        id=name,
        instruction="Mend “it”\u2028 now.",
        source=Source(repo="a/b", base_commit="0" * 40),
        environment=Environment(recipe=ImageRecipe(base="b", commands=("x",)), test_command=("t",)),
        tests=Tests(fail_to_pass={"t::é[ ]": "f2p"}, pass_to_pass=("t::b",)),
        oracle=Oracle(gold_patch="a\r\n\x0c", test_patch=""),
    )


def test_round_trip(tmp_path):
    path = tmp_path / "t.jsonl"
    assert append_task(path, task()) and append_task(path, task("c"))
    assert not append_task(path, task())
    assert load_tasks(path) == [task(), task("c")]


def test_a_line_cut_short_is_written_again(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(dump(task()) + dump(task("c"))[:40])
    append_task(path, task("c"))
    assert load_tasks(path) == [task(), task("c")]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff{}", "not UTF-8"),
        (b"{}", "not a task"),
        (b"[]", "not a task"),
        (b'{"kind":"patch","id":3}', "not a task"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, says):
    path = tmp_path / "t.jsonl"
    path.write_bytes(dump(task()) + line + b"\n")
    with pytest.raises(BadTaskFile, match=f"line 2: {says}"):
        load_tasks(path)


def test_a_task_that_stands_twice_is_named(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(dump(task()) * 2)
    with pytest.raises(BadTaskFile, match="line 2: task a__b-1 stands on line 1"):
        load_tasks(path)


def test_no_file(tmp_path):
    with pytest.raises(BadTaskFile, match="is not a file"):
        load_tasks(tmp_path / "none.jsonl")
