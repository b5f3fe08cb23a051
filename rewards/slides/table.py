"""A deck's Reward as a table for people."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rewards.reward import Finding, Page, Reward
from rewards.slides.mend import how_to_mend
from rewards.slides.weights import LAYERS, layer_score

WIDTH = 10
"""Characters of a full bar."""


def bar(score: float | None) -> Text:
    """A score in [0, 1] as a bar and a number; a dash where there is none."""
    if score is None:
        return Text("—", style="dim")
    colour = "green" if score >= 0.8 else "yellow" if score >= 0.5 else "red"
    filled = round(score * WIDTH)
    return (
        Text("█" * filled, style=colour) + Text("░" * (WIDTH - filled), style="dim") + Text(f" {score:.2f}")
    )


def print_reward(reward: Reward, name: str, console: Console) -> None:
    """Per page value and layers, then what was found and how to mend it. Text of the deck prints as text."""
    if not reward.valid:
        return
    value = f"{reward.value:.3f}" if reward.value is not None else "none"
    console.print(
        f"[bold]{escape(_plain(name))}[/bold]  score [bold]{value}[/bold]  {len(reward.pages)} pages"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("page", "value", *LAYERS):
        table.add_column(heading, justify="right" if heading == "page" else "left", no_wrap=True)
    for page in reward.pages:
        table.add_row(
            str(page.index), bar(page.value), *(bar(layer_score(page.components, each)) for each in LAYERS)
        )
    console.print(table)
    for component in reward.components:
        if component.score is None:
            console.print(f"{component.name}: {escape(_plain(component.evidence))}", style="dim")
    for note in _unavailable(reward.pages):
        console.print(escape(note), style="dim")
    findings = [*reward.findings, *(finding for page in reward.pages for finding in page.findings)]
    for finding in findings:
        _print_finding(finding, console)
    if not findings:
        console.print("Nothing found.")


def _unavailable(pages: tuple[Page, ...]) -> list[str]:
    said = {
        f"{each.name}: {each.evidence}"
        for page in pages
        for each in page.components
        if each.score is None and each.evidence.startswith("not available")
    }
    return sorted(said)


def _print_finding(finding: Finding, console: Console) -> None:
    where = f"page {finding.page}" if finding.page is not None else "deck"
    sign = "[red]✗[/red]" if finding.outcome == "fail" else "[yellow]?[/yellow]"
    rule, message = escape(finding.rule), escape(_plain(finding.message))
    console.print(f"{sign} {where}  [bold]{rule}[/bold] ({finding.layer})  {message}", highlight=False)
    if finding.element:
        console.print(f"    at    {escape(_plain(finding.element))}", style="cyan", highlight=False)
    cure = how_to_mend(finding.rule)
    if cure:
        console.print(f"    mend  {escape(cure)}", highlight=False)


def _plain(text: str) -> str:
    """Without the control characters by which a deck's text could drive a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
