"""Data to run queries on: generators that depend on nothing but their arguments.

`auction` and `packets` make ordered streams; `disorder` makes a stream arrive out of order, by a known
amount. The same arguments give the same rows, on every machine.
"""
