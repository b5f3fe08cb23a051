"""The runtime rules, as data. Adding one to its list is all that it takes."""

from rewards.slides.runtime import layout, place, text, whole
from rewards.slides.runtime.rule import DeckRule, PageRule

PAGE_RULES: tuple[PageRule, ...] = (
    PageRule(
        "page-aspect", "aspect", "each page at the size that its content needs",
        "A page that is not 16:9 is cut or framed in black on a projector.",
        "Give the page 1280 × 720 and move what does not fit to another page.",
        place.aspect,
    ),
    PageRule(
        "text-cut", "fit", "each line of text and the boxes around it",
        "Words that overflow cuts off are lost to the audience.",
        "Shorten the text or enlarge its box instead of hiding what overflows.",
        place.fit,
    ),
    PageRule(
        "off-page", "off_page", "text and pictures against the page's edges",
        "What lies outside the page is not shown.",
        "Move the element onto the page.",
        place.off_page,
    ),
    PageRule(
        "collision", "collision", "lines of text of different blocks",
        "Letters over letters can't be read.",
        "Give each block its own room; leave placing to flex or grid.",
        layout.collision,
    ),
    PageRule(
        "title-place", "title", "the page's title",
        "A title that is off by a little looks like a mistake.",
        "Centre the title, or line its left edge up with the content's.",
        layout.title,
    ),
    PageRule(
        "safe-margins", "margins", "text near the page's edge",
        "Projectors and frames swallow the outermost pixels.",
        "Keep text at least 2 % of the page's width from every edge.",
        place.margins,
    ),
    PageRule(
        "whitespace", "whitespace", "the share of the page that content leaves free",
        "A crowded page overwhelms, an empty one says nothing.",
        "Keep between 15 % and 98 % of the page free.",
        layout.whitespace,
    ),
    PageRule(
        "type-size", "type_size", "each character's size after all scaling",
        "Small type can't be read from the back of the room.",
        "Use at least 18 px for body text on a page 1280 wide, and never under 12 px.",
        text.type_size,
    ),
    PageRule(
        "unseen-text", "readable", "each line of text, by the ink that it leaves",
        "Text that stands in the document but can't be seen helps nobody.",
        "Show the text, or take it out of the document.",
        text.readable,
    ),
    PageRule(
        "unsettled", "settled", "the page five seconds later",
        "A page that changes by itself shows something else each time.",
        "Let animation come to rest; leave turning pages to the speaker.",
        text.settled,
    ),
)  # fmt: skip

DECK_RULES: tuple[DeckRule, ...] = (
    DeckRule(
        "navigation", "navigation", "keys and buttons that lead from page to page",
        "A speaker who can't turn the page can't use the deck.",
        "Let the arrow keys and every button marked next or previous turn the page.",
        whole.navigation,
    ),
    DeckRule(
        "script-error", "console", "script errors, dialogs, windows, attempts to leave",
        "An error means that something meant to be there is not.",
        "Mend the script, or leave it out.",
        whole.console,
    ),
    DeckRule(
        "unanswered-request", "assets", "requests that found nothing",
        "A deck that leans on the network looks different, or bare, without it.",
        "Put fonts, styles, scripts and pictures beside the deck.",
        whole.assets,
    ),
)  # fmt: skip

_ALL: tuple[PageRule | DeckRule, ...] = (*PAGE_RULES, *DECK_RULES)
BY_ID: dict[str, PageRule | DeckRule] = {rule.id: rule for rule in _ALL}
