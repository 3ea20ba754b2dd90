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
