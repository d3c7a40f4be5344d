"""raw.positions: one position of a value; a view, since the first position is the value itself."""

from schemas.contract import Contract, natural
from schemas.further_positions import FURTHER_POSITIONS

POSITIONS = Contract(
    "positions",
    "Where a value appears; the first position is its definition (HloPosition).",
    grain="one position of a value",
    key=FURTHER_POSITIONS.key,
    columns={**FURTHER_POSITIONS.columns, "ordinal": natural("Line of the list, from 0.")},
    query="""
SELECT dump_id, value_id, CAST(0 AS BIGINT) AS ordinal, instruction_id, shape_index
FROM raw.hlo_values
WHERE uses_state IS NOT NULL
UNION ALL
SELECT dump_id, value_id, ordinal, instruction_id, shape_index
FROM raw.further_positions
""".strip(),
)
