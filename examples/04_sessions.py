"""Sessions under disorder: a row that comes late, but not too late, joins two sessions into one."""

import millstream as ms

clicks = [
    [{"user": "ann", "ts": 1}, {"user": "bob", "ts": 2}, {"user": "ann", "ts": 9}],
    [{"user": "ann", "ts": 5}, {"user": "bob", "ts": 30}],
]

engine = ms.Engine(host="local")
stream = engine.stream("clicks", clicks, progress=ms.bounded_disorder("ts", 10))
sessions = stream.window("ts", gap=4).group_by("user").agg(clicks=ms.count()).named("sessions")
engine.start(ms.available_now(), end_of_stream=True).await_termination()

for row in sessions.table().sort_by([("user", "ascending"), ("window_start", "ascending")]).to_pylist():
    print(f"{row['user']}: {row['clicks']} clicks in [{row['window_start']}, {row['window_end']})")

# expected:
# ann: 3 clicks in [1, 13)
# bob: 1 clicks in [2, 6)
# bob: 1 clicks in [30, 34)
