"""Shower: slides in a list, one of them active when the deck is full screen."""

from sandboxes.browser.convention import Convention

SHOWER = Convention(
    name="shower",
    title="Shower",
    pages="""($$) => $$(".shower .slide, .shower > section[id], .shower .shower--slide")""",
    show="""function (k) {
        const deck = this.closest(".shower");
        deck.classList.remove("list");
        deck.classList.add("full");
        for (const slide of deck.querySelectorAll(".slide")) slide.classList.toggle("active", slide === this);
    }""",
)
