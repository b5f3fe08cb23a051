# ruff: noqa: E501 (markup reads better unbroken)
"""Ways to keep words in the document and off the page, each caught; and honest text that must not be."""

from collections.abc import Callable

import pytest

from rewards.reward import Finding
from rewards.slides.runtime.layer import judge
from sandboxes.browser.capture import DeckCapture

Capture = Callable[..., DeckCapture]

STYLE = """<style>body{margin:0;font-family:"Liberation Sans"} section{width:1280px;height:720px;position:relative;
overflow:hidden;background:#fff;color:#111} h1{font-size:48px;margin:60px 80px} p{font-size:28px;margin:20px 80px}</style>"""
WORDS = "<p style='{}'>words that nobody sees</p>"
HIDDEN = {
    "visibility": WORDS.format("visibility:hidden"),
    "opacity": WORDS.format("opacity:0"),
    "nearly no opacity": WORDS.format("opacity:.03"),
    "same colour": WORDS.format("color:#fff"),
    "near colour": WORDS.format("color:#fafafa !important"),
    "transparent": WORDS.format("color:transparent"),
    "text fill": WORDS.format("-webkit-text-fill-color:transparent"),
    "off screen": WORDS.format("position:absolute;left:-4000px"),
    "indent": WORDS.format("text-indent:-4000px;overflow:hidden"),
    "clip path": WORDS.format("clip-path:inset(50%)"),
    "clip": WORDS.format("position:absolute;clip:rect(0,0,0,0)"),
    "mask": WORDS.format("-webkit-mask:linear-gradient(transparent,transparent)"),
    "filter": WORDS.format("filter:opacity(0)"),
    "no height": WORDS.format("height:0;overflow:hidden"),
    "covered": WORDS.format("") + "<div style='position:absolute;inset:150px 0 0 0;background:#fff'></div>",
    "below": WORDS.format("position:relative;z-index:-1"),
    "backface": WORDS.format("transform:rotateY(180deg);backface-visibility:hidden"),
    "scale": WORDS.format("transform:scale(.02)"),
    "tiny": WORDS.format("font-size:1px"),
    "zoom": WORDS.format("zoom:.05"),
    "svg": "<svg width=900 height=90 style='margin:0 80px'><text y=40 font-size=28 fill=white>nobody sees</text></svg>",
    "line clamp": "<p style='display:-webkit-box;-webkit-line-clamp:1;-webkit-box-orient:vertical;overflow:hidden;"
    "width:300px'>seen and then words on further lines that nobody can ever see at all</p>",
}  # fmt: skip
SEEN = {
    "plain": "<p>honest words</p>",
    "gradient": "<p style='background:linear-gradient(90deg,#05f,#a0f);-webkit-background-clip:text;color:transparent'>"
    "a title of colours</p>",
    "important": "<p style='color:#333 !important'>inline and important</p>",
    "svg": "<svg width=900 height=90 style='margin:0 80px'><text y=40 font-size=28>drawn words</text></svg>",
    "dark": "<div style='background:#112;padding:20px 0'><p style='color:#eef'>light on dark</p></div>",
    "shadow": "<p style='text-shadow:0 2px 4px #999'>with a shadow</p>",
    "for screen readers": "<p>seen</p><span style='position:absolute;width:1px;height:1px;overflow:hidden;"
    "clip:rect(0,0,0,0)'>for a screen reader</span>",
    "tags in line": "<p>with <b>bold</b>, <code>code</code> and a <a href='#'>link</a></p>",
}  # fmt: skip
CAUGHT_BY = {"unseen-text", "type-size", "text-cut", "off-page"}


@pytest.fixture(scope="module")
def findings(capture: Capture) -> dict[str, list[Finding]]:
    names = [*(f"hidden {each}" for each in HIDDEN), *(f"seen {each}" for each in SEEN)]
    bodies = [*HIDDEN.values(), *SEEN.values()]
    pages = "".join(f"<section><h1>A title</h1>{body}</section>" for body in bodies)
    deck = capture(f"<!doctype html>{STYLE}{pages}")
    assert len(deck.pages) == len(bodies)
    found = judge(deck).findings
    return {
        name: [each for each in found if each.page == index and each.rule in CAUGHT_BY]
        for index, name in enumerate(names, 1)
    }


@pytest.mark.parametrize("trick", HIDDEN)
def test_hidden_text_is_caught(findings: dict[str, list[Finding]], trick: str) -> None:
    assert findings[f"hidden {trick}"]


@pytest.mark.parametrize("page", SEEN)
def test_honest_text_is_not(findings: dict[str, list[Finding]], page: str) -> None:
    assert findings[f"seen {page}"] == []
