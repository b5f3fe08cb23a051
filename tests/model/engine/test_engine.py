"""The engine's rules: seeds, prefixes, cancelling, limits, new weights."""

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from kernels.contract import Kernels
from model.checkpoints.checkpoint import Checkpoint, CheckpointError
from model.engine.engine import Engine, Ticket
from model.engine.requests import EngineStopped, Failed, GenerateRequest, Progress, RequestError, Scored
from model.engine.sampler import SamplingParameters

MakeTiny = Callable[..., Checkpoint]


class Heard:
    """Listens to one request and waits for its end."""

    def __init__(self, engine: Engine, request: GenerateRequest) -> None:
        self._events: queue.Queue[Progress | Failed] = queue.Queue()
        self.request = request
        self.ticket: Ticket = engine.generate(request, self._events.put)

    def next(self) -> Progress:
        event = self._events.get(timeout=60)
        if isinstance(event, Failed):
            raise event.error
        return event

    def rest(self) -> list[Progress]:
        events, open_choices = [], self.request.choices
        while open_choices:
            events.append(self.next())
            open_choices -= events[-1].finish is not None
        return events

    def tokens(self, choice: int = 0) -> list[int]:
        return [event.drawn.token for event in self.rest() if event.choice == choice]


def request(ids: list[int], tokens: int = 20, seed: int | None = 5, **others: object) -> GenerateRequest:
    return GenerateRequest(
        tuple(ids),
        tokens,
        SamplingParameters(seed=seed),
        ignore_end=True,
        **others,  # type: ignore[arg-type]
    )


@pytest.fixture
def engine(tiny: Checkpoint, kernels: Kernels) -> Iterator[Engine]:
    engine = Engine(tiny, kernels)
    yield engine
    engine.close()


def test_a_seed_gives_the_same_tokens_alone_and_in_company(engine: Engine) -> None:
    alone = Heard(engine, request([3, 4, 5])).tokens()
    crowd = [Heard(engine, request([7, 8, 9 + i], seed=i)) for i in range(6)]
    among = Heard(engine, request([3, 4, 5]))
    assert among.tokens() == alone
    for other in crowd:
        other.rest()
    assert Heard(engine, request([3, 4, 5], seed=6)).tokens() != alone


def test_choices_differ_and_the_first_is_the_single_one(engine: Engine) -> None:
    ids = list(range(3, 40))
    single = Heard(engine, request(ids)).tokens()
    events = Heard(engine, request(ids, choices=3)).rest()
    by_choice = [[event.drawn.token for event in events if event.choice == choice] for choice in range(3)]
    assert by_choice[0] == single
    assert by_choice[1] != by_choice[2] != single


def test_a_cached_prefix_changes_nothing_but_the_work(
    engine: Engine, kernels: Kernels, make_tiny: MakeTiny
) -> None:
    """Also a prompt that is cached whole, and one that goes on after an earlier answer."""
    ids = list(range(3, 103))
    first = Heard(engine, request(ids)).rest()
    again = Heard(engine, request(ids)).rest()
    assert first[0].cached_tokens == 0
    assert again[0].cached_tokens == len(ids) - 1
    assert [event.drawn for event in again] == [event.drawn for event in first]
    longer = [*ids, *(event.drawn.token for event in first), 50, 51]
    cached = Heard(engine, request(longer)).rest()
    assert cached[0].cached_tokens >= len(ids) + 19
    fresh = Engine(make_tiny(), kernels)
    assert [event.drawn for event in Heard(fresh, request(longer)).rest()] == [
        event.drawn for event in cached
    ]
    fresh.close()


def test_sampled_log_probabilities_are_those_that_scoring_gives(engine: Engine) -> None:
    ids = list(range(3, 40))
    events = Heard(engine, request(ids)).rest()
    scored: Future[Scored | Failed] = Future()
    engine.score([[*ids, *(event.drawn.token for event in events)]], 0, scored.set_result)
    result = scored.result(timeout=60)
    assert isinstance(result, Scored)
    assert [score.log_prob for score in result.texts[0][len(ids) - 1 :]] == pytest.approx(
        [event.drawn.log_prob for event in events], abs=1e-5
    )


def test_new_weights_wait_for_what_is_in_flight_and_drop_the_caches(
    engine: Engine, kernels: Kernels, make_tiny: MakeTiny
) -> None:
    ids = list(range(3, 60))
    flying = Heard(engine, request(ids, tokens=120))
    flying.next()
    taken = engine.update(make_tiny(seed=1, version="tiny-1"))
    after = Heard(engine, request(ids))
    assert {event.weight_version for event in flying.rest()} == {"tiny-0"}
    assert taken.result(timeout=60) == "tiny-1"
    events = after.rest()
    assert {event.weight_version for event in events} == {"tiny-1"}
    assert events[0].cached_tokens == 0
    fresh = Engine(make_tiny(seed=1, version="tiny-1"), kernels)
    assert Heard(fresh, request(ids)).tokens() == [event.drawn.token for event in events]
    fresh.close()


def test_weights_of_another_shape_are_refused(engine: Engine, tiny: Checkpoint) -> None:
    other = Checkpoint(tiny.config.model_copy(update={"layers": 1}), tiny.vocabulary, tiny.tensors, "other")
    with pytest.raises(CheckpointError, match="another network"):
        engine.update(other)


def test_a_cancelled_request_frees_its_place(engine: Engine) -> None:
    long = Heard(engine, request([3, 4], tokens=200))
    long.next()
    long.ticket.cancel()
    assert len(Heard(engine, request([3, 4])).rest()) == 20


def test_end_tokens_and_max_tokens_finish(engine: Engine) -> None:
    events = Heard(
        engine, GenerateRequest((3, 4, 5), 200, SamplingParameters(temperature=3.0, seed=1))
    ).rest()
    assert events[-1].finish == ("stop" if events[-1].drawn.token in (0, 2) else "length")
    assert all(event.drawn.token not in (0, 2) for event in events[:-1])
    assert Heard(engine, request([3], tokens=1)).rest()[0].finish == "length"


@pytest.mark.parametrize(
    ("ids", "tokens", "message"),
    [
        ([], 5, "the prompt is empty"),
        ([3] * 250, 7, "context holds 256"),
        ([3] * 300, 1, "context holds 256"),
        ([260], 5, "0 to 259"),
        ([-1], 5, "0 to 259"),
        ([3], 0, "at least 1"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(
    engine: Engine, ids: list[int], tokens: int, message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        engine.generate(request(ids, tokens=tokens), lambda _: None)


def test_the_context_can_be_filled_to_its_last_place(engine: Engine) -> None:
    assert len(Heard(engine, request([3] * 250, tokens=6)).rest()) == 6


def test_closing_tells_those_who_wait(tiny: Checkpoint, kernels: Kernels) -> None:
    engine = Engine(tiny, kernels)
    waiting = Heard(engine, request([3], tokens=255))
    engine.close()
    with pytest.raises(EngineStopped):
        waiting.rest()
    with pytest.raises(EngineStopped, match="start the server again"):
        engine.generate(request([3]), lambda _: None)
