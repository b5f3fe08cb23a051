"""Where no known convention fits: sibling boxes of equal size near 16:9; at last the whole document as one
page."""

from sandboxes.browser.convention import Convention

GENERIC = Convention(
    name="generic",
    title="sibling boxes near 16:9",
    pages="""($$, { rect, style, body }) => {
        let best = [];
        for (const outer of $$("body, body *")) {
            if (outer.children.length < 2) continue;
            const boxes = [...outer.children].map((child) => [child, rect(child)])
                .filter(([, box]) => box.width >= 320 && box.height >= 160);
            for (const [, first] of boxes) {
                const alike = boxes.filter(([, box]) => Math.abs(box.width - first.width) <= 2
                    && Math.abs(box.height - first.height) <= 2);
                const ratio = first.width / first.height;
                if (ratio > 1.2 && ratio < 2.4 && alike.length > 1 && alike.length > best.length)
                    best = alike.map(([child]) => child);
            }
        }
        return best;
    }""",
)

DOCUMENT = Convention(
    name="document",
    title="one page a file",
    pages="($$, { body }) => [body()]",
)
"""The page is the body: for a folder of one-page files, and for a document in which nothing else is found."""
