"""Feedback in plans: what each node ignores of its inputs, and where guards are."""
