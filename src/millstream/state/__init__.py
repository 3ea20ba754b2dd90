"""State: immutable segments, and the store that holds an operator's live ones."""
