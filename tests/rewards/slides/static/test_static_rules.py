"""Each static rule on a deck that keeps it and on one that breaks it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.slides.static.layer import judge
from rewards.slides.static.rule import StaticDeck
from rewards.slides.static.rules import BY_ID, RULES
from rewards.slides.static.source import DeckSource, Entry, NotADeck, natural_key, open_deck, read_files

HEAD = '<!doctype html><html lang="en"><head><title>T</title></head><body>'


def page(inside: str) -> str:
    return f"{HEAD}<section>{inside}</section></body></html>"


CASES: dict[str, tuple[str, str, str]] = {
    "page-element": (page("<h2>A</h2>"), f"{HEAD}<div><h2>A</h2></div><div><h2>B</h2></div>", "div"),
    "page-title": (page("<h2>A</h2><h3>b</h3>"), page("<h2>A</h2><p>x</p><h2>B</h2>"), "h2:nth-of-type(2)"),
    "heading-order": (page("<h2>A</h2><h3>b</h3>"), page("<h2>A</h2><h4>b</h4>"), "h4"),
    "list-semantics": (
        page("<ul><li>a</li></ul>"),
        page("<p>• one</p><p>• two</p><p>• three</p>"),
        "p:nth-of-type(3)",
    ),
    "table-semantics": (
        page("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"),
        page("<table><tr><td>a</td></tr></table>"),
        "table",
    ),
    "image-alt": (page('<img src="a.png" alt="">'), page('<img src="a.png">'), "img"),
    "duplicate-images": (
        page('<img src="a.png" alt="">'),
        page('<img src="a.png" alt=""><img src="a.png" alt="">'),
        "img:nth-of-type(2)",
    ),
    "invented-images": (
        page('<img src="a.png" alt="">'),
        page('<img src="https://via.placeholder.com/9" alt="">'),
        "img",
    ),
    "missing-assets": (page('<img src="a.png" alt="">'), page('<img src="b.png" alt="">'), "img"),
    "text-amount": (page("<p>Few words</p>"), page("<p>" + "word " * 121 + "</p>"), "section"),
    "inline-styles": (
        page("<p>a</p>"),
        page('<p style="color:red">a</p>' * 4),
        "section",
    ),
    "font-fallback": (
        page('<style>p{font:italic 12px/1.2 "A B", serif}</style>'),
        page("<style>@media print{p{font-family:Arial}}</style>"),
        "p",
    ),
    "language": (page(""), page("").replace(' lang="en"', ""), "html"),
    "document-title": (page(""), page("").replace("<title>T</title>", ""), "title"),
    "duplicate-ids": (page('<p id="a"></p>'), page('<p id="a"></p><b id="a"></b>'), "b"),
    "valid-nesting": (page("<p>a<p>b<ul><li>c<li>d</ul>"), page("<b><i>x</b></i>"), "i"),
    "external-requests": (
        page("<style>@import 'x.css';</style>"),
        page("<style>p{background:url(//cdn.test/x.png)}</style>"),
        "style",
    ),
    "scripts": (
        page("<script>go(1)</script>"),
        page("<script>if(navigator.webdriver)x()</script>"),
        "script",
    ),
}


def deck(text: str, *more: str, files: frozenset[str] = frozenset({"a.png"})) -> StaticDeck:
    entries = tuple(Entry(f"p{i}.html", each) for i, each in enumerate((text, *more), 1))
    return StaticDeck(DeckSource(Path("x"), Path("/nowhere"), entries, files))


def test_every_rule_has_a_case_and_its_words() -> None:
    assert set(CASES) == set(BY_ID) and len(BY_ID) == len(RULES)
    for rule in RULES:
        assert rule.why.endswith(".") and rule.mend.endswith(".") and rule.selects


@pytest.mark.parametrize("rule", sorted(CASES))
def test_rule_passes_what_is_right(rule: str) -> None:
    verdicts = list(BY_ID[rule].check(deck(CASES[rule][0])))
    assert [each for each in verdicts if each.outcome != "pass"] == []


@pytest.mark.parametrize("rule", sorted(CASES))
def test_rule_fails_what_is_wrong_at_the_element(rule: str) -> None:
    _, wrong, where = CASES[rule]
    failed = [each for each in BY_ID[rule].check(deck(wrong)) if each.outcome == "fail"]
    assert failed and failed[0].element.split(" > ")[-1].startswith(where) and failed[0].message


def test_alt_that_is_a_file_name_tells_nothing() -> None:
    verdicts = list(BY_ID["image-alt"].check(deck(page('<img src="a.png" alt="IMG_2041.jpg">'))))
    assert [each.outcome for each in verdicts] == ["fail"]


def test_mark_on_every_page_is_no_duplicate() -> None:
    logo = '<section><h2>A</h2><img src="a.png" alt="Our mark"></section>'
    verdicts = BY_ID["duplicate-images"].check(deck(HEAD + logo * 4))
    assert {each.outcome for each in verdicts} == {"pass"}


def test_remote_picture_is_incomplete_not_wrong() -> None:
    verdicts = list(BY_ID["invented-images"].check(deck(page('<img src="https://a.org/x.png" alt="">'))))
    assert [each.outcome for each in verdicts] == ["incomplete"]


def test_speaker_notes_are_no_text_of_the_page() -> None:
    notes = f'<p>Short</p><aside class="notes">{"word " * 500}</aside>'
    assert [each.outcome for each in BY_ID["text-amount"].check(deck(page(notes)))] == ["pass"]


@pytest.mark.parametrize(
    ("markup", "count"),
    [
        ('<div class="reveal"><div class="slides"><section><section>a</section><section>b</section></section>'
         "<section>c</section></div></div>", 3),
        ('<svg data-marpit-svg><foreignObject><section>a</section></foreignObject></svg>' * 2, 2),
        ('<div id="impress"><div class="step">a</div><div class="step">b</div></div>', 2),
        ("<section>a</section><section>b<section>in it</section></section>", 2),
        ('<div class="slide active">a</div><div class="slide">b</div>', 2),
        ('<div class="sheet">a</div><div class="sheet tall">b</div>', 2),
    ],
)  # fmt: skip
def test_pages_by_convention(markup: str, count: int) -> None:
    assert len(deck(HEAD + markup).pages) == count


def test_pages_as_the_browser_found_them_win() -> None:
    found = StaticDeck(
        DeckSource(
            Path("x"), Path("/nowhere"), (Entry("p.html", f"{HEAD}<i>a</i><i>b</i><b>c</b>"),), frozenset()
        ),
        [("p.html", "body > i:nth-of-type(1)"), ("p.html", "body > i:nth-of-type(2)")],
    )
    assert [each.element.text for each in found.pages] == ["a", "b"]


def test_components_are_shares_of_subjects() -> None:
    text = page('<h2>A</h2><img src="a.png" alt="A ship"><img src="b.png">')
    media = {each.name: each for each in judge(deck(text)).page_components[1]}["static.media"]
    # alt 1 of 2, duplicates 2 of 2, invented 2 of 2, missing 1 of 2
    assert media.score == pytest.approx((0.5 + 1 + 1 + 0.5) / 4)
    assert "image-alt 0.50" in media.evidence


def test_hostile_markup_is_parsed_in_bounded_time() -> None:
    judge(deck(page("<div>" * 20_000 + "x")))
    judge(deck(page('<p style="' + "a:b;" * 50_000 + '">x</p>' + "<b id=a>" * 2_000)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"just some words", "is not HTML"),
        (b'{"a": "<b"}', "is not HTML"),
    ],
)
def test_what_is_not_html_is_said_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "deck.html"
    path.write_bytes(content)
    with pytest.raises(NotADeck, match=words) as caught:
        open_deck(path)
    assert "\n" not in str(caught.value)


def test_missing_file_and_empty_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.html", tmp_path):
        with pytest.raises(NotADeck, match="give an HTML file"):
            open_deck(path)


def test_folder_of_pages_sorts_naturally(tmp_path: Path) -> None:
    write: Callable[[str], object] = lambda name: (tmp_path / name).write_text(page("x"))  # noqa: E731
    for name in ("slide-10.html", "slide-2.html", "slide-1.html", "index.html"):
        write(name)
    assert [each.name for each in open_deck(tmp_path).entries] == [
        "slide-1.html",
        "slide-2.html",
        "slide-10.html",
    ]


@given(st.lists(st.integers(0, 999), min_size=2, max_size=6))
def test_natural_order_is_numeric_order(numbers: list[int]) -> None:
    names = sorted((f"s{n}.html" for n in numbers), key=natural_key)
    assert names == [f"s{n}.html" for n in sorted(numbers)]


def test_only_what_a_deck_names_is_handed_to_the_browser(tmp_path: Path) -> None:
    (tmp_path / "deck.html").write_text(
        page('<link rel="stylesheet" href="css/a.css"><img src="my%20pic.png" alt="">')
    )
    (tmp_path / "css").mkdir()
    (tmp_path / "css" / "a.css").write_text("p{background:url(b.png)}")
    for name in ("css/b.png", "my pic.png", "private.png", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "out.png").symlink_to("/etc/hostname")
    assert sorted(read_files(open_deck(tmp_path / "deck.html"))) == [
        "css/a.css",
        "css/b.png",
        "deck.html",
        "my pic.png",
    ]


def test_findings_are_bounded_and_the_score_counts_all() -> None:
    result = judge(deck(page('<img src="a.png" alt="">' + '<img src="b.png">' * 200)))
    assert sum(each.rule == "image-alt" for each in result.findings) == 12
    media = {each.name: each for each in result.page_components[1]}["static.media"]
    assert "image-alt 0.00" in media.evidence


def test_references_of_a_sheet_start_from_the_sheet(tmp_path: Path) -> None:
    (tmp_path / "css").mkdir()
    (tmp_path / "css" / "a.css").write_text("p{background:url(here.png)} b{background:url(../gone.png)}")
    (tmp_path / "css" / "here.png").write_bytes(b"x")
    (tmp_path / "deck.html").write_text(page('<link rel="stylesheet" href="css/a.css">'))
    found = StaticDeck(open_deck(tmp_path / "deck.html"))
    failed = [each.message for each in BY_ID["missing-assets"].check(found) if each.outcome == "fail"]
    assert failed == ["gone.png is not among the deck's files"]
