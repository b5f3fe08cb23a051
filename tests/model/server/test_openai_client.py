"""The published `openai` client against a running server."""

import math
from typing import Any

import httpx
import pytest
from openai import BadRequestError, NotFoundError, OpenAI

QUESTION: Any = [{"role": "user", "content": "What is the capital of France?"}]


def test_chat(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model="bundled", messages=QUESTION, temperature=0, max_tokens=20, logprobs=True, top_logprobs=3
    )
    choice = reply.choices[0]
    assert choice.message.content is not None and "Paris" in choice.message.content
    assert choice.finish_reason == "stop"
    assert choice.logprobs is not None and choice.logprobs.content is not None
    for entry in choice.logprobs.content:
        assert entry.logprob <= 0
        assert entry.logprob == max(other.logprob for other in entry.top_logprobs)
        assert len(entry.top_logprobs) == 3
    shown = b"".join(bytes(entry.bytes or []) for entry in choice.logprobs.content[:-1])
    assert shown.decode() == choice.message.content
    assert reply.usage is not None and reply.usage.completion_tokens == len(choice.logprobs.content)


def test_chat_stream_is_the_same_text(client: OpenAI) -> None:
    arguments: dict[str, Any] = {"model": "bundled", "messages": QUESTION, "seed": 3, "max_tokens": 30}
    whole = client.chat.completions.create(**arguments).choices[0]
    chunks = list(
        client.chat.completions.create(**arguments, stream=True, stream_options={"include_usage": True})
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == whole.message.content
    )
    finishing = [chunk.choices[0] for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert [choice.finish_reason for choice in finishing] == [whole.finish_reason]
    assert not finishing[0].delta.content
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens <= 30


def test_seeds(client: OpenAI) -> None:
    def text(seed: int) -> list[str]:
        reply = client.completions.create(model="bundled", prompt="Once upon", seed=seed, max_tokens=12, n=3)
        return [choice.text for choice in reply.choices]

    assert text(1) == text(1)
    assert text(1) != text(2)
    assert len(set(text(1))) == 3


def test_echo_scores_agree_with_what_sampling_said(client: OpenAI) -> None:
    prompt = "def add(a, b):\n    return"
    drawn = client.completions.create(
        model="bundled",
        prompt=prompt,
        max_tokens=12,
        seed=4,
        logprobs=1,
        extra_body={"return_token_ids": True},
    ).choices[0]
    extra: Any = drawn.model_extra
    ids = extra["prompt_token_ids"] + extra["token_ids"]
    other = [*extra["prompt_token_ids"], 33, 34]
    scored = client.completions.create(
        model="bundled", prompt=[other, ids], max_tokens=0, echo=True, logprobs=1
    )
    assert [choice.index for choice in scored.choices] == [0, 1]
    probabilities = scored.choices[1].logprobs
    assert probabilities is not None and drawn.logprobs is not None
    assert probabilities.token_logprobs is not None and drawn.logprobs.token_logprobs is not None
    assert probabilities.token_logprobs[0] is None
    assert len(probabilities.token_logprobs) == len(ids)
    start = len(extra["prompt_token_ids"])
    assert probabilities.token_logprobs[start:] == pytest.approx(drawn.logprobs.token_logprobs, abs=1e-4)
    assert probabilities.tokens is not None and "".join(probabilities.tokens) == scored.choices[1].text
    offsets = probabilities.text_offset
    assert offsets is not None
    for token, offset in zip(probabilities.tokens, offsets, strict=True):
        assert scored.choices[1].text[offset:].startswith(token)


def test_likelier_text_scores_higher(client: OpenAI) -> None:
    texts = [
        "The capital of France is Paris.",
        "The capital of France is banana.",
        "The capital of France are Paris.",
    ]
    reply = client.completions.create(model="bundled", prompt=texts, max_tokens=0, echo=True, logprobs=1)
    sums = [math.fsum(x for x in choice.logprobs.token_logprobs if x is not None) for choice in reply.choices]  # type: ignore[union-attr]
    assert sums[0] == max(sums)


def test_stop_strings_span_tokens_and_never_leak(client: OpenAI) -> None:
    arguments: dict[str, Any] = {
        "model": "bundled",
        "prompt": "1 2 3 4 5 6 7 8 9",
        "temperature": 0,
        "max_tokens": 40,
    }
    free = client.completions.create(**arguments).choices[0].text
    stop = free[7:12]
    wanted = free[: free.index(stop)]
    stopped = client.completions.create(**arguments, stop=["", stop]).choices[0]
    assert (stopped.text, stopped.finish_reason) == (wanted, "stop")
    parts = [
        chunk.choices[0].text for chunk in client.completions.create(**arguments, stop=[stop], stream=True)
    ]
    assert "".join(parts) == wanted


def test_token_ids_go_in_and_come_out(client: OpenAI, url: str) -> None:
    reply = client.chat.completions.create(
        model="bundled", messages=QUESTION, seed=1, max_tokens=8, extra_body={"return_token_ids": True}
    )
    reply_extra: Any = reply.model_extra
    choice_extra: Any = reply.choices[0].model_extra
    assert len(choice_extra["token_ids"]) == len(choice_extra["weight_versions"])
    assert set(choice_extra["weight_versions"]) == {reply_extra["weight_version"]}
    root = url.removesuffix("/v1")
    by_messages = httpx.post(f"{root}/tokenize", json={"messages": QUESTION}).json()
    assert by_messages["tokens"] == reply_extra["prompt_token_ids"]
    again = client.completions.create(
        model="bundled",
        prompt=reply_extra["prompt_token_ids"],
        seed=1,
        max_tokens=8,
        extra_body={"return_token_ids": True},
    )
    again_extra: Any = again.choices[0].model_extra
    assert again_extra["token_ids"] == choice_extra["token_ids"]
    text = httpx.post(f"{root}/detokenize", json={"tokens": by_messages["tokens"]}).json()["prompt"]
    assert text.endswith("<|im_start|>assistant\n")


def test_streamed_ids_and_log_probabilities_are_those_of_the_whole(client: OpenAI) -> None:
    arguments: dict[str, Any] = {
        "model": "bundled",
        "prompt": "Grüße 日本",
        "seed": 5,
        "max_tokens": 16,
        "logprobs": 2,
        "extra_body": {"return_token_ids": True},
    }
    whole: Any = client.completions.create(**arguments).choices[0].model_dump()
    parts: list[Any] = [
        c.choices[0].model_dump() for c in client.completions.create(**arguments, stream=True)
    ]
    for field in ("token_ids", "weight_versions"):
        assert [x for part in parts for x in part[field]] == whole[field]
    for field in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        assert [x for part in parts for x in part["logprobs"][field]] == whole["logprobs"][field]
    assert "".join(part["text"] for part in parts) == whole["text"]


def test_tools_are_accepted_though_the_template_ignores_them(client: OpenAI) -> None:
    tools: Any = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    ]
    conversation: Any = [
        *QUESTION,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "Paris"}]},
    ]
    reply = client.chat.completions.create(model="bundled", messages=conversation, tools=tools, max_tokens=3)
    assert reply.choices[0].message.tool_calls is None


