"""Each sensor progresses by itself: one that lags holds up nobody else."""

import millstream as ms

readings = [
    [{"sensor": "quick", "ts": 3, "c": 20.5}, {"sensor": "slow", "ts": 1, "c": 18.0}],
    [{"sensor": "quick", "ts": 12, "c": 21.0}, {"sensor": "slow", "ts": 2, "c": 18.5}],
    [{"sensor": "slow", "ts": 11, "c": 19.0}],
]

for name, progress in (
    ("one clock for all", ms.bounded_disorder("ts", 10)),
    ("one per sensor", ms.per_group("sensor", ms.ordered("ts"))),
):
    engine = ms.Engine(host="local")
    stream = engine.stream("readings", readings, progress=progress)
    mean = stream.window("ts", range=10).group_by("sensor").agg(mean=ms.avg("c")).named("mean")
    print(name)
    mean.for_each(
        lambda table, epoch: print(f"  epoch {epoch}:", *(f"{r['sensor']} {r['mean']}" for r in table.to_pylist()))
    )
    engine.start(ms.available_now()).await_termination()

# expected:
# one clock for all
# one per sensor
#   epoch 1: quick 20.5
#   epoch 2: slow 18.25
