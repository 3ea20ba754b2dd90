"""Messages between processes: whether a plan forgets depends on what its streams promise, and two promises will do."""

import millstream as ms

MINUTE = 60
sent = [{"at": 959 * MINUTE + 30, "src": 1, "dst": 2}, {"at": 959 * MINUTE + 45, "src": 1, "dst": 3}]
answered = [{"at": 959 * MINUTE + 40, "src": 2, "dst": 1}]

# Either time passes, or processes end. The punctuation comes with the rows, after them.
minute_over = [ms.punctuation("at", before=960 * MINUTE)]
passing = (ms.supplied("at"), minute_over), (ms.supplied("at"), minute_over)
ending = (ms.supplied(per="src"), [ms.punctuation(src=1)]), (ms.supplied(per="dst"), [ms.punctuation(dst=1)])

for style, sides in (("time passes", passing), ("processes end", ending)):
    engine = ms.Engine(host="local")
    counts = []
    for name, rows, (progress, punctuations) in zip(("sent", "answered"), (sent, answered), sides, strict=True):
        stream = engine.stream(name, [ms.Epoch(rows, punctuations)], progress=progress)
        per_minute = stream.window("at", range=MINUTE).group_by("src", "dst").agg(n=ms.count())
        counts.append(per_minute.named(f"{name}_per_minute"))
    safe = engine.check().safe
    engine.start(ms.available_now()).await_termination()  # not the end of the streams: punctuation closes the minute

    # The join of both is checked too. It cannot run yet, so that here a dict pairs the counts.
    counts[0].join(counts[1], on=["window_id", ("src", "dst"), ("dst", "src")]).named("ratio")
    there = {(row["window_id"], row["dst"], row["src"]): row["n"] for row in counts[1].table().to_pylist()}
    print(f"{style}: counts safe: {safe}, with the join: {engine.check().safe}")
    for row in counts[0].table().to_pylist():
        key = row["window_id"], row["src"], row["dst"]
        if key in there:
            print("  minute, from, to, sent, answered:", *key, row["n"], there[key])

# And a plan that never forgets is refused before it starts, with what would help.
engine = ms.Engine(host="local")
stream = engine.stream("sent", sent, progress=ms.ordered("at"))
stream.group_by("src").agg(n=ms.count()).named("for_ever")
print(*str(engine.check()).splitlines()[-2:], sep="\n")

# expected:
# time passes: counts safe: True, with the join: True
#   minute, from, to, sent, answered: 959 1 2 1 1
# processes end: counts safe: True, with the join: True
#   minute, from, to, sent, answered: 959 1 2 1 1
#   one of these would do:
#     sent: ms.supplied(per="src")
