"""The eight sample decks, and decks of ill will, through the real browser container."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewards.slides.score import ScoredDeck, examine_deck
from rewards.slides.static.source import NotADeck
from sandboxes.browser.session import BrowserSession, open_browser

DECKS = Path(__file__).resolve().parents[3] / "patchdeck" / "sample" / "decks"
GOOD = {"tides": 5, "bread": 4, "moons": 4, "allotment": 4}
BAD = {"quarterly": 3, "neon": 3, "gallery": 3, "memo": 3}


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserSession]:
    with open_browser("test-score-decks") as session:
        yield session


@pytest.fixture(scope="module")
def scored(browser: BrowserSession) -> dict[str, ScoredDeck]:
    return {name: examine_deck(DECKS / name, task_id=name, session=browser) for name in GOOD | BAD}


def rules(deck: ScoredDeck) -> set[str]:
    return {each.rule for page in deck.reward.pages for each in page.findings} | {
        each.rule for each in deck.reward.findings
    }


def test_pages_are_counted(scored: dict[str, ScoredDeck]) -> None:
    assert {name: len(deck.reward.pages) for name, deck in scored.items()} == GOOD | BAD


def test_good_decks_outscore_bad_ones_clearly(scored: dict[str, ScoredDeck]) -> None:
    value = {name: deck.reward.value or 0.0 for name, deck in scored.items()}
    assert min(value[name] for name in GOOD) > max(value[name] for name in BAD) + 0.2


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("quarterly", {"type-size", "text-cut", "collision", "navigation", "type-hierarchy"}),
        ("neon", {"contrast", "harmony", "type-hierarchy", "unseen-text"}),
        ("gallery", {"image-alt", "duplicate-images", "invented-images", "missing-assets",
                     "unseen-text", "off-page", "unanswered-request"}),
        ("memo", {"language", "document-title", "page-title", "text-amount", "list-semantics",
                  "table-semantics", "duplicate-ids", "valid-nesting", "font-fallback", "type-hierarchy"}),
    ],
)  # fmt: skip
def test_named_faults_are_found(scored: dict[str, ScoredDeck], name: str, named: set[str]) -> None:
    assert named <= rules(scored[name])


def test_same_bytes_on_a_second_run(scored: dict[str, ScoredDeck]) -> None:
    """In a browser of its own."""
    for name in ("moons", "gallery"):
        again = examine_deck(DECKS / name, task_id=name)
        assert again.reward.model_dump_json() == scored[name].reward.model_dump_json()


def test_visual_findings_point_at_boxes_in_the_picture(scored: dict[str, ScoredDeck]) -> None:
    deck = scored["neon"]
    assert deck.capture is not None
    found = [each for page in deck.reward.pages for each in page.findings if each.rule == "contrast"]
    assert len(found) >= 8
    for each in found:
        page = deck.capture.pages[(each.page or 0) - 1]
        assert each.box is not None and 0 <= each.box.x < page.width and 0 <= each.box.y < page.height


HOSTILE = """<!doctype html><html lang="en"><head><title></title><script>alert(1)</script>x</title></head>
<body><section><h2>&lt;script&gt;alert(1)&lt;/script&gt; [bold]</h2>
<img src="x\x1b[2J.png" onerror="document.body.remove()">
<script>window.getComputedStyle = () => ({}); Element.prototype.getBoundingClientRect = () => ({x:0});
setTimeout(() => { location.href = 'http://example.org/' }, 0)</script></section>
<section><h2>Second</h2><p>\u202eright to left\u202c and words</p></section></body></html>"""


def test_hostile_deck_is_scored_as_any_other(tmp_path: Path, browser: BrowserSession) -> None:
    path = tmp_path / "deck.html"
    path.write_text(HOSTILE)
    reward = examine_deck(path, session=browser).reward
    assert reward.valid and reward.value is not None and reward.value < 0.9
    assert json.loads(reward.model_dump_json())["value"] == reward.value


def test_page_that_never_ends_scores_zero_with_its_finding(tmp_path: Path, browser: BrowserSession) -> None:
    path = tmp_path / "deck.html"
    path.write_text("<!doctype html><section><h1>Hi</h1></section><script>while (true) {}</script>")
    reward = examine_deck(path, session=browser).reward
    assert reward.valid and reward.value == 0.0
    assert "page-hang" in {each.rule for page in reward.pages for each in page.findings}


def test_fault_of_the_browser_is_no_low_score() -> None:
    with BrowserSession("patchdeck/browser:no-such-image", "test-score-decks") as session:
        deck = examine_deck(DECKS / "bread", session=session)
    assert not deck.reward.valid and deck.reward.value is None and deck.capture is None
    assert deck.reward.failure == "infrastructure" and "no-such-image" in deck.reward.failure_reason


@pytest.fixture
def patchdeck() -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "patchdeck.cli", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return call


def test_command_prints_the_reward_and_nothing_else(
    patchdeck: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = patchdeck("score", str(DECKS / "bread"), "--json", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    reward = json.loads(done.stdout)
    assert reward == json.loads((tmp_path / "out" / "reward.json").read_text())
    assert len(list((tmp_path / "out" / "shots").glob("page-*.png"))) == len(reward["pages"]) == 4


def test_command_shows_a_table_with_cures(patchdeck: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = patchdeck("score", str(DECKS / "gallery"))
    assert done.returncode == 0
    assert "image-alt" in done.stdout and "mend" in done.stdout and "static" in done.stdout


@pytest.mark.parametrize("content", [None, "", "no markup here", "\0\0binary"])
def test_bad_input_is_one_sentence(
    patchdeck: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "deck.html"
    if content is not None:
        path.write_text(content)
    done = patchdeck("score", str(path), "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.strip().splitlines()) == 1 and done.stderr.startswith("error: ")
    with pytest.raises(NotADeck):
        examine_deck(path)


def test_without_the_visual_extra_two_layers_still_score() -> None:
    """Absence is made by hiding the packages from the interpreter, as `pip install patchdeck` alone would."""
    code = (
        "import sys\n"
        "for name in ('numpy', 'PIL', 'scipy', 'torch', 'open_clip', 'coloraide'): sys.modules[name] = None\n"
        "from rewards.slides.score import score_deck\n"
        f"print(score_deck({str(DECKS / 'bread')!r}).model_dump_json())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    reward = json.loads(done.stdout)
    layers = {each["name"]: each for each in reward["components"]}
    assert layers["visual"]["score"] is None and "patchdeck[visual]" in layers["visual"]["evidence"]
    assert layers["static"]["score"] == 1.0 and layers["runtime"]["score"] > 0.9 and reward["value"] > 0.9
