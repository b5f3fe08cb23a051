"""A convention by which decks say "page", as data that the worker can run."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Convention:
    """name: short and unique. title: for people.

    pages: JavaScript function `($$, {rect, style, body}) => Element[]`, run in an isolated world: the page
    elements in order, or [] where the deck does not follow this convention. `$$(selector)` is
    querySelectorAll as an array that a page can't shadow; rect and style give box and computed style.
    show: JavaScript function `(k)`, run in the page's own world with `this` the page's element: brings page k
    (0-based) up in the way of the framework, "" where scrolling is enough. Whether it did is checked from
    outside; where it did not the worker hides the other pages itself.
    frame: what the picture of a page is: the whole viewport, or the element's own box.
    """

    name: str
    title: str
    pages: str
    show: str = ""
    frame: Literal["viewport", "element"] = "element"
