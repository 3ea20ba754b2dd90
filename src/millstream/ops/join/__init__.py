"""Joins of two streams in any order of arrival."""
