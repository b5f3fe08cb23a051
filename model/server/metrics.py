"""Prometheus metrics of one server."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from model.server.answers import Json


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "patchdeck_requests", "Requests answered.", ["path", "status"], registry=self._registry
        )
        self._prompt = Counter("patchdeck_prompt_tokens", "Prompt tokens read.", registry=self._registry)
        self._cached = Counter(
            "patchdeck_cached_prompt_tokens",
            "Prompt tokens taken from the prefix cache.",
            registry=self._registry,
        )
        self._output = Counter("patchdeck_output_tokens", "Tokens sampled.", registry=self._registry)
        self._version = Gauge(
            "patchdeck_weight_version",
            "1 for the weights that are served.",
            ["version"],
            registry=self._registry,
        )

    def answered(self, path: str, status: int) -> None:
        self._requests.labels(path, str(status)).inc()

    def used(self, usage: Json) -> None:
        self._prompt.inc(usage["prompt_tokens"])
        self._cached.inc(usage["prompt_tokens_details"]["cached_tokens"])
        self._output.inc(usage["completion_tokens"])

    def text(self, weight_version: str) -> bytes:
        self._version.clear()
        self._version.labels(weight_version).set(1)
        return generate_latest(self._registry)
