"""The contracts: every table of the warehouse, its columns, types, ranges, descriptions and keys, declared once.

Pandera validates batches with them, and catalogs and contracts for other tools are made from them. The migrations say
the same once more, in tables, views and comments, and tests hold them to that.
"""

from schemas.alias_sets import ALIAS_SETS
from schemas.allocations import ALLOCATIONS
from schemas.compile_flags import COMPILE_FLAGS
from schemas.cross_color_values import CROSS_COLOR_VALUES
from schemas.donations import DONATIONS
from schemas.dump_files import DUMP_FILES
from schemas.dumps import DUMPS
from schemas.further_positions import FURTHER_POSITIONS
from schemas.heap_events import HEAP_EVENTS
from schemas.hlo_values import HLO_VALUES
from schemas.instruction_texts import INSTRUCTION_TEXTS
from schemas.instructions import INSTRUCTIONS
from schemas.live_ranges import LIVE_RANGES
from schemas.loads import LOADS
from schemas.observations import OBSERVATIONS
from schemas.oom_allocations import OOM_ALLOCATIONS
from schemas.oom_figures import OOM_FIGURES
from schemas.oom_logs import OOM_LOGS
from schemas.oom_messages import OOM_MESSAGES
from schemas.oom_ranks import OOM_RANKS
from schemas.packings import PACKINGS
from schemas.peak_buffers import PEAK_BUFFERS
from schemas.positions import POSITIONS
from schemas.protos import PROTOS
from schemas.pruned_runs import PRUNED_RUNS
from schemas.rejects import REJECTS
from schemas.runs import RUNS
from schemas.schedule import SCHEDULE
from schemas.shapes import SHAPES
from schemas.stack_frames import STACK_FRAMES
from schemas.uses import USES

# In the order in which a reader meets them: who compiled, what was seen, what a dump holds, what was refused.
TABLES = {
    contract.name: contract
    for contract in (
        RUNS,
        LOADS,
        OBSERVATIONS,
        DUMPS,
        DUMP_FILES,
        ALLOCATIONS,
        HLO_VALUES,
        CROSS_COLOR_VALUES,
        POSITIONS,
        FURTHER_POSITIONS,
        USES,
        INSTRUCTIONS,
        INSTRUCTION_TEXTS,
        SCHEDULE,
        LIVE_RANGES,
        PEAK_BUFFERS,
        PROTOS,
        SHAPES,
        STACK_FRAMES,
        PACKINGS,
        DONATIONS,
        COMPILE_FLAGS,
        HEAP_EVENTS,
        ALIAS_SETS,
        OOM_LOGS,
        OOM_MESSAGES,
        OOM_FIGURES,
        OOM_ALLOCATIONS,
        OOM_RANKS,
        REJECTS,
        PRUNED_RUNS,
    )
}

# Views of raw: what other tables say already is not stored again.
DERIVED = {name: contract.query for name, contract in TABLES.items() if contract.query is not None}
