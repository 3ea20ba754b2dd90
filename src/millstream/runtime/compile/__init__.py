"""From a node of the plan to the operator that computes it: `operators` registers nodes, `window_kinds` windows."""

from millstream.runtime.compile.operators import compile_node

__all__ = ["compile_node"]
