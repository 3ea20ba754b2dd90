"""Feedback in operators: looks ahead, sweeps of what is doomed, and an instrument for experiments."""
