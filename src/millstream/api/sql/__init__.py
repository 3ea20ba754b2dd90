"""Statements, executed with the fluent API: the same plans as if they had been typed in Python."""
