"""RewardClient: asks a reward service over HTTP, and never makes a number up."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

Json = dict[str, Any]


class RewardRefused(ValueError):
    """The service answered that the request itself is wrong; asking again won't help."""


class RewardUnavailable(RuntimeError):
    """No valid reward could be had. Drop or retry the sample; it is not a score of zero.

    failure is the class that the service named (infrastructure, environment, timeout, oracle, queue), or
    "connection" where it could not be reached.
    """

    def __init__(self, failure: str, reason: str, attempts: int) -> None:
        super().__init__(f"no reward after {attempts} attempts ({failure}): {reason}")
        self.failure = failure
        self.reason = reason


class RewardClient:
    """Rewards from `patchdeck serve-rewards`.

    A 503 or a lost connection is tried again up to `attempts` times, waiting twice as long each time and
    at least as long as the service asks, at most max_wait_s. timeout_s bounds one request: a suite may run
    for minutes.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        attempts: int = 5,
        first_wait_s: float = 1.0,
        max_wait_s: float = 30.0,
        timeout_s: float = 900.0,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._attempts, self._first_wait_s, self._max_wait_s = attempts, first_wait_s, max_wait_s
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(timeout_s, connect=10.0),
        )

    def patch(self, task_id: str, patch: str | None) -> Json:
        """The Reward of a unified diff. Raises RewardUnavailable, RewardRefused."""
        return self._ask("/rewards/patch", {"task_id": task_id, "patch": patch})

    def deck(self, html: str, *, task_id: str = "") -> Json:
        """The Reward of a deck in one HTML text. Raises RewardUnavailable, RewardRefused."""
        return self._ask("/rewards/deck", {"task_id": task_id, "html": html})

    def deck_files(self, files: Mapping[str, str | Mapping[str, str]], *, task_id: str = "") -> Json:
        """The Reward of a deck of several files: path to text, or to {"base64": ...}."""
        return self._ask("/rewards/deck", {"task_id": task_id, "files": dict(files)})

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "RewardClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, path: str, body: Json) -> Json:
        failure, reason, asked_wait_s = "connection", "", 0.0
        for attempt in range(self._attempts):
            if attempt:
                wait_s = max(self._first_wait_s * 2.0 ** (attempt - 1), asked_wait_s)
                time.sleep(min(wait_s, self._max_wait_s))
            try:
                answer = self._http.post(path, json=body)
            except httpx.TransportError as error:
                failure, reason, asked_wait_s = "connection", f"{type(error).__name__}: {error}", 0.0
                continue
            if answer.status_code == 503:
                failure, reason = _told(answer)
                asked_wait_s = _seconds(answer.headers.get("retry-after", ""))
                continue
            if 400 <= answer.status_code < 500:
                raise RewardRefused(f"HTTP {answer.status_code}: {_detail(answer)}")
            if answer.status_code != 200:
                raise RewardUnavailable("infrastructure", f"HTTP {answer.status_code}", attempt + 1)
            return _valid_reward(answer, attempt + 1)
        raise RewardUnavailable(failure, reason, self._attempts)


def _valid_reward(answer: httpx.Response, attempts: int) -> Json:
    try:
        reward = answer.json()
    except ValueError:
        reward = None
    if not isinstance(reward, dict) or "valid" not in reward or "value" not in reward:
        raise RewardUnavailable("infrastructure", "the answer is no reward", attempts)
    if not reward["valid"] or not isinstance(reward["value"], int | float):
        raise RewardUnavailable(str(reward.get("failure")), str(reward.get("failure_reason", "")), attempts)
    return reward


def _detail(answer: httpx.Response) -> object:
    try:
        body = answer.json()
    except ValueError:
        return answer.text[:200]
    return body.get("detail", body) if isinstance(body, dict) else body


def _told(answer: httpx.Response) -> tuple[str, str]:
    detail = _detail(answer)
    if isinstance(detail, dict):
        return str(detail.get("failure", "infrastructure")), str(detail.get("reason", ""))
    return "infrastructure", str(detail)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 0.0
