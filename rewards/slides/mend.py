"""How to mend what a rule found, by the rule's name."""

from rewards.slides.runtime.rules import BY_ID as MEASURED
from rewards.slides.static.rules import BY_ID

OF_LOOKS = {
    "main-colour": "Give the main colour less room, or set a second colour beside it for what matters.",
    "harmony": "Keep to one or two hues and their tints, and keep loud colours to small areas.",
    "contrast": "Darken the text or lighten what lies behind it until the ratio is reached.",
    "type-hierarchy": "Set title, body and note at about 1.8 : 1.2 : 1.",
}


def how_to_mend(rule: str) -> str:
    """One sentence; "" for a rule that is not known."""
    if rule in BY_ID:
        return BY_ID[rule].mend
    if rule in MEASURED:
        return MEASURED[rule].mend
    return OF_LOOKS.get(rule, "")
