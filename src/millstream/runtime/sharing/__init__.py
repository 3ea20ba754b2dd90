"""Who reads what of which store, and since when the store has all that it reads."""
