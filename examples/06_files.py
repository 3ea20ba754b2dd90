"""CSV in, JSON lines out: each file is an epoch, and a line that cannot be read is set apart."""

from pathlib import Path

import millstream as ms

Path("in").mkdir(exist_ok=True)
Path("in/1.csv").write_text("ts,item,price\n1,lamp,20\n7,sofa,95\n4,lamp,25\n")
Path("in/2.csv").write_text("ts,item,price\n13,lamp,cheap\n18,sofa,90\n")

engine = ms.Engine(host="local")
bids = engine.stream("bids", "in", progress=ms.bounded_disorder("ts", 5))
top = bids.window("ts", range=10).group_by("item").agg(top=ms.max("price")).named("top")
top.to_json("out")
engine.start(ms.available_now()).await_termination()

for path in sorted(Path("out").glob("part-*")):
    print(path.read_text().strip())
for row in top.rejected.table().to_pylist():
    print("rejected:", row["raw"], "because", row["reason"])

# expected:
# {"window_id": 0, "window_start": 0, "window_end": 10, "item": "lamp", "top": 25}
# {"window_id": 0, "window_start": 0, "window_end": 10, "item": "sofa", "top": 95}
# rejected: 13,lamp,cheap because 2.csv line 2: column "price": "cheap" is not int64
