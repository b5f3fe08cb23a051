# ruff: noqa: E501 (markup reads better unbroken)
"""Geometry and styles are the browser's own, whatever the page's scripts say."""

from collections.abc import Callable

import pytest

from sandboxes.browser.capture import DeckCapture, Node

Capture = Callable[..., DeckCapture]
STYLE = "<style>body{margin:0} section{width:1280px;height:720px;position:relative}</style>"

FORGED = f"""<!doctype html>{STYLE}<section><p id=a style="position:absolute;left:-900px;font-size:3px">away</p></section>
<section><h2>two</h2></section><script>
Element.prototype.getBoundingClientRect = () => ({{x: 0, y: 0, left: 0, top: 0, right: 400, bottom: 60, width: 400, height: 60}});
window.getComputedStyle = () => ({{fontSize: "40px", visibility: "visible", opacity: "1", position: "static"}});
Range.prototype.getClientRects = () => [];
document.querySelectorAll = () => [];
Element.prototype.querySelectorAll = () => [];
</script>"""


def node(deck: DeckCapture, name: str, page: int = 0) -> Node:
    return next(each for each in deck.pages[page].nodes if each.id == name)


def test_a_page_cannot_forge_boxes_or_sizes(capture: Capture) -> None:
    deck = capture(FORGED)
    assert len(deck.pages) == 2
    away = node(deck, "a")
    assert away.box is not None
    assert away.box.x == pytest.approx(-900)
    assert away.font_size == pytest.approx(3)


def test_named_elements_do_not_shadow_the_document(capture: Capture) -> None:
    shadow = "".join(f"<img name={name} width=1 height=1>" for name in ("body", "fonts", "querySelectorAll"))
    assert capture(f"<!doctype html>{STYLE}{shadow}<section>1</section><section>2</section>").page_count == 2


def test_effective_size_counts_transform_zoom_and_view_box(capture: Capture) -> None:
    deck = capture(f"""<!doctype html>{STYLE}<section style="font-size:40px">
        <p id=scaled style="transform:scale(.25)">quarter</p><div style="transform:scale(.5)"><p id=nested
        style="transform:scale(.5)">nested</p></div><p id=turned style="transform:rotate(30deg)">turned</p>
        <p id=zoomed style="zoom:.25">zoomed</p><svg width=320 height=180 viewBox="0 0 1280 720"><foreignObject
        width=1280 height=720><p id=drawn>drawn</p></foreignObject></svg></section><section>2</section>""")
    sizes = {name: node(deck, name).font_size for name in ("scaled", "nested", "turned", "zoomed", "drawn")}
    assert sizes == pytest.approx(
        {"scaled": 10, "nested": 10, "turned": 40, "zoomed": 10, "drawn": 10}, rel=0.03
    )


def test_boxes_are_relative_to_the_page_below_the_first(capture: Capture) -> None:
    deck = capture(f"<!doctype html>{STYLE}" + "<section><h1 id=t style='margin:0'>x</h1></section>" * 3)
    assert [(page.width, page.height) for page in deck.pages] == [(1280, 720)] * 3
    for page in deck.pages:
        title = next(each for each in page.own() if each.tag == "h1")
        assert title.box is not None
        assert (title.box.x, title.box.y) == (0, 0)
        assert [line.text for line in title.lines] == ["x"]


def test_lines_are_told_apart_and_pseudo_content_is_no_text(capture: Capture) -> None:
    deck = capture(f"""<!doctype html>{STYLE}<style>#p::before{{content:"not words"}}</style>
        <section><p id=p style="width:200px;font-size:24px">several words that wrap over lines</p></section>
        <section>2</section>""")
    words = node(deck, "p")
    assert words.text == "several words that wrap over lines"
    assert len(words.lines) >= 2
    assert "".join(line.text for line in words.lines).replace(" ", "") == words.text.replace(" ", "")
    assert all("not words" not in each.text for each in deck.pages[0].nodes)


def test_natural_height_sees_through_clipping_and_leaves_decoration_out(capture: Capture) -> None:
    long = "<p style='font-size:40px'>line</p>" * 14
    deck = capture(f"""<!doctype html>{STYLE}<section style="overflow:hidden">{long}</section>
        <section style="overflow:hidden"><h1>short</h1><div style="position:absolute;top:600px;width:400px;
        height:400px;border-radius:50%;background:teal"></div></section>""")
    assert deck.pages[0].natural_height > 1000
    assert deck.pages[1].natural_height == 720


def test_css_paths_find_their_element(capture: Capture) -> None:
    deck = capture(
        f"<!doctype html>{STYLE}<section><p>a</p><p>b</p></section><section id=s><p>c</p></section>"
    )
    paths = {each.text: each.css_path for page in deck.pages for each in page.own() if each.tag == "p"}
    assert paths == {
        "a": "html > body > section:nth-of-type(1) > p:nth-of-type(1)",
        "b": "html > body > section:nth-of-type(1) > p:nth-of-type(2)",
        "c": "section#s > p",
    }
