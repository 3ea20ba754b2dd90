"""The ways that the rows of an epoch can take through Spark."""
