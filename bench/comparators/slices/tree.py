"""The case study of join trees: two queries over three streams, isolated, pulled up, or in shared slices.

Both join a and b, then c; the first query has the shorter window for a and b, and the longer one for b and c. Rates are
by the minute, sizes in megabytes, comparisons in millions by the minute. The published total of the isolated plan and
the published comparisons of slices are wrong, and are corrected here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The figures of the case study."""

    rate: float = 1000.0
    size: float = 0.1
    """Kilobytes of a row; a pair takes twice that."""
    passing: float = 0.25
    """The share of rows that a query asks for."""
    matching: float = 0.1
    overlap: float = 0.8
    """Of the rows of the first query, the share that the second asks for, too."""
    ab: tuple[float, float] = (1.0, 60.0)
    """By query: the window of a and b, in minutes."""
    bc: tuple[float, float] = (30.0, 15.0)

    @property
    def either(self) -> float:
        """The share of rows that some query asks for."""
        return 2 * self.passing - self.overlap * self.passing

    @classmethod
    def at(cls, m: float, n: float) -> Tree:
        """With the shorter windows so large a share of the longer ones."""
        return cls(ab=(60 * m, 60.0), bc=(30.0, 30 * n))


def isolated_kept(tree: Tree) -> tuple[float, float]:
    """Megabytes, by query.

    >>> [round(one, 3) for one in isolated_kept(Tree())], round(sum(isolated_kept(Tree())), 3)
    ([75.8, 2253.375], 2329.175)
    """
    one, other = (_plan_kept(tree, tree.passing, ab, bc) for ab, bc in zip(tree.ab, tree.bc, strict=True))
    return one, other


def pulled_up_kept(tree: Tree) -> float:
    """Megabytes of one plan with the longest windows.

    >>> round(pulled_up_kept(Tree()), 1)
    6484.5
    """
    return _plan_kept(tree, tree.either, max(tree.ab), max(tree.bc))


def sliced_kept(tree: Tree) -> dict[str, float]:
    """Megabytes of each state.

    >>> {name: round(one, 3) for name, one in sliced_kept(Tree()).items()}
    {'A1': 0.03, 'B1': 0.03, 'A2': 1.475, 'B2': 1.475, 'C1': 0.45, 'C2': 0.375, 'C3': 0.375, 'AB1': 54.0, 'AB2': 37.5, 'AB3': 2212.5}
    >>> round(sum(sliced_kept(Tree()).values()), 2)
    2308.21
    """  # noqa: E501 - as it is printed
    (ab1, ab2), (bc1, bc2) = tree.ab, tree.bc
    row, s, u = tree.rate * tree.size / 1000, tree.passing, tree.either
    pairs = 2 * tree.rate * tree.matching * 2
    first, second = row * u * ab1, row * s * (ab2 - ab1)
    return {
        "A1": first,
        "B1": first,
        "A2": second,
        "B2": second,
        "C1": row * u * bc2,
        "C2": row * s * (bc1 - bc2),
        "C3": row * s * bc2,
        "AB1": pairs * u * first * bc2,
        "AB2": pairs * s * row * s * ab1 * (bc1 - bc2),
        "AB3": pairs * s * second * bc2,
    }


def isolated_compared(tree: Tree) -> tuple[float, float]:
    """Millions of comparisons a minute, by query.

    >>> [round(one, 2) for one in isolated_compared(Tree())], round(sum(isolated_compared(Tree())), 2)
    ([187.64, 5633.25], 5820.89)
    """
    one, other = (_isolated_compared(tree, ab, bc) for ab, bc in zip(tree.ab, tree.bc, strict=True))
    return one, other


def pulled_up_compared(tree: Tree) -> float:
    """Millions of comparisons a minute.

    >>> round(pulled_up_compared(Tree()), 2)
    27227.88
    """
    rate, u, ab, bc = tree.rate, tree.either, max(tree.ab), max(tree.bc)
    pairs = 2 * (rate * u) ** 2 * ab * tree.matching
    triples = 2 * pairs * rate * u * bc * tree.matching
    work = 3 * rate + 2 * triples + 3 * rate * u + pairs + (pairs + triples) / tree.matching + 2 * triples
    return work / 1e6


def sliced_compared(tree: Tree, *, by_result: bool = True) -> float:
    """Millions of comparisons a minute; unions take one a result, as in the case study, or none, if punctuated.

    >>> round(sliced_compared(Tree()), 2)
    6422.66
    """
    rate, s, u, share = tree.rate, tree.passing, tree.either, tree.matching
    (ab1, ab2), (bc1, bc2) = tree.ab, tree.bc
    first, second = 2 * (rate * u) ** 2 * ab1 * share, 2 * (rate * s) ** 2 * (ab2 - ab1) * share
    triples = (
        2 * first * rate * u * bc2 * share,
        2 * first * (s / u) ** 2 * rate * s * (bc1 - bc2) * share,
        2 * second * rate * s * bc2 * share,
    )
    filters = 7 * rate + 2 * triples[0] + first
    purges = 7 * rate * u + 2 * first + second
    probes = (first + second + sum(triples)) / share
    unions = 2 * triples[0] + triples[1] + triples[2] if by_result else 0.0
    return (filters + purges + probes + unions) / 1e6


def _plan_kept(tree: Tree, passing: float, ab: float, bc: float) -> float:
    rows = tree.rate * passing * (2 * ab + bc)
    pairs = 4 * (tree.rate * passing) ** 2 * tree.matching * ab * bc
    return (rows + pairs) * tree.size / 1000


def _isolated_compared(tree: Tree, ab: float, bc: float) -> float:
    rate, s = tree.rate, tree.passing
    pairs = 2 * (rate * s) ** 2 * ab * tree.matching
    work = 3 * rate + 3 * rate * s + pairs + pairs / tree.matching + 2 * pairs * rate * s * bc
    return work / 1e6
