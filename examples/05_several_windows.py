"""Traffic over the last hour, twelve hours and day, from one set of panes."""

from datetime import UTC, datetime, timedelta

import millstream as ms

midnight = datetime(2026, 1, 1, tzinfo=UTC)
rows = [{"ts": midnight + timedelta(minutes=20 * i), "cars": i % 7} for i in range(3 * 24 * 2)]

engine = ms.Engine(host="local")
traffic = engine.stream("traffic", rows, progress=ms.ordered("ts"))
sums = (
    traffic.window("ts", range=["1 hour", "12 hours", "24 hours"], slide="1 hour", start=midnight)
    .agg(cars=ms.sum("cars"))
    .named("sums")
)
engine.start(ms.available_now()).await_termination()

print(engine.explain())
at_noon = [row for row in sums.table().to_pylist() if row["window_end"] == midnight + timedelta(hours=36)]
for row in sorted(at_noon, key=lambda one: one["window_start"]):
    print(f"{row['window_start']:%d %H:%M} – {row['window_end']:%d %H:%M}: {row['cars']} cars")

# expected:
# query sums
# └─ aggregate: cars = sum(cars) [kernel]
#       window range 3600 s slide 3600 s on ts from 2026-01-01T00:00:00+00:00 [CF]
#       window range 43200 s slide 3600 s on ts from 2026-01-01T00:00:00+00:00 [CF]
#       window range 86400 s slide 3600 s on ts from 2026-01-01T00:00:00+00:00 [CF]
#       panes of 3600 s, 1 and 12 and 24 per window
#       strategy paned (auto: 3 windows share one set of panes)
#    └─ stream traffic: ordered on ts [kernel]
# 01 12:00 – 02 12:00: 213 cars
# 02 00:00 – 02 12:00: 107 cars
# 02 11:00 – 02 12:00: 3 cars
