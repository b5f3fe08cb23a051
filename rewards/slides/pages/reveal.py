"""reveal.js: a section is a page, a section that holds sections is a stack of pages."""

from sandboxes.browser.convention import Convention

REVEAL = Convention(
    name="reveal",
    title="reveal.js",
    pages="""($$) => $$(".reveal .slides > section").flatMap((outer) => {
        const inner = [...outer.children].filter((child) => child.localName === "section");
        return inner.length ? inner : [outer];
    })""",
    show="""function (k) {
        const deck = window.Reveal;
        deck.configure({ transition: "none", backgroundTransition: "none", autoSlide: 0, fragments: false });
        const at = deck.getIndices(this);
        deck.slide(at.h, at.v);
    }""",
    frame="viewport",
)
