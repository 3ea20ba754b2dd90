"""Rewrites: one file each, a function from a plan to a plan with the same answers. `plan/optimize.py` has the order."""
