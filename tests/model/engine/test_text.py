"""What a stream shows: whole characters only, and never a part of a stop string."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from model.engine.text import TextStream


def pieces(content: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    return [content[a:b] for a, b in pairwise(edges)]


@given(st.text(), st.lists(st.integers(0, 10**6), max_size=30))
def test_any_cut_of_the_bytes_gives_the_text_without_replacement_characters(
    text: str, cuts: list[int]
) -> None:
    stream = TextStream()
    shown = [stream.feed(piece) for piece in pieces(text.encode(), cuts)]
    if "\ufffd" not in text:
        assert not any("\ufffd" in part for part in shown)
    assert "".join(shown) + stream.finish() == text


@given(
    st.text(alphabet="ab\u00e9", max_size=40),
    st.lists(st.text(alphabet="ab\u00e9", max_size=5), max_size=4),
    st.lists(st.integers(0, 10**6), max_size=30),
)
def test_stop_strings_never_leak(text: str, stops: list[str], cuts: list[int]) -> None:
    stream = TextStream(stops)
    shown = ""
    real = [stop for stop in stops if stop]
    for piece in pieces(text.encode(), cuts):
        shown += stream.feed(piece)
        assert not any(stop in shown for stop in real)
        if stream.stopped:
            break
    shown += stream.finish()
    assert stream.stopped == any(stop in text for stop in real)
    assert text.startswith(shown)
    assert not any(stop in shown for stop in real)
    if not stream.stopped:
        assert shown == text


def test_the_earliest_stop_string_cuts() -> None:
    stream = TextStream(["END", "", "x"])
    assert stream.feed(b"abEN") == "ab"
    assert stream.feed(b"Dx tail") == ""
    assert stream.stopped
    assert stream.feed(b"more") == "" and stream.finish() == ""


def test_an_unfinished_character_at_the_end_is_left_out() -> None:
    stream = TextStream()
    assert stream.feed("日".encode()[:2]) == ""
    assert stream.finish() == ""
