"""A join of three streams as one operator: an order, its payment and its parcel, with a different key for each two."""

import millstream as ms

engine = ms.Engine(host="local")
orders = engine.stream(
    "orders",
    [{"ts": 1, "order_id": 7, "item": "lamp"}, {"ts": 2, "order_id": 8, "item": "sofa"}],
    progress=ms.bounded_disorder("ts", 5),
)
payments = engine.stream(
    "payments",
    [{"ts": 4, "order_id": 7, "receipt": "r1"}, {"ts": 3, "order_id": 8, "receipt": "r2"}],
    progress=ms.bounded_disorder("ts", 5),
)
parcels = engine.stream(
    "parcels",
    [{"ts": 9, "receipt": "r1"}, {"ts": 30, "receipt": "r2"}],
    progress=ms.bounded_disorder("ts", 5),
)
sent = ms.join(
    orders,
    payments,
    parcels,
    on=[("orders.order_id", "payments.order_id"), ("payments.receipt", "parcels.receipt")],
    within={("orders", "payments"): 5, ("payments", "parcels"): (0, 10)},
).named("sent")
engine.start(ms.available_now(), end_of_stream=True).await_termination()
for row in sent.table().to_pylist():
    print(row["item"], row["orders_ts"], row["payments_ts"], row["parcels_ts"])

# expected:
# lamp 1 4 9
