"""Workers that make attempts side by side, and can be left behind."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ResultT = TypeVar("ResultT")


class Crew(Generic[KeyT, ResultT]):
    """Threads that take keys in order and give (key, result) as each is done.

    They are daemons: a worker that waits for a socket must not keep an interrupted program from ending.
    """

    def __init__(self, work: Callable[[KeyT], ResultT], keys: Iterable[KeyT], workers: int) -> None:
        self._work = work
        self._keys = iter(keys)
        self._taking = threading.Lock()
        self._stopped = threading.Event()
        self._done: queue.SimpleQueue[tuple[KeyT, ResultT] | BaseException | None] = queue.SimpleQueue()
        self._at_work = workers
        self._threads = [
            threading.Thread(target=self._take, name=f"attempt-{n}", daemon=True) for n in range(workers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def results(self) -> Iterator[tuple[KeyT, ResultT]]:
        """What is done, as it comes, until every worker has ended. Raises what a worker raised."""
        while self._at_work:
            found = self._done.get()
            if found is None:
                self._at_work -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found

    def stop(self) -> None:
        """Take no further key; what is under way goes on and can still be had from results()."""
        self._stopped.set()

    def join(self, seconds: float) -> None:
        """Wait for the workers, no longer than that."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _take(self) -> None:
        try:
            while not self._stopped.is_set():
                with self._taking:
                    key = next(self._keys, None)
                if key is None:
                    break
                self._done.put((key, self._work(key)))
        except BaseException as error:
            self._done.put(error)
        finally:
            self._done.put(None)
