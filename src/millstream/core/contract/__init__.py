"""Contracts: which punctuation each operator is promised, what it promises in turn, and whether a whole plan agrees."""
