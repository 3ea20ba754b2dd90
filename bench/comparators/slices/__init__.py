"""The sliced join as it was published, row by row over queues, beside the other ways to share a join; all are counted.

Nothing here is fast, and nothing of it is part of the engine: it shows what the engine's own store must be equal to.
"""
