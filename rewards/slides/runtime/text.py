"""Checks on whether the text can be read: its size as it arrives, and the ink that it leaves."""

from rewards.slides.runtime.lines import Placed, quoted
from rewards.slides.runtime.rule import MOST_VERDICTS, Judgement, Seen, Verdict, bounded, fail

BODY_PX, NOTE_PX, LEAST_PX = 18.0, 12.0, 8.0
"""Effective sizes on a page 1280 wide: all well from the first, a finding under the second, nothing under
the last."""
INKED = 24
"""Least difference of a channel (of 255) by which a pixel counts as ink."""
INK_SHARE = 0.015
"""Least share of a line's rectangle that ink fills; a thin font fills 5 %, an ordinary one 10 to 25 %."""
MOVED = 16
MOVED_SHARE = 0.002


def type_size(seen: Seen) -> Judgement:
    """Mean over characters of how legible their effective size is."""
    if not seen.lines:
        return Judgement(None, "no text on the page")
    total = max(seen.characters, 1)
    legible = sum(_legible(line.node.font_size * seen.unit) * line.characters for line in seen.lines)
    small = [line for line in seen.lines if line.node.font_size * seen.unit < NOTE_PX - 0.01]
    share = sum(line.characters for line in small) / total
    told: set[int] = set()
    verdicts: list[Verdict] = []
    for line in small:
        if line.node.index not in told:
            told.add(line.node.index)
            size = line.node.font_size * seen.unit
            verdicts.append(fail(f"{quoted(line.text)} is {size:.1f} px high on a page 1280 wide", line.node))
    return Judgement(
        bounded(legible / total),
        f"{share:.1%} of the characters under {NOTE_PX:g} px",
        tuple(verdicts[:MOST_VERDICTS]),
    )


def _legible(size: float) -> float:
    if size >= BODY_PX:
        return 1.0
    if size >= NOTE_PX:
        return 0.6 + 0.4 * (size - NOTE_PX) / (BODY_PX - NOTE_PX)
    return max(0.0, 0.6 * (size - LEAST_PX) / (NOTE_PX - LEAST_PX))


def readable(seen: Seen) -> Judgement:
    """Share of the characters whose line leaves ink: the page differs there from itself without text."""
    if not seen.lines:
        return Judgement(None, "no text on the page")
    if seen.picture is None:
        return Judgement(
            None,
            "not available: pip install 'patchdeck[visual]'",
            (Verdict("incomplete", "ink can't be measured without the visual extra"),),
        )
    without = [line for line in seen.lines if not _inked(seen, line)]
    share = sum(line.characters for line in without) / max(seen.characters, 1)
    verdicts = tuple(
        fail(f"{quoted(line.text)} stands in the document but can't be seen", line.node, line.rect)
        for line in without
    )
    return Judgement(
        bounded(1 - share), f"{1 - share:.1%} of the characters leave ink", verdicts[:MOST_VERDICTS]
    )


def _inked(seen: Seen, line: Placed) -> bool:
    import numpy as np

    assert seen.picture is not None
    rect = line.rect.intersection(seen.page.frame_rect)
    left, top = int(rect.x), int(rect.y)
    right, bottom = int(np.ceil(rect.right)), int(np.ceil(rect.bottom))
    window = seen.picture.text_difference[top:bottom, left:right]
    if window.size == 0 or line.rect.area <= 0:
        return False
    # Over the whole line: a sliver that shows does not make the rest readable.
    return float((window >= INKED).sum()) >= INK_SHARE * line.rect.area


def settled(seen: Seen) -> Judgement:
    """Whether the page still looks the same five seconds later."""
    later = seen.page.later_png
    if later is None:
        return Judgement(1.0, "nothing moved within 5 s")
    if seen.picture is None:
        return Judgement(None, "not available: pip install 'patchdeck[visual]'")
    import numpy as np

    from rewards.slides.visual.picture import read_picture, strongest

    after = read_picture(later, seen.page.png)
    difference = strongest(np.abs(after.page.astype(np.int16) - after.ink.astype(np.int16)))
    share = float((difference >= MOVED).mean())
    if share <= MOVED_SHARE:
        return Judgement(1.0, "nothing moved within 5 s")
    root = seen.page.nodes[seen.page.root]
    message = f"{share:.1%} of the page changed by itself within 5 s"
    return Judgement(bounded(0.5 - share), message, (fail(message, root, seen.page.frame_rect),))
