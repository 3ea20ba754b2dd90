"""Joins of many streams as one operator: each stream's rows are kept once, and nothing in between is kept at all."""
