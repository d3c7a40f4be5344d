"""A warehouse as a lake: tables as Parquet files in a folder or a bucket, transactions in a catalog of DuckLake.

The catalog lies in PostgreSQL, for workers on several hosts, or in a file of DuckDB, for one process at a time.
"""
