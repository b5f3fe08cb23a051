"""The pipeline agent: locate, patch, rank, test, explain; for models too small for a conversation."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.agents.agent import Attempt, Outcome
from harness.agents.pipeline import rank
from harness.agents.pipeline.candidates import Scored, template_pool
from harness.agents.pipeline.explain import difference, explain
from harness.agents.pipeline.locate import MAX_FUNCTIONS, Location, locate
from harness.agents.pipeline.probing import Prober
from harness.agents.pipeline.prompts import preamble
from harness.agents.pipeline.samples import sample
from harness.agents.pipeline.trials import Tried, best_partial, try_in_order
from harness.agents.pipeline.weigher import Weigher
from harness.episode import Step
from rewards.submission import Submission

NOISE = 0.5
SAMPLES = 4
SHARPNESS = 0.25
"""how much suspicion makes a function e times as likely as another"""
NAMING = 0.08
"""weight of the model's opinion about which function is at fault, per standard deviation"""


class Pipeline:
    """Program repair by templates and samples, ranked by log-probability, checked by tests."""

    name = "pipeline"
    needs_model = True

    def __init__(self, samples: int = SAMPLES) -> None:
        self.samples = samples

    def attempt(self, attempt: Attempt) -> Outcome:
        return _Repair(attempt, self.samples).run()


