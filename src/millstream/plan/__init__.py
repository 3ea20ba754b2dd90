"""What to do: immutable nodes, their schemas, the choice of strategy, and how it is explained."""
