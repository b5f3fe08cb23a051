# ruff: noqa: E501 (markup reads better unbroken)
"""A page that means ill costs one deck and a bounded time, and is a fact, never a fault of the machine."""

import time
from collections.abc import Callable, Iterator

import pytest

from rewards.slides.pages.conventions import ONE_FILE
from sandboxes.browser.capture import DeckCapture
from sandboxes.browser.session import BrowserSession, open_browser
from sandboxes.engine import client
from sandboxes.sandbox import RUN_LABEL, SandboxFault

Capture = Callable[..., DeckCapture]
STYLE = "<style>body{margin:0} section{width:1280px;height:720px}</style>"
PAGES = f"<!doctype html>{STYLE}<section><h1>one</h1></section><section><h1>two</h1></section>"


@pytest.fixture(autouse=True)
def an_honest_deck_follows(capture: Capture) -> Iterator[None]:
    """Whatever the test's page did, the next deck is seen as if nothing had been."""
    yield
    after = capture(PAGES)
    assert (after.fault, len(after.pages)) == (None, 2)


@pytest.mark.parametrize(
    "script",
    [
        "while (true) {}",
        "setTimeout(() => { while (true) {} }, 300)",
        "addEventListener('scroll', () => { for (;;); })",
    ],
    ids=["at once", "later", "when shown"],
)
def test_a_loop_without_end_is_a_fact(capture: Capture, script: str) -> None:
    start = time.monotonic()
    deck = capture(f"{PAGES}<script>{script}</script>")
    assert deck.fault == "hang", deck.fault_detail
    assert len(deck.pages) < 2
    assert time.monotonic() - start < 90


def test_a_renderer_out_of_memory_is_a_fact(capture: Capture) -> None:
    deck = capture(
        f"{PAGES}<script>const held = []; for (;;) held.push(new Array(1e6).fill(Math.random()));</script>"
    )
    assert deck.fault in ("crash", "hang"), deck.fault_detail


def test_a_document_of_countless_elements_is_a_fact(capture: Capture) -> None:
    grow = "for (let k = 0; k < 3e5; k++) document.body.append(document.createElement('i'))"
    assert capture(f"{PAGES}<script>{grow}</script>").fault == "too_large"


def test_a_container_that_dies_is_replaced() -> None:
    with open_browser("test-browser-killed") as session:
        for _ in range(2):
            deck = session.capture({"index.html": PAGES.encode()}, "index.html", ONE_FILE, navigation=False)
            assert len(deck.pages) == 2
            (container,) = client().containers.list(filters={"label": f"{RUN_LABEL}=test-browser-killed"})
            container.kill()


def test_an_image_that_is_missing_is_a_fault_of_the_machine() -> None:
    session = BrowserSession("patchdeck/browser:absent", "test-browser-absent")
    with pytest.raises(SandboxFault, match="image"):
        session.capture({"index.html": PAGES.encode()}, "index.html", ONE_FILE)


def test_dialogs_popups_and_departures_are_refused_and_told(capture: Capture) -> None:
    deck = capture(f"""{PAGES}<script>
        alert("hello"); confirm("sure?"); window.open("https://elsewhere.example/ad");
        setTimeout(() => {{ location.href = "https://elsewhere.example/away"; }}, 200);
    </script>""")
    assert len(deck.pages) == 2
    assert deck.fault is None
    assert deck.dialogs == ("alert: hello", "confirm: sure?")
    assert len(deck.popups) <= 1
    assert "https://elsewhere.example/away" in deck.navigations


def test_what_the_deck_lacks_and_what_lies_elsewhere_are_told_apart(capture: Capture) -> None:
    deck = capture(
        f"""{PAGES}<img src="gone.png"><img src="here.svg"><script src="https://cdn.example/x.js"></script>
        <link rel=stylesheet href="sub/style.css">""",
        {
            "here.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
            "sub/style.css": b"h1{background:url(../deep.png)}",
        },
    )
    assert {each.url for each in deck.missing} == {"gone.png", "deep.png"}
    assert [(each.url, each.kind) for each in deck.external] == [("https://cdn.example/x.js", "script")]


def test_script_errors_are_kept(capture: Capture) -> None:
    deck = capture(f"{PAGES}<script>console.error('first'); absent();</script>")
    assert [each.split("\n")[0] for each in deck.console_errors] == ["first", "absent is not defined"]


def test_the_page_sees_no_automation_and_a_fixed_time(capture: Capture) -> None:
    deck = capture(f"""{PAGES}<script>document.querySelector("h1").textContent = [navigator.webdriver,
        /Headless/.test(navigator.userAgent), new Date().getUTCFullYear(), Intl.DateTimeFormat().resolvedOptions()
        .timeZone, matchMedia("(prefers-reduced-motion: reduce)").matches].join(" ")</script>""")
    title = next(each for each in deck.pages[0].own() if each.tag == "h1")
    assert title.text == "false false 2026 UTC true"


def test_an_endless_animation_does_not_unsettle_but_a_late_change_does(capture: Capture) -> None:
    spinning = "<style>@keyframes s{to{transform:rotate(360deg)}} h1{animation:s 1s linear infinite}</style>"
    assert all(page.later_png is None for page in capture(PAGES + spinning).pages)
    late = "<script>setTimeout(() => document.querySelector('h1').remove(), 3000)</script>"
    assert capture(PAGES + late).pages[0].later_png is not None


def test_the_same_deck_gives_the_same_bytes(capture: Capture) -> None:
    moving = """<style>h1{transition:all 1s;animation:in .7s ease-out} @keyframes in{from{opacity:0}}
        section{background:linear-gradient(120deg,#123,#89a)}</style>
        <script>document.querySelector("h1").textContent = Date.now() + " " + performance.now()</script>"""
    first, second = capture(PAGES + moving), capture(PAGES + moving)
    assert [page.png for page in first.pages] == [page.png for page in second.pages]
    assert first == second