class _Repair:
    def __init__(self, attempt: Attempt, samples: int) -> None:
        self.given = attempt
        self.recorder = attempt.recorder
        self.samples = samples
        self.started = time.monotonic()
        self.until = self.started + attempt.budget.seconds
        self.prober = Prober(attempt.sandbox, attempt.task)
        self.weigher = Weigher(
            attempt.endpoint, attempt.budget, attempt.recorder, self.started + 0.6 * attempt.budget.seconds
        )
        self.calls_before = 0

    def run(self) -> Outcome:
        with self.stage("locate"):
            location = locate(self.prober, self.given.failing_tests)
            self.believe(location)
            shown = "hidden" if self.given.failing_tests is None else "shown"
            self.step("locate", f"failing tests {shown}", told_location(location))
        self.fact("suspects", len(location.suspects))
        if not location.suspects:
            return self.nothing(
                "no function could be located: no test ran source code and the issue names none"
            )
        with self.stage("patch"):
            pool = self.pool(location)
        self.fact("candidates", len(pool))
        if not pool:
            return self.nothing("no candidate edit parses")
        with self.stage("rank"):
            ranked = self.ranked(pool, location)
        with self.stage("test"):
            tried = try_in_order(
                self.prober,
                location,
                ranked,
                limit=self.given.budget.tests,
                until=self.until,
                watch=self.watch,
            )
        self.fact("tried", len(tried))
        repaired = next((t for t in tried if t.repaired), None)
        if repaired:
            self.fact("rank_of_first_passing", repaired.rank)
        return self.submit(repaired or best_partial(tried), location, tried)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        self.stage_started = started
        yield
        self.fact(f"seconds_{name}", round(time.monotonic() - started, 3))

    def fact(self, name: str, value: float) -> None:
        self.recorder.facts[name] = float(value)

    def step(self, name: str, argument: str, observation: str, seconds: float | None = None) -> None:
        calls = tuple(c.id for c in self.recorder.calls[self.calls_before :])
        self.calls_before = len(self.recorder.calls)
        took = time.monotonic() - self.stage_started if seconds is None else seconds
        self.recorder.steps.append(
            Step(
                index=len(self.recorder.steps),
                name=name,
                argument=argument,
                observation=observation,
                seconds=round(took, 3),
                calls=calls,
            )
        )

    def believe(self, location: Location) -> None:
        """Suspicion, moved a little by the model's opinion, as chances that sum to one."""
        suspects = location.suspects
        opening = f"{preamble(location, self.given.task.instruction)}\n# The bug is in the function "
        if len(suspects) > 1 and not self.given.shuffle_ranking:
            names = [s.function.name.rsplit(".", 1)[-1] for s in suspects]
            totals = self.weigher.totals([opening + name + "\n" for name in names])
            if totals:
                shared = min(t.tokens for t in totals)
                # A longer name costs more tokens for no fault of its own: the mean over what is not shared.
                base = max(t.log_prob for t in totals)
                opinions = [(t.log_prob - base) / (1 + t.tokens - shared) for t in totals]
                mean = sum(opinions) / len(opinions)
                spread = math.sqrt(sum((o - mean) ** 2 for o in opinions) / len(opinions)) or 1.0
                for suspect, opinion in zip(suspects, opinions, strict=True):
                    z = max(-2.0, min(2.0, (opinion - mean) / spread))
                    suspect.score += NAMING * z
                    suspect.reasons.append(f"model {z:+.1f}σ")
        suspects.sort(key=lambda s: (-s.score, s.function.path, s.function.first))
        del suspects[MAX_FUNCTIONS:]
        top = suspects[0].score if suspects else 0.0
        weights = [math.exp((s.score - top) / SHARPNESS) for s in suspects]
        for suspect, weight in zip(suspects, weights, strict=True):
            suspect.chance = weight / sum(weights)

    def pool(self, location: Location) -> list[Scored]:
        pool = template_pool(location)
        written: list[Scored] = []
        endpoint = self.given.endpoint
        if endpoint is not None and self.samples:
            written, calls = sample(
                location, self.given.task.instruction, endpoint, seed=self.given.seed, samples=self.samples
            )
            self.recorder.calls += calls
        known = {(s.candidate.path, s.candidate.edits) for s in pool}
        written = [w for w in written if (w.candidate.path, w.candidate.edits) not in known]
        self.fact("candidates_sampled", len(written))
        families: dict[str, int] = {}
        for scored in [*pool, *written]:
            families[scored.candidate.family] = families.get(scored.candidate.family, 0) + 1
        told = ", ".join(f"{name} {count}" for name, count in sorted(families.items(), key=lambda x: -x[1]))
        lines = "\n".join(f"sampled, line {w.candidate.line}: {w.candidate.note}" for w in written[:12])
        self.step("patch", f"{len(pool)} from templates, {len(written)} sampled", f"{told}\n{lines}".strip())
        return [*pool, *written]

    def ranked(self, pool: list[Scored], location: Location) -> list[Scored]:
        shuffled = self.given.shuffle_ranking
        if not shuffled:
            pool = rank.weigh_by_model(
                pool, location, self.given.task.instruction, self.weigher, self.given.budget.tests
            )
        weighed = any(s.gain is not None for s in pool)
        noise = NOISE if self.given.seed else 0.0
        ranked = rank.order(pool, seed=self.given.seed, noise=noise, shuffled=shuffled, weighed=weighed)
        self.fact("score_tokens", self.weigher.tokens)
        how = (
            "in a seeded random order (control)"
            if shuffled
            else "by the model"
            if weighed
            else "without the model"
        )
        reason = f"; {self.weigher.reason}" if self.weigher.reason and not shuffled else ""
        self.step("rank", f"{len(ranked)} candidates {how}{reason}", told_ranking(ranked))
        return ranked

    def watch(self, tried: Tried) -> None:
        candidate = tried.scored.candidate
        self.step(
            "test",
            f"{tried.rank}. {candidate.path}:{candidate.line} {candidate.function} "
            f"[{candidate.family}] {candidate.note}",
            tried.told,
            tried.seconds,
        )

    def submit(self, best: Tried | None, location: Location, tried: list[Tried]) -> Outcome:
        read = tuple(sorted({s.function.path for s in location.suspects}))
        task = self.given.task
        if best is None:
            text = (
                f"None of the {len(tried)} candidates tried made a failing test pass without breaking others."
            )
            self.step("explain", "", text, 0.0)
            return Outcome(Submission(task_id=task.id, explanation=text, files_read=read), "budget", text)
        with self.stage("explain"):
            path = best.scored.candidate.path
            self.given.sandbox.write(f"{task.environment.workdir}/{path}", best.content)
            patch = difference(location.modules[path], best)
            text = explain(best, location)
            self.step("explain", "", f"{text}\n\n{patch}")
        return Outcome(
            Submission(task_id=task.id, patch=patch, explanation=text, files_read=read),
            "submitted",
            "" if best.repaired else "not every failing test passes",
        )

    def nothing(self, reason: str) -> Outcome:
        self.step("explain", "", reason, 0.0)
        return Outcome(Submission(task_id=self.given.task.id, explanation=reason), "empty", reason)


def told_location(location: Location) -> str:
    rows = [
        f"{s.chance:5.1%}  {s.function.path}:{s.function.first} {s.function.name} — {', '.join(s.reasons)}"
        for s in location.suspects
    ]
    failed = location.failures.splitlines()[:4]
    return "\n".join([f"{len(location.baseline)} tests run, {len(location.failing)} to mend", *failed, *rows])


def told_ranking(ranked: list[Scored], limit: int = 25) -> str:
    rows = []
    for place, scored in enumerate(ranked[:limit], start=1):
        candidate = scored.candidate
        gain = "   —  " if scored.gain is None else f"{scored.gain:+6.2f}"
        rows.append(
            f"{place:3d}. score {rank.score(scored):6.2f}  log-prob {gain}  "
            f"{candidate.path}:{candidate.line} [{candidate.family}] {candidate.note}"
        )
    return "\n".join(rows)
