"""What `bench/spark_sliding.py` should reach: native ÷ Millstream, by rows an epoch, keys and range/slide."""

TARGETS = {
    "500k-100-60": 5,
    "2M-100-60": 10,
    "500k-10k-60": 10,
    "500k-100-5": 2,
    "2M-100-5": 2,
    "500k-100-1": 1,
    "10-100-60": 1,
}

JOINS = {"HDFS-backed": 8, "RocksDB": 20}
"""What `bench/join.py` should reach: native ÷ Millstream, by native's state store."""

PEERS = {
    "flink": ("spark", ("W2-20", "W2-60", "W3-60", "W4-5", "W4-30", "W6")),
    "bytewax": ("local", ("W1", "W2-5", "W2-20", "W2-60", "W3-60", "W4-5", "W4-30", "W5", "W6", "W7")),
}
"""Where `bench/peers` should find Millstream ahead: by peer, Millstream's host and the workloads."""
