"""Checks on the deck as a whole: its way from page to page, its errors, what it could not load."""

from rewards.slides.runtime.rule import MOST_VERDICTS, Judgement, Verdict, bounded, fail
from sandboxes.browser.capture import DeckCapture

TARGET_PX = 24.0
"""Least side of a button (WCAG 2.2, 2.5.8)."""


def navigation(deck: DeckCapture) -> Judgement:
    """Whether a real key and real clicks lead to the next page and back."""
    facts = deck.navigation
    if not facts.tried:
        return Judgement(None, "one page, or one page a file")
    verdicts: list[Verdict] = []
    if facts.scrolls:
        score, said = 1.0, "the pages lie below one another"
    elif facts.changed:
        score, said = (
            (1.0, f"{facts.key} and back") if facts.restored else (0.7, f"{facts.key}, but not back")
        )
    else:
        score, said = 0.0, "no key leads to the next page"
    if facts.changed and not facts.restored and not facts.scrolls:
        verdicts.append(fail(f"{facts.key} leads on, but its opposite does not lead back to the same page"))
    if not facts.changed and not facts.scrolls:
        verdicts.append(fail("no arrow or page key leads to the next page"))
    led_on = False
    for button in facts.buttons:
        led_on = led_on or (button.direction == "next" and button.changed)
        name = button.label or button.css_path
        if not button.changed and (button.direction == "next" or led_on):
            score -= 0.3
            verdicts.append(
                Verdict("fail", f"the button “{name}” does nothing when clicked", button.css_path, button.box)
            )
        if not button.label:
            score -= 0.1
            verdicts.append(Verdict("fail", "a button has no name", button.css_path, button.box))
        elif min(button.box.width, button.box.height) < TARGET_PX - 0.5:
            size = f"{button.box.width:.0f} × {button.box.height:.0f} px"
            verdicts.append(
                Verdict("fail", f"the button “{name}” is only {size}", button.css_path, button.box)
            )
            score -= 0.1
    worked = any(button.changed for button in facts.buttons)
    if worked and not facts.changed and not facts.scrolls:
        score, said = score + 0.6, "buttons lead on, no key does"
    return Judgement(bounded(score), said, tuple(verdicts[:MOST_VERDICTS]))


def console(deck: DeckCapture) -> Judgement:
    """Errors that scripts threw, and what a deck has no business doing."""
    bad = [fail(f"script error: {each[:160]}") for each in deck.console_errors]
    bad += [fail(f"opened a dialog ({each[:120]})") for each in deck.dialogs]
    bad += [fail(f"opened a window ({each[:120]})") for each in deck.popups]
    bad += [fail(f"tried to leave for {each[:120]}") for each in deck.navigations]
    return Judgement(bounded(1 - 0.25 * len(bad)), f"{len(bad)} errors", tuple(bad[:MOST_VERDICTS]))


def assets(deck: DeckCapture) -> Judgement:
    """What the pages asked for and did not get. A deck has to carry what it shows."""
    bad = [fail(f"missing {each.kind}: {each.url[:160]}") for each in deck.missing]
    bad += [fail(f"{each.kind} from elsewhere, not loaded: {each.url[:160]}") for each in deck.external]
    return Judgement(
        bounded(1 - 0.2 * len(bad)), f"{len(bad)} requests without an answer", tuple(bad[:MOST_VERDICTS])
    )
