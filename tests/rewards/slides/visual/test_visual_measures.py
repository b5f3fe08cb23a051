"""Palette, contrast and type hierarchy on synthetic pages whose answers are known.

Golden numbers: WCAG 2.2 (black on white 21 : 1; #777777 on white 4.48 : 1, as its techniques and
WebAIM give it) and coloraide, an independent colour library.
"""

import io

import numpy as np
import pytest
from coloraide import Color
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from rewards.slides.visual import contrast, hierarchy, palette
from rewards.slides.visual.layer import judge_page
from rewards.slides.visual.picture import lab, luminance, read_picture
from sandboxes.browser.capture import Line, Node, PageCapture, Rect

WIDTH, HEIGHT = 640, 360
byte = st.integers(0, 255)


def png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def node(
    index: int, tag: str, text: str, size: float, rect: Rect, weight: str = "400", parent: int = 0
) -> Node:
    return Node(
        index=index, parent=parent, tag=tag, id="", classes=(), attributes={}, css_path=f"section > {tag}",
        box=rect, text=text, lines=(Line(text, rect),) if text else (), styles={"font-weight": weight},
        font_size=size, scale=1.0, paint_order=index, client=(0, 0), scroll=(0, 0), in_page=True,
    )  # fmt: skip


def capture(page: Image.Image, ink: Image.Image, nodes: tuple[Node, ...] = ()) -> PageCapture:
    root = node(0, "section", "", 16, Rect(0, 0, page.width, page.height), parent=-1)
    return PageCapture(
        index=1, entry="d.html", width=page.width, height=page.height, natural_width=page.width,
        natural_height=page.height, nodes=(root, *nodes), root=0, png=png(page), ink_png=png(ink),
        later_png=None, shown="native", frame="viewport",
    )  # fmt: skip


def written(text_colour: str, ground: str) -> PageCapture:
    """One line of real, antialiased text at 20 px."""
    ink = Image.new("RGB", (WIDTH, HEIGHT), ground)
    page = ink.copy()
    ImageDraw.Draw(page).text((40, 40), "Reading this should be easy", fill=text_colour, font_size=20)
    return capture(page, ink, (node(1, "p", "Reading this should be easy", 20, Rect(38, 38, 320, 30)),))


@given(st.tuples(byte, byte, byte))
def test_lab_agrees_with_coloraide(rgb: tuple[int, int, int]) -> None:
    expected = Color("srgb", [value / 255 for value in rgb]).convert("lab-d65").coords()
    assert lab(np.array(rgb, dtype=np.uint8)) == pytest.approx(expected, abs=0.02)


