"""General edit templates: each family proposes edits of one function; none knows any particular defect.

A family's prior is the natural logarithm of how often a small fix is of its kind, by rough shares of the
kinds in studies of bug fixes (changed conditions and added guards first, then calls and their arguments,
then names, values, returns, whole statements). Only the order of magnitude matters: the model decides
inside a family.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.agents.pipeline.templates import (
    arguments,
    arithmetic,
    booleans,
    bounds,
    comparisons,
    constants,
    defaults,
    exceptions,
    guards,
    names,
    returns,
    statements,
    types,
    wrappers,
)
from harness.agents.pipeline.templates.scope import Proposal, Scope

Template = Callable[[Scope], Iterator[Proposal]]


@dataclass(frozen=True)
class Family:
    name: str
    templates: tuple[Template, ...]
    share: float
    """part of small fixes that are of this kind; all shares sum to about one"""

    @property
    def prior(self) -> float:
        return math.log(self.share)


FAMILIES: tuple[Family, ...] = (
    Family("comparison", (comparisons.comparisons,), 0.10),
    Family("truth", (comparisons.truth,), 0.05),
    Family("arithmetic", (arithmetic.operators,), 0.06),
    Family("off_by_one", (arithmetic.off_by_one,), 0.07),
    Family("bounds", (bounds.slices, bounds.ranges), 0.06),
    Family("boolean", (booleans.connectives,), 0.05),
    Family("condition", (booleans.conditions,), 0.07),
    Family("guard", (guards.early_exits,), 0.10),
    Family("around", (guards.around,), 0.03),
    Family("normalise", (guards.normalised_arguments,), 0.04),
    Family("argument", (arguments.calls,), 0.06),
    Family("name", (names.variables,), 0.06),
    Family("attribute", (names.attributes,), 0.05),
    Family("function", (names.functions,), 0.03),
    Family("constant", (constants.constants,), 0.06),
    Family("return", (returns.returns, returns.missing_returns), 0.05),
    Family("wrapper", (wrappers.wraps,), 0.05),
    Family("unwrapper", (wrappers.unwraps,), 0.03),
    Family("exception", (exceptions.handlers, exceptions.raises), 0.03),
    Family("catch", (exceptions.caught_statements,), 0.02),
    Family("drop", (statements.drops,), 0.03),
    Family("move", (statements.moves,), 0.03),
    Family("branch", (statements.branches,), 0.02),
    Family("addition", (statements.additions,), 0.02),
    Family("default", (defaults.missing_values, defaults.keys), 0.04),
    Family("parameter", (defaults.parameters,), 0.03),
    Family("type", (types.type_tests,), 0.03),
)

PRIORS: dict[str, float] = {family.name: family.prior for family in FAMILIES} | {"sampled": math.log(0.10)}
