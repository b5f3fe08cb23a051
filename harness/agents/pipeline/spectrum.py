"""Suspicion from test spectra: which lines do failing tests run that passing tests do not."""

import math
from collections.abc import Iterable, Mapping

Lines = Mapping[str, Iterable[int]]
"""Path to the 1-based lines that one test ran."""


def ochiai(failed_here: int, passed_here: int, failed_in_all: int) -> float:
    """Ochiai's coefficient, in [0, 1] (Abreu, Zoeteweij, van Gemund, 2007)."""
    if not failed_here or not failed_in_all:
        return 0.0
    return failed_here / math.sqrt(failed_in_all * (failed_here + passed_here))


def line_suspicion(failing: list[Lines], passing: list[Lines]) -> dict[tuple[str, int], float]:
    """Ochiai of every (path, line) that at least one failing test ran."""
    failed: dict[tuple[str, int], int] = {}
    passed: dict[tuple[str, int], int] = {}
    for tests, counts in ((failing, failed), (passing, passed)):
        for test in tests:
            for path, lines in test.items():
                for line in set(lines):
                    counts[path, line] = counts.get((path, line), 0) + 1
    return {place: ochiai(n, passed.get(place, 0), len(failing)) for place, n in failed.items()}