@given(st.tuples(byte, byte, byte), st.tuples(byte, byte, byte))
def test_contrast_agrees_with_coloraide(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    colours = [Color("srgb", [value / 255 for value in rgb]) for rgb in (one, two)]
    ours = contrast.contrast_ratio(*(float(luminance(np.array(rgb, dtype=np.uint8))) for rgb in (one, two)))
    assert ours == pytest.approx(colours[0].contrast(colours[1], method="wcag21"), rel=1e-3)


@pytest.mark.parametrize(
    ("text", "ground", "ratio", "passes"),
    [
        ("#000000", "#ffffff", 21.0, True),
        ("#767676", "#ffffff", 4.54, True),
        ("#777777", "#ffffff", 4.48, True),
        ("#888888", "#ffffff", 3.54, False),
        ("#ffff00", "#ffffff", 1.07, False),
    ],
)
def test_contrast_on_pixels_of_antialiased_text(text: str, ground: str, ratio: float, passes: bool) -> None:
    page = written(text, ground)
    (line,) = contrast.measure(page, read_picture(page.png, page.ink_png))
    assert line.ratio == pytest.approx(ratio, rel=0.02)
    # 4.48 is within the rounding that the check allows.
    assert line.passes is passes


def test_text_without_ink_is_not_told() -> None:
    page = written("#ffffff", "#ffffff")
    (line,) = contrast.measure(page, read_picture(page.png, page.ink_png))
    assert line.ratio is None and contrast.contrast_score([line]) is None


def test_large_and_bold_text_needs_less() -> None:
    sizes = ((23.9, "400"), (24, "400"), (19, "700"), (18, "700"))
    assert [contrast.needed_ratio(*each) for each in sizes] == [4.5, 3.0, 3.0, 4.5]


def ink_page(boxes: list[tuple[str, int]], ground: str = "#ffffff") -> PageCapture:
    """Flat squares of 10 px: how many of which colour."""
    image = Image.new("RGB", (WIDTH, HEIGHT), ground)
    draw = ImageDraw.Draw(image)
    place = 0
    for colour, count in boxes:
        for _ in range(count):
            x, y = 20 + (place % 28) * 21, 20 + (place // 28) * 21
            draw.rectangle((x, y, x + 9, y + 9), fill=colour)
            place += 1
    return capture(image, image)


def read(page: PageCapture) -> palette.Palette:
    return palette.read_palette(read_picture(page.png, page.ink_png))


def test_palette_shares_are_those_drawn() -> None:
    found = read(ink_page([("#202020", 60), ("#d04010", 30), ("#2060c0", 10)]))
    assert [ink.share for ink in found.inks] == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert palette.main_colour_score(found) == pytest.approx(1.0, abs=0.02)
    assert found.coverage == pytest.approx(100 * 100 / (WIDTH * HEIGHT), abs=0.002)


def test_background_is_no_ink_whatever_its_colour() -> None:
    inks = [("#202020", 60), ("#d04010", 40)]
    plain = read(ink_page(inks))
    assert [ink.share for ink in read(ink_page(inks, "#eef6ff")).inks] == [ink.share for ink in plain.inks]


def test_gradient_does_not_hide_a_single_colour() -> None:
    ramp = np.linspace(0, 255, WIDTH, dtype=np.uint8)
    ground = np.stack([np.broadcast_to(ramp, (HEIGHT, WIDTH)), np.full((HEIGHT, WIDTH), 220, np.uint8),
                       np.full((HEIGHT, WIDTH), 240, np.uint8)], axis=2)  # fmt: skip
    image = Image.fromarray(np.ascontiguousarray(ground))
    draw = ImageDraw.Draw(image)
    for place in range(80):
        x, y = 40 + place % 20 * 28, 40 + place // 20 * 60
        draw.rectangle((x, y, x + 15, y + 20), fill="#101010")
    found = read(capture(image, image))
    assert found.main_share > 0.95 and (palette.main_colour_score(found) or 1) < 0.5


def test_one_colour_scores_under_two() -> None:
    one, two = read(ink_page([("#1040a0", 100)])), read(ink_page([("#1040a0", 55), ("#e08020", 45)]))
    assert (palette.main_colour_score(one) or 0) < (palette.main_colour_score(two) or 0)


def test_harmony_prefers_few_hues_and_quiet_ground() -> None:
    calm = read(ink_page([("#22333a", 40), ("#2f8a95", 40), ("#8fd0d3", 20)]))
    loud = read(ink_page([("#ff00c8", 30), ("#0019ff", 30), ("#ff2020", 30), ("#ffee00", 10)], "#00ff4c"))
    assert (palette.harmony_score(calm) or 0) > 0.9
    assert (palette.harmony_score(loud) or 0) < 0.2


def typed(*sizes: tuple[str, float, int]) -> PageCapture:
    blank = Image.new("RGB", (WIDTH, HEIGHT), "white")
    nodes = tuple(
        node(i, tag, "x" * length, size, Rect(10, 30 * i, 200, 20))
        for i, (tag, size, length) in enumerate(sizes, 1)
    )
    return capture(blank, blank, nodes)


def test_the_named_proportion_is_perfect() -> None:
    sizes = hierarchy.read_sizes(typed(("h2", 45, 20), ("p", 30, 200), ("small", 25, 30)))
    assert (sizes.title, sizes.body, sizes.note) == (45, 30, 25)
    assert hierarchy.hierarchy_score(sizes) == 1.0


@pytest.mark.parametrize(("title", "most"), [(30, 0.01), (33, 0.6), (200, 0.01)])
def test_title_too_like_the_body_or_far_above_it(title: float, most: float) -> None:
    score = hierarchy.hierarchy_score(hierarchy.read_sizes(typed(("h2", title, 20), ("p", 30, 200))))
    assert score is not None and score <= most


@given(st.floats(1.0, 8.0), st.floats(1.0, 8.0))
def test_ratio_score_rises_to_the_target_and_falls_after(one: float, two: float) -> None:
    low, high = sorted((one, two))
    if high <= 1.5:
        assert hierarchy.ratio_score(low, 1.5) <= hierarchy.ratio_score(high, 1.5)
    if low >= 1.5:
        assert hierarchy.ratio_score(low, 1.5) >= hierarchy.ratio_score(high, 1.5)


def test_effective_size_counts_not_the_declared_one() -> None:
    """A page scaled down as a whole keeps its proportions."""
    full = typed(("h2", 45, 20), ("p", 30, 200))
    small = typed(("h2", 9, 20), ("p", 6, 200))
    scores = [hierarchy.hierarchy_score(hierarchy.read_sizes(each)) for each in (full, small)]
    assert scores[0] == scores[1] == 1.0


def test_layer_points_at_the_faint_line() -> None:
    components, findings = judge_page(written("#cccccc", "#ffffff"), None, "not available")
    scores = {each.name: each.score for each in components}
    assert scores["visual.clip"] is None and (scores["visual.contrast"] or 0) < 0.2
    (finding,) = [each for each in findings if each.rule == "contrast"]
    assert finding.element == "section > p" and finding.box is not None and "4.5" in finding.message


def test_same_page_same_components() -> None:
    page = written("#203040", "#f0f0e0")
    assert judge_page(page, None, "") == judge_page(page, None, "")
