"""What operators promise: pure functions from what an operator is, and what its inputs promise, to its own promise."""
