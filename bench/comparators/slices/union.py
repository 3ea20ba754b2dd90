"""A union of slices' results in order, without comparing any: the probe that leaves the last slice is a punctuation."""

from __future__ import annotations

from comparators.slices.chain import Chain, Result
from comparators.slices.rows import Row


class PunctuatedUnion:
    """What the query of one window gets of a chain, in order of time.

    Results of one probe are in one bucket for each slice. When the probe leaves the last slice that the query reads,
    nothing older can come: its buckets go, one after another.
    """

    def __init__(self, chain: Chain, last: int) -> None:
        """Read the slices up to the `last`."""
        self.out: list[Result] = []
        self.steps = 0
        """One for each punctuation, however many results go."""
        self._last = last
        self._buckets: list[dict[Row, list[Result]]] = [{} for _ in range(last + 1)]
        made, left = chain.made, chain.left

        def take(result: Result) -> None:
            made(result)
            if result.slice <= last:
                self._buckets[result.slice].setdefault(result.probe, []).append(result)

        def end(number: int, probe: Row) -> None:
            left(number, probe)
            if number == last:
                self._let_go(probe)

        chain.made, chain.left = take, end

    def _let_go(self, probe: Row) -> None:
        self.steps += 1
        for bucket in self._buckets:
            self.out += bucket.pop(probe, ())

    @property
    def waiting(self) -> int:
        """Results that have not gone."""
        return sum(len(results) for bucket in self._buckets for results in bucket.values())
