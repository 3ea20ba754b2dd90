"""One driver for each engine, run in an environment of its own as `python -m peers.engines.NAME`."""
