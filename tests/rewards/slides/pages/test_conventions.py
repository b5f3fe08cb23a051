# ruff: noqa: E501 (markup reads better unbroken)
"""Each convention finds its pages in a small deck, shows every one of them, and leaves other decks alone."""

from collections.abc import Callable

import pytest

from rewards.slides.pages.conventions import FOLDER, ONE_FILE
from sandboxes.browser.capture import DeckCapture
from sandboxes.browser.session import BrowserSession

Capture = Callable[..., DeckCapture]

BOX = "width:1280px;height:720px;"
WORDS = ("alpha", "beta", "gamma")
RED = "<style>body{margin:0}</style>"


def pages(template: str) -> str:
    return "".join(template.format(word=word, k=k) for k, word in enumerate(WORDS))


SWITCH = """<script>
const all = [...document.querySelectorAll("%s")];
addEventListener("keydown", (event) => {
  const at = all.findIndex((one) => one.classList.contains("%s"));
  const to = at + (event.key === "ArrowRight") - (event.key === "ArrowLeft");
  if (all[to]) all.forEach((one, k) => one.classList.toggle("%s", k === to));
});
</script>"""

DECKS = {
    "reveal": f"""<style>.slides>section{{{BOX}display:none;position:absolute}} .present{{display:block!important}}
        .slides>section>section:not(.present){{display:none}}</style><div class=reveal><div class=slides>
        <section class=present><h1>alpha</h1></section><section><section class=present><h1>beta</h1></section>
        <section><h1>gamma</h1></section></section></div></div>""",
    "marp": pages(
        '<svg data-marpit-svg viewBox="0 0 1280 720" width=1280 height=720><foreignObject width=1280 height=720>'
        "<section><h1>{word}</h1></section></foreignObject></svg>"
    ),
    "impress": f"<div id=impress>{pages('<div class=step style=position:absolute;top:{k}00vh;height:100vh><h1>{word}</h1></div>')}</div>",
    "shower": "<style>.full .slide:not(.active){display:none}</style><body class='shower list'>"
    + pages(f"<section class=slide style='{BOX}'><h1>{{word}}</h1></section>"),
    "slidev": pages(f"<div data-slidev-no={{k}} style='{BOX}'><h1>{{word}}</h1></div>"),
    "webslides": "<style>#webslides section:not(.current){display:none}</style><article id=webslides>"
    + f"<section class=current style='{BOX}'><h1>alpha</h1></section><section style='{BOX}'><h1>beta</h1></section>"
    + f"<section style='{BOX}'><h1>gamma</h1></section></article>",
    "dzslides": "<style>section{position:absolute;visibility:hidden}section[aria-selected]{visibility:visible}</style>"
    + f"<section aria-selected=true style='{BOX}'><h1>alpha</h1></section>"
    + f"<section style='{BOX}'><h1>beta</h1></section><section style='{BOX}'><h1>gamma</h1></section>",
    "html5rocks": "<style>article{display:none;position:absolute;inset:0}.current{display:block!important}</style>"
    + "<section class=slides>" + pages("<article><h1>{word}</h1></article>") + "</section>",
    "google-io": "<style>slide{display:none;position:absolute;inset:0}.current{display:block!important}</style><slides>"
    + "<slide class='title-slide current'><h1>alpha</h1></slide><slide><h1>beta</h1></slide>"
    + "<slide><h1>gamma</h1></slide><slide class=backdrop></slide></slides>",
    "active-class": "<style>.slide{display:none;position:absolute;inset:0}.active{display:block!important}</style>"
    + "<div class='slide active'><h1>alpha</h1></div><div class=slide><h1>beta</h1></div>"
    + "<div class=slide><h1>gamma</h1></div>" + SWITCH % (".slide", "active", "active"),
    "sections": pages(f"<section style='{BOX}'><h1>{{word}}</h1></section>"),
    "generic": "<div>" + pages(f"<div style='{BOX}'><h1>{{word}}</h1></div>") + "</div>",
    "document": "<h1>alpha</h1><p>one page of words</p>",
}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in ONE_FILE])
def test_the_convention_finds_and_shows_its_pages(capture: Capture, name: str) -> None:
    deck = capture(f"<!doctype html>{RED}{DECKS[name]}")
    assert deck.convention == name
    shown = WORDS if name != "document" else WORDS[:1]
    assert deck.page_count == len(deck.pages) == len(shown)
    for page, word in zip(deck.pages, shown, strict=True):
        title = next(each for each in page.own() if each.tag == "h1")
        assert title.text == word
        assert title.box is not None
        assert title.box.intersection(page.frame_rect).area == pytest.approx(title.box.area, rel=0.02)
        assert page.png != page.ink_png


def test_every_file_of_a_folder_is_a_page(browser: BrowserSession) -> None:
    files = {f"s-{k}.html": f"<!doctype html><h1>{word}</h1>".encode() for k, word in enumerate(WORDS)}
    deck = browser.capture(files, sorted(files), FOLDER)
    assert [page.entry for page in deck.pages] == sorted(files)
    assert [page.index for page in deck.pages] == [1, 2, 3]
    assert not deck.navigation.tried


def test_real_keys_and_clicks_turn_pages(capture: Capture) -> None:
    buttons = """<button style="position:fixed;bottom:9px;left:9px;width:60px;height:40px" id=next
        onclick="window.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}))">next</button>
        <button style="position:fixed;bottom:9px;left:99px;width:60px;height:40px">next page</button>"""
    facts = capture(f"<!doctype html>{RED}{DECKS['active-class']}{buttons}", navigation=True).navigation
    assert (facts.tried, facts.key, facts.changed, facts.restored) == (True, "ArrowRight", True, True)
    assert [(each.label, each.changed) for each in facts.buttons] == [("next", True), ("next page", False)]


def test_a_deck_that_no_key_turns_says_so(capture: Capture) -> None:
    dead = DECKS["active-class"].partition("<script>")[0]
    facts = capture(f"<!doctype html>{RED}{dead}", navigation=True).navigation
    assert (facts.tried, facts.changed, facts.scrolls) == (True, False, False)
