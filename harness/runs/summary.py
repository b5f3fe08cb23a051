"""What a run came to: a SWE-bench-shaped summary, and pass@k."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from harness.runs.store import AttemptKey
from rewards.reward import Reward


def summary(task_ids: Iterable[str], rewards: Mapping[AttemptKey, Reward], empty: set[str]) -> dict[str, Any]:
    """The run in the shape of SWE-bench's summary, schema_version 2.

    A task is resolved where one of its valid attempts is. empty holds the tasks whose every attempt
    submitted no patch. A submitted task is resolved, unresolved, empty, an error of the agent's own code,
    or an infrastructure failure.
    """
    total = sorted(set(task_ids))
    by_task: dict[str, list[Reward]] = {}
    for (task_id, _), reward in rewards.items():
        by_task.setdefault(task_id, []).append(reward)
    submitted = [t for t in total if t in by_task]
    failed = [t for t in submitted if not any(r.valid for r in by_task[t])]
    error = [t for t in failed if all(r.failure == "agent" for r in by_task[t])]
    completed = [t for t in submitted if t not in failed and t not in empty]
    resolved = [t for t in completed if any(r.resolved for r in by_task[t])]
    lists = {
        "submitted": submitted,
        "completed": completed,
        "resolved": resolved,
        "unresolved": [t for t in completed if t not in resolved],
        "empty_patch": [t for t in submitted if t in empty and t not in failed],
        "error": error,
        "infra_failure": [t for t in failed if t not in error],
    }
    counts = {f"{name}_instances": len(ids) for name, ids in lists.items()}
    return {
        "schema_version": 2,
        "total_instances": len(total),
        **counts,
        "total_ids": total,
        **{f"{name}_ids": ids for name, ids in lists.items()},
    }


def pass_at_k(attempts: int, resolved: int, k: int) -> float:
    """Chance that one of k attempts drawn from those made resolves (Chen et al. 2021, eq. 1; unbiased)."""
    if not 0 <= resolved <= attempts or not 1 <= k <= attempts:
        raise ValueError("pass@k wants 0 <= resolved <= attempts and 1 <= k <= attempts")
    return 1.0 - math.comb(attempts - resolved, k) / math.comb(attempts, k)


def pass_at(rewards: Mapping[AttemptKey, Reward], k: int) -> float | None:
    """Mean pass@k over the tasks with at least k valid attempts; None where there is none."""
    by_task: dict[str, list[bool]] = {}
    for (task_id, _), reward in rewards.items():
        if reward.valid:
            by_task.setdefault(task_id, []).append(bool(reward.resolved))
    enough = [results for results in by_task.values() if len(results) >= k]
    if not enough:
        return None
    return sum(pass_at_k(len(results), sum(results), k) for results in enough) / len(enough)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927); (0, 1) where there was no trial."""
    if not trials:
        return 0.0, 1.0
    z, share = 1.959964, successes / trials
    centre = share + z * z / (2 * trials)
    reach = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)
