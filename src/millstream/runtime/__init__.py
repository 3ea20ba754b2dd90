"""Running a plan: the graph of operators, the epoch step, the local host, its sources and sinks."""
