"""Vectorised kernels over Arrow and NumPy: grouping, sliding combine, aggregates. No state, no clock, no I/O."""
