"""What a task does with the rows of an epoch, wherever it runs: take them in, route them, let them meet."""
