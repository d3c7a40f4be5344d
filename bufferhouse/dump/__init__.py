"""Buffer-assignment dumps: text to columns and back, byte for byte. Standard library only.

Read the files in the order of a dump: `grammar` (what each line may be), `parse` (bytes to columns), `allocations`,
`used_values` and `instruction_end` (the used values and where their only free text ends), `live_range` and
`stack_trace` (the last sections), `tiling` (the proof that no block was skipped), `columns` (what a parsed dump is),
`instruction_text` (what the instruction texts say), `render` (columns to the same bytes), `diagnose` and
`diagnose_lines` (where a refused input stops being a dump).
"""

from bufferhouse.dump.columns import Dump
from bufferhouse.dump.errors import DumpError
from bufferhouse.dump.parse import parse
from bufferhouse.dump.render import render

__all__ = ["Dump", "DumpError", "parse", "render"]
