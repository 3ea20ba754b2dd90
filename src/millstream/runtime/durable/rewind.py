"""Rewinding: a host goes back to the last manifest of its checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.plan import Plan
from millstream.runtime.durable.ledger import Ledger, StreamLedger
from millstream.runtime.durable.migrate import check_states, held_by, tell_names
from millstream.runtime.sources import check_unseekable
from millstream.runtime.tasks.program import plan_text
from millstream.state.manifest import Manifest

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def rewind(host: DurableHost, manifest: Manifest | None, plan: Plan) -> None:
    """Forget everything since the last manifest; sources go back to where they were then."""
    if manifest is not None:
        texts = {target.name: plan_text(target.alone) for target in host.program.targets}
        check_states(plan, manifest, texts, host.formerly)
        host.manifests.check(manifest)
        tell_names(host.queries, manifest, host.formerly)
    host.ledger = Ledger() if manifest is None else Ledger.of(manifest)
    if manifest is not None:
        held = held_by(plan, manifest, host.formerly)
        host.ledger.rename(host.formerly)
        host.ledger.operators |= held
    host.feedback.restore(host.ledger.feedback, host.formerly)
    host.table_files.rewind()
    for name, source in host.held_sources().items():
        position = host.ledger.streams.get(name, StreamLedger()).position or host.starts.get(name)
        if not hasattr(source, "seek") or not hasattr(source, "position"):
            check_unseekable(name, source, known=name in host.ledger.streams)
        elif position is not None:
            source.seek(position)
