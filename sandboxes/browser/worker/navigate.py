"""Try the deck's own ways from page to page with real keys and a real mouse."""

from typing import Any

from sandboxes.browser.worker.deck import Deck
from sandboxes.browser.worker.look import fingerprint

KEYS = (("ArrowRight", "ArrowLeft"), ("PageDown", "PageUp"), ("ArrowDown", "ArrowUp"))
RUN_MS = 1500


async def navigate(deck: Deck) -> dict[str, Any]:
    """Facts for capture.Navigation, from the page that the deck opens on."""
    facts: dict[str, Any] = {
        "tried": True,
        "key": "",
        "changed": False,
        "restored": False,
        "scrolls": bool(await deck.inside("deck.scrolls()")),
        "buttons": [],
    }
    start = await _moment(deck)
    for onward, backward in KEYS:
        await deck.guard(deck.page.keyboard.press(onward), f"pressing {onward}")
        there = await _moment(deck)
        if not _moved(start, there):
            continue
        await deck.guard(deck.page.keyboard.press(backward), f"pressing {backward}")
        back = await _moment(deck)
        facts.update(key=onward, changed=True, restored=back == start)
        break
    facts["buttons"] = await _press_buttons(deck)
    return facts


async def _press_buttons(deck: Deck) -> list[dict[str, Any]]:
    tried: list[dict[str, Any]] = []
    found = await deck.inside("deck.ways()")
    # A previous button can only show its worth once a next button has led away from the first page.
    for button in sorted(found, key=lambda one: one["direction"] != "next"):
        before = await _moment(deck)
        await deck.guard(
            deck.page.mouse.click(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2),
            "clicking a button",
        )
        tried.append({**button, "changed": _moved(before, await _moment(deck))})
    return tried


async def _moment(deck: Deck) -> tuple[int, str]:
    """(the page that is up, digest of the pixels) once all motion has ended."""
    await deck.tick(RUN_MS)
    await deck.inside("deck.still(), deck.frame().then(() => (deck.still(), 0))")
    return int(await deck.inside("deck.active()")), await fingerprint(deck)


def _moved(before: tuple[int, str], after: tuple[int, str]) -> bool:
    return before[0] != after[0] and before[1] != after[1]
