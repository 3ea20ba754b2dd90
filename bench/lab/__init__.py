"""The laboratory: the published experiments on disorder, run again at a scale of seconds.

`millstream bench 6.1` runs one; `laboratory.py` is its program. An experiment is a file `experiment_<id>.py` with a
`run(scale)` that returns an `Outcome`: a table, a plot, and a verdict on each claim it can decide. Every side's answers
are compared with an oracle before anything about them is reported. Our side is Millstream's local host; the other side
is in `comparators`.

Numbers of other machines are not reproduced here; ratios and shapes are, and where they are not, the verdict says why.
"""
