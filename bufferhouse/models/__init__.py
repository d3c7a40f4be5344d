"""The views of `dbt_like_models/`: read, ordered, built, checked, traced, frozen, translated.

In: one SELECT a file. Out: views and stored tables in a warehouse, lineage, and SQL for other engines.
"""
