"""Token bytes to text as it grows: whole characters only, and no part of a stop string."""

import codecs
from collections.abc import Sequence


class TextStream:
    """Feed bytes, get text that is safe to show. `stopped` is set once a stop string has appeared.

    The longest tail that could still become a stop string is held back. Empty stop strings are ignored.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._stop = tuple(s for s in stop if s)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self.stopped = False

    def feed(self, content: bytes) -> str:
        if self.stopped:
            return ""
        self._held += self._decoder.decode(content)
        ends = [at for s in self._stop if (at := self._held.find(s)) >= 0]
        if ends:
            self.stopped = True
            return self._give(min(ends))
        return self._give(len(self._held) - self._suspicious())

    def finish(self) -> str:
        """What was held back; an unfinished character at the very end is left out."""
        return "" if self.stopped else self._give(len(self._held))

    def _give(self, count: int) -> str:
        given, self._held = self._held[:count], self._held[count:]
        return given

    def _suspicious(self) -> int:
        """Length of the longest tail that begins a stop string."""
        longest = max((len(s) for s in self._stop), default=1) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            tail = self._held[-length:]
            if any(s.startswith(tail) for s in self._stop):
                return length
        return 0
