"""No row is lost: late rows and unusable rows have outputs of their own, and the books balance."""

import millstream as ms

epochs = [
    [{"ts": 10, "v": 1}, {"ts": 12, "v": 2}],
    [{"ts": 3, "v": 4}, {"ts": None, "v": 8}, {"ts": 14, "v": 16}],
]

engine = ms.Engine(host="local")
stream = engine.stream("s", epochs, progress=ms.bounded_disorder("ts", 5))
total = stream.where("v <> 2").window("ts", range=10).agg(total=ms.sum("v")).named("total")
run = engine.start(ms.available_now(), end_of_stream=True)
run.await_termination()

print("results: ", total.table().to_pylist())
print("late:    ", total.late.table().select(["ts", "v", "punctuation"]).to_pylist())
print("rejected:", total.rejected.table().select(["ts", "v", "reason"]).to_pylist())
books = run.progress["queries"]["total"]["books"]
print("books:   ", {place: rows for place, rows in books.items() if rows})

# expected:
# results:  [{'window_id': 1, 'window_start': 10, 'window_end': 20, 'total': 17}]
# late:     [{'ts': 3, 'v': 4, 'punctuation': 'ts < 7'}]
# rejected: [{'ts': None, 'v': 8, 'reason': 'ts is null'}]
# books:    {'rows_in': 5, 'late': 1, 'rejected': 1, 'filtered': 1, 'accepted': 2}
