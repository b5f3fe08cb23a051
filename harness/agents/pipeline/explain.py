"""Explain: what was changed, where, and what the tests say, from the facts of the attempt alone."""

import difflib

from harness.agents.pipeline.locate import Location
from harness.agents.pipeline.source import Module, apply_edits
from harness.agents.pipeline.trials import Tried

KIND: dict[str, str] = {
    "comparison": "a comparison is another one",
    "truth": "being false is told apart from being None",
    "arithmetic": "a calculation is corrected",
    "off_by_one": "a bound moves by one",
    "bounds": "the range of a slice or loop is corrected",
    "boolean": "the parts of a condition are joined differently",
    "condition": "a condition is widened, narrowed or turned round",
    "guard": "a case is caught before the code that can't deal with it",
    "around": "a statement runs only where it can",
    "normalise": "an argument is brought into shape first",
    "argument": "a call gets other arguments",
    "name": "another variable is used",
    "attribute": "another attribute or method is used",
    "function": "another function is called",
    "constant": "a constant is another one",
    "return": "another value is returned",
    "wrapper": "a value is converted before it is used",
    "unwrapper": "a conversion is dropped",
    "exception": "other exceptions are caught or raised",
    "catch": "an exception is dealt with",
    "drop": "a statement is gone",
    "move": "a statement runs at another place",
    "branch": "a branch is added or joined differently",
    "addition": "a statement is added",
    "default": "a missing value has a stand-in",
    "parameter": "a parameter's default is corrected",
    "type": "a type test is widened or narrowed",
    "sampled": "a line is written anew",
}


def explain(tried: Tried, location: Location) -> str:
    """Two or three sentences: place and change, why the place was suspected, what the tests say now."""
    candidate = tried.scored.candidate
    suspect = next(
        (
            s
            for s in location.suspects
            if s.function.path == candidate.path and s.function.name == candidate.function
        ),
        None,
    )
    why = f" The place was suspected for {', '.join(suspect.reasons)}." if suspect and suspect.reasons else ""
    before = location.failures.splitlines()[0] if location.failures else ""
    failed = f" Before, it failed: {before}." if before else ""
    return (
        f"In {candidate.function} ({candidate.path}, line {candidate.line}) "
        f"{KIND[candidate.family]}: {candidate.note}."
        f"{why}{failed} Now {tried.told}."
    )


def difference(module: Module, tried: Tried) -> str:
    """The change as a unified diff that `git apply` takes."""
    old = module.raw.decode().splitlines(keepends=True)
    new = apply_edits(module.raw, tried.scored.candidate.edits).decode().splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, f"a/{module.path}", f"b/{module.path}")
    return "".join(x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
