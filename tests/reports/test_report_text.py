"""Laws of the text filters."""

from hypothesis import given
from hypothesis import strategies as st

from reports.diff import diff_lines
from reports.text import shortened, visible


@given(st.text())
def test_visible_text_has_no_hidden_characters_and_is_stable(text: str) -> None:
    once = visible(text)
    assert visible(once) == once
    assert "\x1b" not in once and "\u202e" not in once


@given(st.text(), st.integers(min_value=10, max_value=200))
def test_shortened_keeps_both_ends(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert (
        short == text
        if len(text) <= limit
        else short.startswith(text[: limit // 3]) and short.endswith(text[-1])
    )


def test_diff_lines_are_told_apart() -> None:
    kinds = [
        line.kind for line in diff_lines("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c")
    ]
    assert kinds == ["file", "file", "file", "hunk", "del", "add", "context"]


def test_long_diff_says_what_is_left_out() -> None:
    lines = list(diff_lines("+x\n" * 700))
    assert len(lines) == 601 and "100 lines left out" in lines[-1].text
