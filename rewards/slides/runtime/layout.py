"""Checks on how things stand to each other: collisions, the title's place, the room left free."""

from rewards.slides.runtime.lines import Placed, quoted
from rewards.slides.runtime.rule import MOST_VERDICTS, Judgement, Seen, bounded, fail
from sandboxes.browser.capture import Node, Rect

CORE = 0.62
"""Share of a line box's height that its letters fill."""
OVERLAP = 0.12
FAINT = 0.05
CENTRED, ALIGNED = 0.03, 0.012
"""Shares of the page's width by which a title may miss the middle, or a left edge."""
ALIGNED_SCORE = 0.9
COLUMNS, ROWS = 64, 36
EMPTY, SPARSE, FULL, CROWDED = 0.003, 0.02, 0.85, 0.97
BACKGROUND = 0.9
"""A picture over a larger share of the page is its background, not content."""
_MEDIA = frozenset({"img", "video", "canvas", "svg", "iframe", "table", "object"})


def collision(seen: Seen) -> Judgement:
    """Lines of different blocks whose letters overlap."""
    lines = [line for line in seen.lines if line.rect.area and line.left_over > 0.5 and line.opacity > FAINT]
    if not lines:
        return Judgement(None, "no text on the page")
    hit: set[int] = set()
    verdicts = []
    order = sorted(range(len(lines)), key=lambda at: lines[at].rect.y)
    for place, at in enumerate(order):
        core = _core(lines[at].rect)
        for other in order[place + 1 :]:
            if lines[other].rect.y > core.bottom:
                break
            if lines[other].block == lines[at].block or _twins(lines[at], lines[other]):
                continue
            beside = _core(lines[other].rect)
            shared = core.intersection(beside).area
            if shared > OVERLAP * min(core.area, beside.area):
                hit |= {at, other}
                message = f"{quoted(lines[at].text)} and {quoted(lines[other].text)} overlap"
                verdicts.append(fail(message, lines[other].node, lines[other].rect))
    share = sum(lines[at].characters for at in hit) / max(sum(line.characters for line in lines), 1)
    score = bounded(1 - max(2 * share, 0.2 * len(verdicts)))
    return Judgement(score, f"{share:.1%} of the characters overlap others", tuple(verdicts[:MOST_VERDICTS]))


def title(seen: Seen) -> Judgement:
    """The title centred on the page, or lined up with what stands below it."""
    lines = title_lines(seen)
    if not lines:
        return Judgement(None, "no title on the page")
    left, right = min(line.rect.x for line in lines), max(line.rect.right for line in lines)
    width = float(seen.page.width)
    miss = abs((left + right) / 2 - width / 2) / width
    # A line that wraps fills its box, so its box tells better than its words.
    node = lines[0].node
    centred_box = node.style("text-align") == "center" and node.box is not None
    if centred_box and node.box is not None:
        miss = min(miss, abs(node.box.x + node.box.width / 2 - width / 2) / width)
    if miss <= CENTRED:
        return Judgement(1.0, "the title is centred")
    below = [line for line in seen.lines if line.node.index != node.index and line.rect.y > lines[0].rect.y]
    media = [each.box.x for each in seen.page.own() if each.box and each.tag in _MEDIA]
    edges = [*(line.rect.x for line in below), *media]
    if any(abs(edge - left) <= ALIGNED * width for edge in edges) or not edges:
        return Judgement(ALIGNED_SCORE, "the title lines up with what stands below it")
    where = f"its middle is {miss:.0%} of the page's width off, and its left edge meets nothing below"
    return Judgement(
        bounded(0.6 - 2 * miss),
        f"the title is neither centred nor lined up: {where}",
        (fail(f"the title {quoted(node.text)} is neither centred nor lined up: {where}", node),),
    )


def title_lines(seen: Seen) -> list[Placed]:
    """Lines of the page's first heading, else of its largest text in the upper 60 %."""
    headings = [line for line in seen.lines if line.node.tag in ("h1", "h2", "h3")]
    if not headings:
        heading = next(
            (node for node in seen.page.own() if node.tag in ("h1", "h2", "h3") and node.box), None
        )
        inner = heading.box if heading is not None else None
        headings = [line for line in seen.lines if inner and line.rect.intersection(inner).area > 0]
    if not headings:
        upper = [line for line in seen.lines if line.rect.y < 0.6 * seen.page.height]
        largest = max((line.node.font_size for line in upper), default=0.0)
        headings = [line for line in upper if line.node.font_size >= largest > 24.0 / seen.unit]
    if not headings:
        return []
    first = headings[0].node.index
    return [line for line in headings if line.node.index == first]


def whitespace(seen: Seen) -> Judgement:
    """Share of the page that text and pictures leave free, from boxes: at least 15 %, and not all of it."""
    page, frame = seen.page, seen.page.frame_rect
    shown = [line for line in seen.lines if line.opacity > FAINT]
    boxes = [line.rect.intersection(line.clip).intersection(frame) for line in shown]
    for node in page.own():
        if node.tag in _MEDIA and node.box is not None and _shown(node):
            box = node.box.intersection(frame)
            if box.area < BACKGROUND * frame.area:
                boxes.append(box)
    covered = _coverage(boxes, frame)
    free = f"{1 - covered:.1%} of the page is free"
    root = page.nodes[page.root]
    if covered < SPARSE:
        score = bounded((covered - EMPTY) / (SPARSE - EMPTY))
        return Judgement(score, free, (fail(f"the page is nearly empty: {free}", root, frame),))
    if covered > FULL:
        score = bounded((CROWDED - covered) / (CROWDED - FULL))
        return Judgement(score, free, (fail(f"the page is crowded: only {free}", root, frame),))
    return Judgement(1.0, free)


def _coverage(boxes: list[Rect], frame: Rect) -> float:
    """Share of a grid's cells, each counted by the sum of what boxes cover of it, at most once."""
    wide, high = frame.width / COLUMNS, frame.height / ROWS
    filled = [0.0] * (COLUMNS * ROWS)
    for box in boxes:
        if box.area <= 0:
            continue
        for row in range(int(box.y / high), min(int((box.bottom - 1e-6) / high) + 1, ROWS)):
            tall = min(box.bottom, (row + 1) * high) - max(box.y, row * high)
            for column in range(int(box.x / wide), min(int((box.right - 1e-6) / wide) + 1, COLUMNS)):
                across = min(box.right, (column + 1) * wide) - max(box.x, column * wide)
                at = row * COLUMNS + column
                filled[at] = min(1.0, filled[at] + tall * across / (wide * high))
    return sum(filled) / len(filled)


def _twins(first: Placed, second: Placed) -> bool:
    """The same words at the same place, as animation and highlighting layer them, blur nothing."""
    near = max(abs(a - b) for a, b in zip(first.rect, second.rect, strict=True)) <= 3
    return near and first.text.strip() == second.text.strip()


def _core(rect: Rect) -> Rect:
    cut = rect.height * (1 - CORE) / 2
    return Rect(rect.x, rect.y + cut, rect.width, rect.height * CORE)


def _shown(node: Node) -> bool:
    return node.style("visibility") in ("visible", "") and node.style("opacity") != "0"
