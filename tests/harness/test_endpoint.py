"""The endpoint over real HTTP: what is kept of an answer, and what a fault says."""

from typing import Any

import pytest

from harness.endpoint.endpoint import ContextExceeded, Endpoint, EndpointFault, ToolsRefused
from harness.episode import Sampling
from tests.harness.scripted_server import chat_reply, completion_reply, refusal, scripted

SAMPLING = Sampling(temperature=0.8, max_tokens=4, seed=7, stop=("\n",))
TOOL = [{"type": "function", "function": {"name": "view", "parameters": {"type": "object"}}}]


def test_sampled_ids_are_kept_with_their_log_probabilities_and_versions() -> None:
    extra = {
        "token_ids": [5, 6],
        "prompt_token_ids": [1, 2, 3],
        "weight_versions": ["v1", "v1"],
        "logprobs": {
            "tokens": ["a", "b"],
            "token_logprobs": [-0.5, -1.5],
            "top_logprobs": None,
            "text_offset": [],
        },
    }
    with scripted(lambda path, body: (200, completion_reply("ab", "cd", **extra))) as (url, received):
        calls = Endpoint(url, "m").complete("x = ", sampling=SAMPLING, n=2)
    assert [c.output for c in calls] == ["ab", "cd"]
    assert calls[0].output_ids == (5, 6) and calls[0].prompt_ids == (1, 2, 3)
    assert calls[0].log_probs == (-0.5, -1.5) and calls[0].weight_versions == ("v1", "v1")
    assert (
        received[0]["seed"] == 7 and received[0]["stop"] == ["\n"] and received[0]["return_token_ids"] is True
    )


def test_ids_of_a_chat_prompt_stand_beside_its_choices() -> None:
    reply = {**chat_reply("hi"), "prompt_token_ids": [4, 5]}
    with scripted(lambda path, body: (200, reply)) as (url, _):
        call = Endpoint(url, "m").chat([{"role": "user", "content": "x"}], sampling=SAMPLING).call
    assert call.prompt_ids == (4, 5)


def test_an_endpoint_that_refuses_ids_is_asked_without_from_then_on() -> None:
    def answer(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "return_token_ids" in body:
            return 400, refusal("Unrecognized request argument supplied: return_token_ids")
        return 200, completion_reply("ab")

    with scripted(answer) as (url, received):
        endpoint = Endpoint(url, "m")
        assert endpoint.complete("x", sampling=SAMPLING)[0].output == "ab"
        assert endpoint.complete("x", sampling=SAMPLING)[0].output_ids == ()
    assert ["return_token_ids" in body for body in received] == [True, False, False]


def test_log_probabilities_come_back_in_the_order_of_the_texts() -> None:
    def answer(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert body["echo"] is True and body["max_tokens"] == 0
        reply = completion_reply(*body["prompt"])
        for choice, value in zip(reply["choices"], (-1.0, -2.0), strict=True):
            choice["logprobs"] = {"tokens": ["x", "y"], "token_logprobs": [None, value]}
        reply["choices"].reverse()
        return 200, reply

    with scripted(answer) as (url, _):
        scored = Endpoint(url, "m").log_probs(["xy", "xz"])
    assert scored == [[("x", 0.0), ("y", -1.0)], [("x", 0.0), ("y", -2.0)]]


@pytest.mark.parametrize(
    "answered", [(400, refusal("echo is not supported")), (200, completion_reply("no logprobs"))]
)
def test_an_endpoint_without_echo_is_asked_once(answered: tuple[int, dict[str, Any]]) -> None:
    with scripted(lambda path, body: answered) as (url, received):
        endpoint = Endpoint(url, "m")
        assert endpoint.log_probs(["a"]) is None and endpoint.log_probs(["b"]) is None
    assert len(received) == 1


def test_tools_refused_is_told_from_other_refusals() -> None:
    def answer(path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return (
            (400, refusal("this model does not support tools"))
            if "tools" in body
            else (200, chat_reply("hi"))
        )

    with scripted(answer) as (url, _):
        endpoint = Endpoint(url, "m")
        with pytest.raises(ToolsRefused):
            endpoint.chat([{"role": "user", "content": "x"}], tools=TOOL, sampling=SAMPLING)
        assert endpoint.chat([{"role": "user", "content": "x"}], sampling=SAMPLING).message["content"] == "hi"


def test_a_prompt_over_the_context_is_its_own_error() -> None:
    too_long = (400, refusal("too long", "context_length_exceeded"))
    with scripted(lambda path, body: too_long) as (url, _), pytest.raises(ContextExceeded):
        Endpoint(url, "m").complete("x", sampling=SAMPLING)


@pytest.mark.parametrize(
    ("status", "says"), [(401, "refuses the key: put a valid one into OPENAI_API_KEY"), (404, "answered 404")]
)
def test_a_refusal_is_one_sentence_without_the_key(status: int, says: str) -> None:
    answered = (status, refusal("no"))
    with (
        scripted(lambda path, body: answered) as (url, _),
        pytest.raises(EndpointFault, match=says) as caught,
    ):
        Endpoint(url, "m", "sk-secret").complete("x", sampling=SAMPLING)
    assert "sk-secret" not in str(caught.value)


def test_a_fault_that_passes_is_tried_again() -> None:
    answers = iter([(503, refusal("busy")), (200, completion_reply("ok"))])
    with scripted(lambda path, body: next(answers)) as (url, received):
        assert Endpoint(url, "m").complete("x", sampling=SAMPLING)[0].output == "ok"
    assert len(received) == 2


def test_an_endpoint_that_is_down_says_so() -> None:
    with scripted(lambda path, body: (200, {})) as (url, _):
        pass
    with pytest.raises(EndpointFault, match="does not answer: start it"):
        Endpoint(url, "m").check()


def test_a_model_that_is_not_there_is_named() -> None:
    models = {"object": "list", "data": [{"id": "a", "object": "model", "created": 0, "owned_by": "x"}]}
    with scripted(lambda path, body: (200, models)) as (url, _):
        Endpoint(url, "a").check()
        with pytest.raises(EndpointFault, match="has no model 'b': give one of a"):
            Endpoint(url, "b").check()
