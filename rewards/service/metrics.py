"""What the service counts, in Prometheus' text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Metrics:
    """One registry for each application, so that two in one process don't add up."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "patchdeck_reward_requests",
            "Requests by what was judged and HTTP status.",
            ("kind", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "patchdeck_reward_seconds",
            "Seconds from a request to its reward.",
            ("kind",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.invalid = Counter(
            "patchdeck_reward_invalid",
            "Rewards that are not valid, by class of failure.",
            ("kind", "failure"),
            registry=self.registry,
        )
        self.running = Gauge(
            "patchdeck_reward_running", "Requests being judged or waiting for it.", registry=self.registry
        )

    def text(self) -> bytes:
        return generate_latest(self.registry)