def test_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["bundled"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt": "a", "max_tokens": 9000}, "context holds 8192"),
        ({"prompt": "word " * 9000}, "context holds 8192"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": []}, "list of prompts is empty"),
        ({"prompt": [99999999]}, "token ids go from 0"),
        ({"prompt": "a", "temperature": -1}, "temperature"),
        ({"prompt": "a", "n": 0}, "n: "),
    ],
)
def test_bad_requests_are_errors_of_openais_shape(
    client: OpenAI, fields: dict[str, Any], message: str
) -> None:
    for stream in (False, True):
        with pytest.raises(BadRequestError, match=message) as caught:
            client.completions.create(model="bundled", stream=stream, **fields)
        assert isinstance(caught.value.body, dict) and caught.value.body["type"] == "invalid_request_error"


def test_unknown_model(client: OpenAI) -> None:
    with pytest.raises(NotFoundError, match="only 'bundled' is"):
        client.chat.completions.create(model="gpt-9", messages=QUESTION)


def test_health_and_metrics(url: str, client: OpenAI) -> None:
    root = url.removesuffix("/v1")
    health = httpx.get(f"{root}/health").json()
    assert health["status"] == "ok"
    before = httpx.get(f"{root}/metrics").text
    client.completions.create(model="bundled", prompt="a b c", max_tokens=2, extra_body={"ignore_eos": True})
    after = httpx.get(f"{root}/metrics").text

    def value(text: str) -> float:
        return float(
            next(
                line for line in text.splitlines() if line.startswith("patchdeck_output_tokens_total")
            ).split()[1]
        )

    assert value(after) == value(before) + 2
    assert f'patchdeck_weight_version{{version="{health["weight_version"]}"}} 1.0' in after
