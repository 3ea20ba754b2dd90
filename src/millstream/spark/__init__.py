"""The Spark host: the only importer of pyspark."""
