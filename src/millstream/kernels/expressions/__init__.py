"""Expressions over Arrow tables with Spark's meaning: bound to types, then computed by columns, failures by row."""
