"""Patch: the pool of candidate edits, from the templates and from the model's samples, each parsed once."""

import ast
import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise

from harness.agents.pipeline.locate import Location, Suspect
from harness.agents.pipeline.source import Candidate, Edit, Function, Module, apply_edits, parse_quietly
from harness.agents.pipeline.templates import FAMILIES, PRIORS
from harness.agents.pipeline.templates.scope import Proposal, Scope

PER_FAMILY = 40
"""candidates of one family in one function that go on to ranking, the commonest variants first"""


@dataclass(frozen=True)
class Scored:
    """A candidate with what is known before the model is asked: all in nats."""

    candidate: Candidate
    suspicion: float
    """log chance of its function + log suspicion of its line in it"""
    prior: float
    """log share of its family - cost of its variant"""
    gain: float | None = None
    """log-probability that the model gives the text after the edit, less before; None until asked"""

    @property
    def cheap(self) -> float:
        return self.suspicion + self.prior


def function_text(module: Module, function: Function) -> tuple[int, int]:
    """Offsets of the function's whole lines, decorators included."""
    if isinstance(function.node, ast.Module):
        return 0, len(module.raw)
    return module.statement_span(function.node)


def fingerprint(module: Module, function: Function, edits: tuple[Edit, ...]) -> str | None:
    """The edited function's tree as text; None where it does not parse or the edits leave the function."""
    start, end = function_text(module, function)
    if any(e.start < start or e.end > end for e in edits):
        return None
    try:
        raw = apply_edits(
            module.raw[start:end], tuple(Edit(e.start - start, e.end - start, e.text) for e in edits)
        )
    except ValueError:
        return None
    text = raw.decode()
    try:
        if text[:1] in " \t":
            text = "if 1:\n" + text if "\t" in text[:1] else textwrap.dedent(text)
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def combined(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The same change at every place of a function that has two or three of them."""
    groups: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        if proposal.key and len(proposal.edits) == 1:
            groups.setdefault(proposal.key, []).append(proposal)
    found: list[Proposal] = []
    for key, group in groups.items():
        if not 2 <= len(group) <= 4:
            continue
        pairs = [tuple(group)] if len(group) == 2 else [*combinations(group, 2), tuple(group)]
        for pair in pairs:
            edits = tuple(sorted(e for p in pair for e in p.edits))
            if any(b.start < a.end for a, b in pairwise(edits)):
                continue
            note = f"{group[0].note} at {len(pair)} places"
            cost = max(p.cost for p in pair) + 1.2
            found.append(Proposal(edits, note, min(p.line for p in pair), f"{key}*", cost))
    return found


def template_pool(location: Location) -> list[Scored]:
    """Every proposal of every family over the suspects, one for each distinct tree."""
    pool: list[Scored] = []
    for suspect in location.suspects:
        module = location.modules[suspect.function.path]
        original = fingerprint(module, suspect.function, ())
        seen = {original}
        lines = frozenset(suspect.lines) or None
        scope = Scope(module, suspect.function, lines)
        for family in FAMILIES:
            proposals = [p for template in family.templates for p in template(scope)]
            proposals += combined(proposals)
            weighed = [
                (evidence, p)
                for p in proposals
                if (evidence := weigh(suspect, location, family.name, p)) is not None
            ]
            weighed.sort(key=lambda pair: (-pair[0], pair[1].line, pair[1].note))
            kept = 0
            for evidence, proposal in weighed:
                if kept >= PER_FAMILY:
                    break
                mark = fingerprint(module, suspect.function, proposal.edits)
                if mark is None or mark in seen:
                    continue
                seen.add(mark)
                kept += 1
                candidate = Candidate(
                    module.path,
                    proposal.edits,
                    family.name,
                    proposal.note,
                    proposal.line,
                    suspect.function.name,
                )
                pool.append(
                    Scored(candidate, line_belief(suspect, proposal.line), PRIORS[family.name] + evidence)
                )
    return pool


def line_belief(suspect: Suspect, line: int) -> float:
    """log chance of the function + log of the line's suspicion relative to the function's highest."""
    highest = max(suspect.lines.values(), default=0.0)
    near = [suspect.lines[n] for n in (line, line - 1, line + 1) if n in suspect.lines]
    own = suspect.lines.get(line, max(near, default=0.0) * 0.7)
    relative = max(own / highest, 0.1) if highest else 1.0
    return math.log(max(suspect.chance, 1e-3)) + math.log(relative)


def weigh(suspect: Suspect, location: Location, family: str, proposal: Proposal) -> float | None:
    """Evidence for a variant in nats, from what the tests were seen to do; None where it can't matter.

    A guard on a parameter's value at a function's start that no failing test ever passes would change nothing
    for them. One that failing tests pass and passing tests do not is likelier; so is a value or an exception
    that the failing tests speak of.
    """
    evidence = -proposal.cost
    text = "".join(e.text for e in proposal.edits)
    if family in ("guard", "normalise") and text.lstrip().startswith("if "):
        held = guard_evidence(suspect, text)
        if held is None:
            return None
        evidence += held
    if family in ("guard", "return", "exception", "catch", "constant", "default", "normalise"):
        said = text.strip().rsplit("return ", 1)[-1].strip() if "return " in text else text.strip()
        if "raise " in text:
            said = text.rsplit("raise ", 1)[-1].split("(")[0].strip()
        if said in location.expected or said.replace('"', "'") in location.expected:
            evidence += 0.7
    return evidence


def guard_evidence(suspect: Suspect, text: str) -> float | None:
    """For `if <test on one parameter>`: None where no failing call meets it, for it where only those do."""
    if not suspect.failing_kinds:
        return 0.0
    condition = text.lstrip()[3:].split(":", 1)[0].strip()
    for name, failing in suspect.failing_kinds.items():
        kinds = meeting_kinds(condition, name)
        if kinds is None:
            continue
        if not kinds & failing:
            return None
        return 1.0 if not kinds & suspect.passing_kinds.get(name, set()) else -1.0
    return 0.0


def meeting_kinds(condition: str, name: str) -> set[str] | None:
    """Kinds of value for which a simple test on a parameter holds; None where the test is of another form."""
    return {
        f"not {name}": {"none", "empty", "zero", "false"},
        f"{name} is None": {"none"},
        f"{name} < 0": {"negative"},
        f"{name} <= 0": {"negative", "zero"},
        f"{name} == 0": {"zero"},
        f"{name} < 1": {"negative", "zero"},
        f"len({name}) == 0": {"empty"},
        f"len({name}) < 2": {"empty", "single"},
        f"isinstance({name}, str)": {"type:str"},
        f"isinstance({name}, bytes)": {"type:bytes"},
    }.get(condition)


def whole_file(module: Module, candidate: Candidate) -> bytes | None:
    """The file with the candidate's edits; None where it would not compile."""
    raw = apply_edits(module.raw, candidate.edits)
    return raw if parse_quietly(raw) is not None else None
