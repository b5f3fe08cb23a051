"""Checks on where things stand: shape of the page, what does not fit, what leaves the page, margins."""

import math

from rewards.slides.runtime.lines import quoted
from rewards.slides.runtime.rule import MOST_VERDICTS, Judgement, Seen, bounded, fail
from sandboxes.browser.capture import Node, Rect

WIDE = 16 / 9
SLACK_PX = 2.0
CLIPPED_BELOW = 0.75
"""A line of which less than this share is left counts as cut."""
MARGIN = 0.02
"""Safe margin on each side, as a share of the page's width."""
MARGIN_LETS_PASS = 0.05


def aspect(seen: Seen) -> Judgement:
    """AeSlides' measure (arXiv 2604.22840) on the natural size: too tall costs more than too wide."""
    page = seen.page
    ratio = page.natural_width / max(page.natural_height, 1.0)
    off = math.log(ratio / WIDE)
    score = bounded(math.exp(-16 * off**2 - 64 * max(-off - 0.04, 0.0) ** 2))
    said = f"{page.natural_width:.0f} × {page.natural_height:.0f}, ratio {ratio:.3f}"
    bad = (
        (fail(f"the page is {said}, not 16:9", page.nodes[page.root], page.frame_rect),)
        if score < 0.9
        else ()
    )
    return Judgement(score, said, bad)


def fit(seen: Seen) -> Judgement:
    """Share of the text that overflow cuts off, and what an ellipsis replaces."""
    if not seen.lines:
        return Judgement(None, "no text on the page")
    cut = [line for line in seen.lines if line.left_over < CLIPPED_BELOW]
    cut_blocks = {line.block for line in cut}
    short = [
        node
        for node in seen.page.own()
        if node.text
        and node.style("text-overflow") == "ellipsis"
        and node.scroll[0] > node.client[0] + SLACK_PX
        and node.style("overflow-x") != "visible"
    ]
    clamped = {node.index: lost for node in seen.page.own() if (lost := _not_laid_out(node))}
    gone = sum(line.characters for line in cut) + sum(clamped.values())
    share = gone / max(seen.characters + sum(clamped.values()), 1)
    verdicts = [
        fail(f"{quoted(node.text)} is clamped: {clamped[node.index]} of its characters are left out", node)
        for node in seen.page.own()
        if node.index in clamped
    ]
    verdicts += [
        fail(f"{quoted(line.text)} is cut off by its box", line.node, line.rect)
        for line in cut
        if line.rect.area
    ]
    verdicts += [
        fail(f"{quoted(node.text)} ends in an ellipsis because it does not fit", node)
        for node in short
        if node.index not in cut_blocks
    ]
    score = bounded(1 - 3 * share - 0.1 * len(short))
    return Judgement(score, f"{share:.1%} of the characters cut", tuple(verdicts[:MOST_VERDICTS]))


def _not_laid_out(node: Node) -> int:
    """Characters of an element's text for which no line was made, as a line clamp does."""
    if node.box is None or not node.text or node.style("-webkit-line-clamp") in ("none", ""):
        return 0
    words = sum(not each.isspace() for each in node.text)
    laid = sum(not each.isspace() for line in node.lines for each in line.text)
    return max(words - laid, 0)


def off_page(seen: Seen) -> Judgement:
    """Share of the text and of the pictures that lies outside the page."""
    page, frame = seen.page, seen.page.frame_rect
    gone = [line for line in seen.lines if line.rect.area and _inside(line.rect, frame) < CLIPPED_BELOW]
    media = [node for node in page.own() if node.tag in ("img", "video", "canvas", "iframe") and node.box]
    lost = [node for node in media if node.box and node.box.area and _inside(node.box, frame) < 0.5]
    if not seen.lines and not media:
        return Judgement(None, "nothing on the page")
    share = sum(line.characters for line in gone) / max(seen.characters, 1)
    verdicts = [fail(f"{quoted(line.text)} lies outside the page", line.node, line.rect) for line in gone]
    verdicts += [fail(f"this {node.tag} lies outside the page", node) for node in lost]
    score = bounded(1 - 3 * share - len(lost) / max(len(media), 1))
    return Judgement(score, f"{share:.1%} of the characters off the page", tuple(verdicts[:MOST_VERDICTS]))


def margins(seen: Seen) -> Judgement:
    """Share of the text that comes closer to the page's edge than the safe margin."""
    if not seen.lines:
        return Judgement(None, "no text on the page")
    frame = seen.page.frame_rect
    inset = MARGIN * frame.width
    safe = Rect(inset, inset, frame.width - 2 * inset, frame.height - 2 * inset)
    close = [
        line
        for line in seen.lines
        if _inside(line.rect, frame) >= CLIPPED_BELOW and _inside(line.rect, safe) < 0.98
    ]
    share = sum(line.characters for line in close) / max(seen.characters, 1)
    verdicts = (
        tuple(fail(f"{quoted(line.text)} touches the page's edge", line.node, line.rect) for line in close)
        if share > MARGIN_LETS_PASS
        else ()
    )
    score = 1.0 if share <= MARGIN_LETS_PASS else bounded(1 - 1.5 * share)
    return Judgement(
        score, f"{share:.1%} of the characters within {inset:.0f} px of the edge", verdicts[:MOST_VERDICTS]
    )


def _inside(rect: Rect, frame: Rect) -> float:
    return rect.intersection(frame).area / rect.area if rect.area else 1.0
