"""The contracts and the marts in the languages of other tools: data contracts (ODCS), JSON Schema, dbt.

In: `schemas/` and `dbt_like_models/`. Out: texts of files. Nothing is declared here.
"""
