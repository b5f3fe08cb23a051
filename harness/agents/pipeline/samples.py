"""Candidates that the model writes: a suspicious line anew, or a line put in before it."""

from harness.agents.pipeline.candidates import Scored, fingerprint, line_belief
from harness.agents.pipeline.locate import Location, Suspect
from harness.agents.pipeline.prompts import head, preamble
from harness.agents.pipeline.source import Candidate, Edit, Module
from harness.agents.pipeline.templates import PRIORS
from harness.endpoint.endpoint import Endpoint
from harness.episode import ModelCall, Sampling

TEMPERATURE = 0.8
LINE_TOKENS = 40
FUNCTIONS = 3
LINES = 2


def places(location: Location) -> list[tuple[Suspect, int]]:
    """The lines most worth writing anew: the best LINES of each of the best FUNCTIONS suspects."""
    found: list[tuple[Suspect, int]] = []
    for suspect in location.suspects[:FUNCTIONS]:
        module = location.modules[suspect.function.path]
        everywhere = dict.fromkeys(range(suspect.function.first, suspect.function.last + 1), 0.0)
        known = (suspect.lines or everywhere).items()
        body = {n: s for n, s in known if module.line_text(n).strip() and n > suspect.function.first}
        found += [(suspect, n) for n in sorted(body, key=lambda n: (-body[n], n))[:LINES]]
    return found


def sample(
    location: Location, instruction: str, endpoint: Endpoint, *, seed: int, samples: int
) -> tuple[list[Scored], list[ModelCall]]:
    """Sampled candidates that parse and are new to each other, and the calls that made them."""
    opening = preamble(location, instruction)
    pool: list[Scored] = []
    calls: list[ModelCall] = []
    seen: set[str] = set()
    for rank, (suspect, line) in enumerate(places(location)):
        module = location.modules[suspect.function.path]
        old = module.line_text(line)
        indent = old[: len(old) - len(old.lstrip())]
        sampling = Sampling(
            temperature=TEMPERATURE, top_p=1.0, max_tokens=LINE_TOKENS, seed=seed * 1009 + rank, stop=("\n",)
        )
        made = endpoint.complete(
            opening + head(suspect, module, line) + indent[:-1], sampling=sampling, n=samples
        )
        calls += made
        original = fingerprint(module, suspect.function, ())
        for call in made:
            for candidate in readings(suspect, module, line, call):
                mark = fingerprint(module, suspect.function, candidate.edits)
                if mark is not None and mark != original and mark not in seen:
                    seen.add(mark)
                    pool.append(Scored(candidate, line_belief(suspect, line), PRIORS["sampled"] - 1.0))
    return pool, calls


def readings(suspect: Suspect, module: Module, line: int, call: ModelCall) -> list[Candidate]:
    """A sampled line read as the old line's successor, and as a line to go before it."""
    text = call.output.split("\n")[0].strip()
    if not text or text.startswith("#"):
        return []
    old = module.line_text(line)
    written = old[: len(old) - len(old.lstrip())] + text + "\n"
    start, end = module.starts[line - 1], module.starts[line]
    return [
        Candidate(module.path, (edit,), "sampled", f"{how} {text[:60]}", line, suspect.function.name, call.id)
        for how, edit in (("write", Edit(start, end, written)), ("insert", Edit(start, start, written)))
    ]
