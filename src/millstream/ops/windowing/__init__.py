"""Window aggregation: one file a strategy, all with the same answers."""
