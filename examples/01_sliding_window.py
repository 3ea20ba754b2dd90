"""A sliding window over rows that arrive out of order: results leave when they are complete."""

import millstream as ms

epochs = [
    [{"ts": 2, "price": 20}, {"ts": 7, "price": 95}, {"ts": 4, "price": 25}],
    [{"ts": 13, "price": 40}, {"ts": 9, "price": 90}],
    [{"ts": 21, "price": 97}, {"ts": 18, "price": 38}],
]

engine = ms.Engine(host="local")
bids = engine.stream("bids", epochs, progress=ms.bounded_disorder("ts", 5))
top = bids.window("ts", range=10, slide=5).agg(top=ms.max("price"), n=ms.count()).named("top")
top.for_each(lambda table, epoch: print(f"epoch {epoch}:", *(tuple(r.values()) for r in table.to_pylist())))
engine.start(ms.available_now(), end_of_stream=True).await_termination()

# expected:
# epoch 1: (0, -5, 5, 25, 2)
# epoch 2: (1, 0, 10, 95, 4) (2, 5, 15, 95, 3)
# epoch 3: (3, 10, 20, 40, 2) (4, 15, 25, 97, 2) (5, 20, 30, 97, 1)
