"""What leaves a query besides its results, and the folders that it writes to."""
