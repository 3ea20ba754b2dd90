"""What a user types: Engine, Stream, Query, sources and sinks by name."""
