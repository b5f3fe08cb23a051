"""Component weights, read from weights.toml, and how page components become a page's value."""

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rewards.reward import Component

LAYERS = ("static", "runtime", "visual")


@dataclass(frozen=True)
class Gate:
    """Where the component `when` scores under `below`, every component of the layers in `zero` scores 0."""

    when: str
    below: float
    zero: tuple[str, ...]


@dataclass(frozen=True)
class Weights:
    """layers, and components by full name (layer.component), as they stand in the file."""

    layers: dict[str, float]
    components: dict[str, float]
    deck: dict[str, float]
    gates: tuple[Gate, ...]
    digest: str


@cache
def load_weights() -> Weights:
    """The weights that ship with patchdeck."""
    text = files("rewards.slides").joinpath("weights.toml").read_bytes()
    table = tomllib.loads(text.decode())
    return Weights(
        layers={layer: float(table["layers"][layer]) for layer in LAYERS},
        components={
            f"{layer}.{name}": float(weight) for layer in LAYERS for name, weight in table[layer].items()
        },
        deck={name: float(weight) for name, weight in table["deck"].items()},
        gates=tuple(Gate(each["when"], each["below"], tuple(each["zero"])) for each in table["gate"]),
        digest=hashlib.sha256(text).hexdigest(),
    )


def layer_of(name: str) -> str:
    """The layer that a component's full name begins with."""
    return name.partition(".")[0]


def gated(components: tuple[Component, ...], weights: Weights) -> tuple[Component, ...]:
    """The components with every gate applied; what a gate zeroes says so in its evidence."""
    scores = {each.name: each.score for each in components}
    for gate in weights.gates:
        score = scores.get(gate.when)
        if score is None or score >= gate.below:
            continue
        said = f"nothing, since {gate.when} is {score:.2f}"
        components = tuple(
            each.model_copy(update={"score": 0.0, "evidence": said})
            if layer_of(each.name) in gate.zero and each.score is not None
            else each
            for each in components
        )
    return components


def weighed(components: tuple[Component, ...], weights: Weights) -> tuple[Component, ...]:
    """The components with weights under which their weighted mean is the layers' weighted mean.

    Within a layer the components that have a score share the layer's weight; a layer without any drops out.
    """
    totals = dict.fromkeys(LAYERS, 0.0)
    for each in components:
        if each.score is not None:
            totals[layer_of(each.name)] += weights.components[each.name]
    return tuple(each.model_copy(update={"weight": _share(each, totals, weights)}) for each in components)


def _share(component: Component, totals: dict[str, float], weights: Weights) -> float:
    layer = layer_of(component.name)
    if component.score is None or not totals[layer]:
        return 0.0
    return round(weights.layers[layer] * weights.components[component.name] / totals[layer], 6)


def layer_score(components: tuple[Component, ...], layer: str) -> float | None:
    """Weighted mean of one layer's components; None where none has a score."""
    counted = [
        (each.score, each.weight)
        for each in components
        if layer_of(each.name) == layer and each.score is not None and each.weight > 0
    ]
    total = sum(weight for _, weight in counted)
    return round(sum(score * weight for score, weight in counted) / total, 6) if total else None
