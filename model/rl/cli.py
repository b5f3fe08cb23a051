"""patchdeck train: updates of the bundled model from a run's experience."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from model.rl.update import Update


class Precision(enum.StrEnum):
    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"


def train_command(
    run: Annotated[str, typer.Option("--from", help="The run whose experience to learn from.")],
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = Path("runs"),
    weights: Annotated[
        Path | None, typer.Option(help="Start from this checkpoint or GGUF file; else the bundled weights.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the new checkpoint; else <runs>/<run>/checkpoint.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Updates of the weights.")] = 4,
    lr: Annotated[float, typer.Option(min=0.0, help="Learning rate of AdamW.")] = 5e-6,
    server: Annotated[
        str | None, typer.Option(help="URL of the running model server that takes the new weights.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with that server's token, where it wants one.")
    ] = None,
    step_tokens: Annotated[int, typer.Option(min=64, help="Tokens in one update, about.")] = 2048,
    micro_tokens: Annotated[
        int, typer.Option(min=64, help="Tokens in one pass; fewer need less memory.")
    ] = 1536,
    precision: Annotated[
        Precision, typer.Option(help="Of matrix products; auto is bfloat16 where the processor has it.")
    ] = Precision.auto,
    keep_truncated: Annotated[
        bool, typer.Option("--keep-truncated", help="Learn from completions that ended for length too.")
    ] = False,
    ack: Annotated[
        bool, typer.Option("--ack", help="Mark the experience as used, so that no later training reads it.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the order in which experience is visited.")] = 0,
) -> None:
    """Update the bundled model from a run's experience (GRPO) and serve the new weights.

    Reads token ids as they were sampled, never text. Writes a float32 checkpoint with a new weight
    version and appends to training.jsonl beside it.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from model.rl.delivery import deliver
    from model.rl.trainer import TrainerSettings
    from model.rl.training_log import LOG_FILE, TrainingLog
    from model.rl.update import read_groups, update_weights, why_nothing

    console = Console(stderr=True)
    groups = read_groups(runs / run / "experience")
    out = out or runs / run / "checkpoint"
    log = TrainingLog(out.parent / LOG_FILE)
    settings = TrainerSettings(
        steps=steps,
        learning_rate=lr,
        step_tokens=step_tokens,
        micro_tokens=micro_tokens,
        bfloat16=_has_bfloat16() if precision is Precision.auto else precision is Precision.bfloat16,
        seed=seed,
    )
    columns = (TextColumn("train: {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=1.0)
        update = update_weights(
            groups,
            weights=weights or _bundled(),
            out=out,
            log=log,
            settings=settings,
            keep_truncated=keep_truncated,
            progress=lambda what, share: bar.update(task, description=what, completed=share),
        )
    if ack:
        from rewards.feedback.stream import Stream

        Stream(runs / run / "experience").ack(m.rollout.id for g in update.groups for m in g.members)
    if update.weight_version is None:
        typer.echo(f"{why_nothing(update.tally)}; the log is {log.path}")
        return
    for line in _told(update, steps):
        typer.echo(line)
    typer.echo(f"weights {update.weight_version} in {out}, log in {log.path}")
    if server is not None:
        token = token_file.read_text(encoding="utf-8").strip() if token_file else None
        typer.echo(f"{server} serves {deliver(server, out, token=token)}")


def _told(update: "Update", steps: int) -> list[str]:
    tally, report = update.tally, update.report
    assert report is not None
    lines = [
        f"mean reward {tally.mean_reward:.3f}; {tally.groups_used} groups used, {tally.groups_equal} with "
        f"equal rewards, {tally.groups_single} with one member, {tally.groups_too_few_valid} with too few "
        "valid rewards"
    ]
    left_out = tally.completions_truncated + tally.completions_mixed_versions + tally.completions_too_long
    lines.append(
        f"{tally.completions_used} completions used, {left_out + tally.completions_without_ids} left out "
        f"({tally.completions_truncated} ended for length)"
    )
    if report.portions > steps:
        lines.append(
            f"the experience makes {report.portions} portions, {steps} were used: raise --steps for more"
        )
    if update.foreign_versions:
        lines.append(
            f"training started from {update.started_from}, but {', '.join(update.foreign_versions)} sampled "
            "this: tokens on which they disagree by more than a factor of two were left out"
        )
    for name, before, after in (
        ("positive", report.positive_before, report.positive_after),
        ("negative", report.negative_before, report.negative_after),
    ):
        if before is not None and after is not None:
            lines.append(f"mean log-probability of tokens with {name} advantage: {before:.4f} -> {after:.4f}")
    return lines


def _bundled() -> Path:
    from model.weights import ensure_weights

    return Path(ensure_weights())


def _has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16; without, emulating it is slower than float32."""
    import torch

    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(
        capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("sve_bf16")
    )
