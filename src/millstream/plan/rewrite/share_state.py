"""Share state: what several queries can read from one store, they do: panes of windows, rows of joins."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from millstream.plan.lease import Holdings, JoinHoldings, Lease
from millstream.plan.plan import Plan
from millstream.plan.rewrite.share_joins import share_joins
from millstream.plan.rewrite.share_panes import Shared, share_panes
from millstream.plan.sharing import Sharing


def share_state(
    plan: Plan,
    leases: Mapping[int, Lease] | None = None,
    *,
    held: Holdings | None = None,
    joins: JoinHoldings | None = None,
    apart: Container[int] = (),
    single: Callable[[int], bool] = lambda _: False,
    fresh: bool = True,
    sharing: Sharing | None = None,
) -> Shared:
    """Promise: every query has the answers it had, from as few stores as can be. See `share_panes`, `share_joins`.

    >>> share_state(Plan(roots=())).plan
    Plan(roots=(), distributed=False)
    """
    how = sharing or Sharing()
    panes = share_panes(plan, leases, held=held, apart=apart, single=single, together=how.together)
    return share_joins(panes, leases, held=joins, apart=apart, fresh=fresh, sharing=how)
