"""The compiler's own proto beside a dump, or instead of it: `HloProto` (xla/service/hlo.proto).

Read in this order: `hlo.proto` (what is read of it), `assignment` (allocations and slots), `heap` (the events of the
heap simulator, replayed), `alias_sets`, `shape_text` and `module` (names, shapes and texts of instructions), `dump` (a
proto as a dump). Protos come from anywhere: what is refused is refused before it can fill the memory.
"""

from bufferhouse.proto.errors import ProtoError

__all__ = ["ProtoError"]
