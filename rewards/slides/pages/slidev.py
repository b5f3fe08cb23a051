"""Slidev: pages that a script builds, numbered in an attribute."""

from sandboxes.browser.convention import Convention

SLIDEV = Convention(
    name="slidev",
    title="Slidev",
    pages="""($$) => {
        const numbered = $$("[data-slidev-no]");
        return numbered.length ? numbered : $$(".slidev-page");
    }""",
    show="""function (k) {
        const deck = window.__slidev__;
        if (deck && deck.nav) deck.nav.go(Number(this.dataset.slidevNo || k + 1));
    }""",
)
