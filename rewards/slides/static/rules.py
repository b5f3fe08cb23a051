"""The static rules, as data. `RULES` is the whole list; adding one here is all that it takes."""

from rewards.slides.static import media, structure, styling, text
from rewards.slides.static.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "page-element", "structure", "each page of the deck",
        "Tools and screen readers find pages by their element.",
        "Wrap each page in a <section> (or the page element of the framework in use).",
        structure.page_element,
    ),
    Rule(
        "page-title", "structure", "the headings of each page",
        "One title tells what the page says; none or several leave the audience to guess.",
        "Give the page one <h1> or <h2>, and make lesser headings <h3>.",
        structure.page_title,
    ),
    Rule(
        "heading-order", "structure", "each heading after the first on a page",
        "A skipped level breaks the outline that assistive technology reads out.",
        "Follow an h2 with h3, never with h4; choose the size in CSS.",
        structure.heading_order,
    ),
    Rule(
        "list-semantics", "structure", "lists, list items, and lines that look like a list",
        "Bullets written as text wrap badly and are not read out as a list.",
        "Use <ul> or <ol> with only <li> in it.",
        text.list_semantics,
    ),
    Rule(
        "table-semantics", "structure", "tables that are not for layout",
        "Without header cells a figure's meaning can't be told.",
        "Make the first row or column <th>.",
        text.table_semantics,
    ),
    Rule(
        "image-alt", "media", "img, and svg with role=img",
        "A picture without words is nothing to who can't see it.",
        "Say in alt what the picture shows; alt=\"\" where it only decorates.",
        media.image_alt,
    ),
    Rule(
        "duplicate-images", "media", "img with one content",
        "The same picture again fills room and says nothing.",
        "Keep one, or use a picture that belongs to this page.",
        media.duplicate_images,
    ),
    Rule(
        "invented-images", "media", "img sources",
        "A made-up or placeholder address shows a grey box or nothing.",
        "Use a picture that lies beside the deck, or draw it as SVG.",
        media.invented_images,
    ),
    Rule(
        "missing-assets", "media", "local references in markup and CSS",
        "A file that is not there leaves a hole in the page.",
        "Put the file beside the deck or take the reference out.",
        media.missing_assets,
    ),
    Rule(
        "text-amount", "text", "the text of each page, notes left out",
        "People can't read a page of prose and listen; an empty page says nothing.",
        f"Keep a page between one line and {text.MOST_WORDS} words; move the rest into notes.",
        text.text_amount,
    ),
    Rule(
        "inline-styles", "styling", "elements with a style attribute",
        "Looks scattered over elements drift apart from page to page.",
        "Move repeated declarations into a class.",
        styling.inline_styles,
    ),
    Rule(
        "font-fallback", "styling", "font-family and font declarations",
        "Without a generic family the text falls to whatever the machine has.",
        "End the list with serif, sans-serif, monospace or system-ui.",
        styling.font_fallback,
    ),
    Rule(
        "language", "document", "the html element",
        "Hyphens, quotes and voices follow the language.",
        "Write <html lang=\"…\"> with the deck's language.",
        structure.language,
    ),
    Rule(
        "document-title", "document", "the head",
        "The title is how a tab, a bookmark and a screen reader name the deck.",
        "Write a <title>.",
        structure.document_title,
    ),
    Rule(
        "duplicate-ids", "document", "elements with an id",
        "Links, labels and scripts reach only the first of two.",
        "Give each element an id of its own.",
        structure.duplicate_ids,
    ),
    Rule(
        "valid-nesting", "document", "the source's own tags",
        "A browser repairs wrong nesting by moving things where nobody put them.",
        "Close elements in the order they were opened; no block inside <p> or a heading.",
        structure.valid_nesting,
    ),
    Rule(
        "external-requests", "document", "what the deck loads from other hosts",
        "Without the network the deck loses its looks or its pictures.",
        "Put style sheets, scripts, fonts and pictures beside the deck.",
        media.external_requests,
    ),
    Rule(
        "scripts", "document", "script elements",
        "A deck has no need to probe its browser, rewrite itself or call out.",
        "Keep scripts to showing pages.",
        media.scripts,
    ),
)  # fmt: skip

BY_ID = {rule.id: rule for rule in RULES}
