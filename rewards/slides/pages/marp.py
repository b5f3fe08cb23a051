"""Marp: every page is a section in the foreign object of an SVG."""

from sandboxes.browser.convention import Convention

MARP = Convention(
    name="marp",
    title="Marp",
    pages="""($$) => {
        const drawn = $$("svg[data-marpit-svg] > foreignObject > section");
        const own = drawn.filter((page) => !page.dataset.marpitAdvancedBackground
            || page.dataset.marpitAdvancedBackground === "content");
        return own.map((page) => page.closest("svg"));
    }""",
    show="function (k) { if (document.querySelector('.bespoke-marp-parent')) location.hash = `#${k + 1}`; }",
)
