-- The tables of raw, made from schemas/, and what the warehouse keeps about itself.
-- zstd stands where DuckDB would choose its own dictionaries, which take three times the bytes there.

CREATE SCHEMA raw;
CREATE SCHEMA meta;

CREATE TABLE raw.runs (
    run_id BIGINT NOT NULL,
    run_name VARCHAR NOT NULL,
    root VARCHAR NOT NULL,
    compiler VARCHAR,
    compiler_version VARCHAR,
    compiler_revision VARCHAR,
    platform VARCHAR,
    track VARCHAR,
    device_kind VARCHAR,
    device_memory_bytes BIGINT,
    device_count BIGINT,
    xla_flags VARCHAR,
    git_revision VARCHAR,
    host VARCHAR,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at_source VARCHAR NOT NULL,
    labels VARCHAR NOT NULL
);

CREATE TABLE raw.loads (
    load_id BIGINT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE NOT NULL,
    parser_version VARCHAR NOT NULL,
    seen_count BIGINT NOT NULL,
    new_count BIGINT NOT NULL,
    known_count BIGINT NOT NULL,
    rejected_count BIGINT NOT NULL,
    text_bytes BIGINT NOT NULL
);

CREATE TABLE raw.observations (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    dump_id BIGINT NOT NULL,
    load_id BIGINT NOT NULL,
    program_id BIGINT NOT NULL,
    source_uri VARCHAR USING COMPRESSION zstd NOT NULL,
    module_id BIGINT,
    module_name VARCHAR,
    program_name VARCHAR NOT NULL,
    stage VARCHAR,
    compile_target VARCHAR,
    compiler_revision VARCHAR,
    dumped_at TIMESTAMP WITH TIME ZONE,
    source_size_bytes BIGINT NOT NULL,
    source_mtime_ns BIGINT
);

CREATE TABLE raw.dumps (
    dump_id BIGINT NOT NULL,
    sha256 VARCHAR NOT NULL,
    text_bytes BIGINT NOT NULL,
    load_id BIGINT NOT NULL,
    signature_id BIGINT NOT NULL,
    entry_signature VARCHAR NOT NULL,
    file_layout VARCHAR NOT NULL,
    text_encoding VARCHAR NOT NULL,
    used_values_state VARCHAR NOT NULL,
    live_range_state VARCHAR NOT NULL,
    total_bytes BIGINT,
    total_human VARCHAR,
    max_position BIGINT,
    reported_peak_position BIGINT,
    has_pointer BOOLEAN NOT NULL,
    has_page BOOLEAN NOT NULL,
    is_glued BOOLEAN NOT NULL,
    has_instruction_texts BOOLEAN NOT NULL,
    has_instruction_space BOOLEAN,
    peak_form VARCHAR,
    none_form VARCHAR,
    stack_trace VARCHAR
);

CREATE TABLE raw.dump_files (
    dump_id BIGINT NOT NULL,
    role VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    text_bytes BIGINT NOT NULL,
    trailing_newlines BIGINT NOT NULL
);

CREATE TABLE raw.allocations (
    dump_id BIGINT NOT NULL,
    allocation_index BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    memory_space BIGINT NOT NULL,
    page BIGINT,
    pointer VARCHAR,
    is_constant BOOLEAN NOT NULL,
    is_thread_local BOOLEAN NOT NULL,
    is_maybe_live_out BOOLEAN NOT NULL,
    parameter_number BIGINT,
    parameter_shape_index VARCHAR,
    parameter_shape_id BIGINT,
    output_shape_id BIGINT,
    has_strict_overlap BOOLEAN NOT NULL
);

CREATE TABLE raw.hlo_values (
    dump_id BIGINT NOT NULL,
    value_id BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    shape_index VARCHAR,
    is_phi BOOLEAN NOT NULL,
    memory_space BIGINT,
    shape_id BIGINT NOT NULL,
    allocation_index BIGINT NOT NULL,
    offset_bytes BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    logical_bytes BIGINT,
    physical_bytes BIGINT,
    uses_state VARCHAR,
    instruction_text_id BIGINT
);

CREATE TABLE raw.cross_color_values (
    dump_id BIGINT NOT NULL,
    allocation_index BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    value_id BIGINT NOT NULL,
    memory_space BIGINT NOT NULL
);

CREATE TABLE raw.positions (
    dump_id BIGINT NOT NULL,
    value_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    shape_index VARCHAR
);

CREATE TABLE raw.uses (
    dump_id BIGINT NOT NULL,
    value_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    operand_number BIGINT NOT NULL,
    operand_shape_index VARCHAR
);

CREATE TABLE raw.instructions (
    dump_id BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    instruction_name VARCHAR NOT NULL,
    schedule_position BIGINT
);

CREATE TABLE raw.instruction_texts (
    dump_id BIGINT NOT NULL,
    instruction_text_id BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    opcode VARCHAR,
    op_name VARCHAR,
    source_file VARCHAR,
    source_line BIGINT,
    stack_frame_id BIGINT,
    custom_call_target VARCHAR,
    result_shape_id BIGINT,
    operand_instruction_ids BIGINT[] NOT NULL,
    instruction_text VARCHAR USING COMPRESSION zstd NOT NULL
);

CREATE TABLE raw.schedule (
    dump_id BIGINT NOT NULL,
    schedule_position BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL
);

CREATE TABLE raw.live_ranges (
    dump_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    shape_index VARCHAR NOT NULL,
    start_position BIGINT NOT NULL,
    end_position BIGINT NOT NULL
);

CREATE TABLE raw.peak_buffers (
    dump_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    shape_index VARCHAR NOT NULL,
    listed_bytes BIGINT NOT NULL,
    cumulative_bytes BIGINT
);

CREATE TABLE raw.shapes (
    shape_id BIGINT NOT NULL,
    shape_text VARCHAR NOT NULL,
    element_type VARCHAR,
    dims BIGINT[],
    layout VARCHAR,
    tiles VARCHAR,
    layout_memory_space BIGINT NOT NULL,
    element_bits BIGINT,
    logical_bytes BIGINT,
    physical_bytes BIGINT,
    tuple_arity BIGINT
);

CREATE TABLE raw.rejects (
    reject_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    load_id BIGINT NOT NULL,
    source_uri VARCHAR NOT NULL,
    relative_path VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    line_number BIGINT,
    column_number BIGINT,
    expected VARCHAR NOT NULL,
    found VARCHAR NOT NULL,
    source_size_bytes BIGINT NOT NULL,
    source_mtime_ns BIGINT,
    content BLOB NOT NULL,
    parser_version VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    rejected_at TIMESTAMP WITH TIME ZONE NOT NULL
);

COMMENT ON TABLE raw.runs IS 'One compiler run: the set of dumps that one compile job left.';
COMMENT ON COLUMN raw.runs.run_id IS 'Number of the run in this warehouse.';
COMMENT ON COLUMN raw.runs.run_name IS 'Name of the run: given, from run.json, or its directory.';
COMMENT ON COLUMN raw.runs.root IS 'Directory, archive or URL the dumps of the run were found in.';
COMMENT ON COLUMN raw.runs.compiler IS 'What embeds XLA: jaxlib, libtpu, tensorflow, torch_xla.';
COMMENT ON COLUMN raw.runs.compiler_version IS 'Version of the compiler.';
COMMENT ON COLUMN raw.runs.compiler_revision IS 'Source revision of the compiler: the CL number on TPU.';
COMMENT ON COLUMN raw.runs.platform IS 'cpu, gpu or tpu.';
COMMENT ON COLUMN raw.runs.track IS 'Label that tells series apart: say, nightly, or a set of flags.';
COMMENT ON COLUMN raw.runs.device_kind IS 'Device the run compiled for, such as TPU v5e.';
COMMENT ON COLUMN raw.runs.device_memory_bytes IS 'Memory of one device, in bytes.';
COMMENT ON COLUMN raw.runs.device_count IS 'Number of devices.';
COMMENT ON COLUMN raw.runs.xla_flags IS 'XLA_FLAGS of the compile job.';
COMMENT ON COLUMN raw.runs.git_revision IS 'Revision of the compiled program''s source.';
COMMENT ON COLUMN raw.runs.host IS 'Host that compiled.';
COMMENT ON COLUMN raw.runs.started_at IS 'When the run started (UTC); orders the runs of a series.';
COMMENT ON COLUMN raw.runs.started_at_source IS 'Where started_at comes from.';
COMMENT ON COLUMN raw.runs.labels IS 'Further labels, as a JSON object.';
COMMENT ON TABLE raw.loads IS 'One committed batch: its rows and this row are one transaction.';
COMMENT ON COLUMN raw.loads.load_id IS 'Number of the load in this warehouse.';
COMMENT ON COLUMN raw.loads.started_at IS 'When the batch was begun (UTC).';
COMMENT ON COLUMN raw.loads.finished_at IS 'When the batch was committed (UTC).';
COMMENT ON COLUMN raw.loads.parser_version IS 'Version of bufferhouse that parsed the batch.';
COMMENT ON COLUMN raw.loads.seen_count IS 'Dumps looked at.';
COMMENT ON COLUMN raw.loads.new_count IS 'Contents that were not in the warehouse.';
COMMENT ON COLUMN raw.loads.known_count IS 'Dumps whose content was in the warehouse already.';
COMMENT ON COLUMN raw.loads.rejected_count IS 'Dumps refused.';
COMMENT ON COLUMN raw.loads.text_bytes IS 'Bytes of text read.';
COMMENT ON TABLE raw.observations IS 'One sighting of a dump: a file of a run. Append-only; staging.observations keeps the newest row of a path.';
COMMENT ON COLUMN raw.observations.run_id IS 'The run the file belongs to.';
COMMENT ON COLUMN raw.observations.relative_path IS 'Path below the run''s root; of a split dump, that of its buffer-assignment file.';
COMMENT ON COLUMN raw.observations.dump_id IS 'The content that was seen.';
COMMENT ON COLUMN raw.observations.load_id IS 'The load that saw it.';
COMMENT ON COLUMN raw.observations.program_id IS 'The program: first 63 bits of the SHA-256 of program name and entry signature.';
COMMENT ON COLUMN raw.observations.source_uri IS 'Where the file was read from, archive members as archive!member.';
COMMENT ON COLUMN raw.observations.module_id IS 'Module id in the file name; identifies nothing beyond its process.';
COMMENT ON COLUMN raw.observations.module_name IS 'Module name in the file name, verbatim; null where the name has none.';
COMMENT ON COLUMN raw.observations.program_name IS 'Module name without the suffixes that count recompiles; (unnamed) where there is none. A weak key.';
COMMENT ON COLUMN raw.observations.stage IS 'Stage in the file name, such as cpu_after_optimizations.';
COMMENT ON COLUMN raw.observations.compile_target IS 'cpu, tpu, or a GPU architecture such as sm_8.0; null where the name does not say.';
COMMENT ON COLUMN raw.observations.compiler_revision IS 'CL number in the file name (.cl_N).';
COMMENT ON COLUMN raw.observations.dumped_at IS 'Time stamp in the file name (--xla_dump_include_timestamp).';
COMMENT ON COLUMN raw.observations.source_size_bytes IS 'Size of the file or files as they lie there, compressed ones as such.';
COMMENT ON COLUMN raw.observations.source_mtime_ns IS 'Modification time of the newest of them, in nanoseconds since 1970.';
COMMENT ON TABLE raw.dumps IS 'One content: a buffer-assignment dump, stored once however often it was seen.';
COMMENT ON COLUMN raw.dumps.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.dumps.sha256 IS 'SHA-256 of the file, or of `suffix LF hex LF` over the files of a split dump.';
COMMENT ON COLUMN raw.dumps.text_bytes IS 'Bytes of all its files.';
COMMENT ON COLUMN raw.dumps.load_id IS 'The load that brought the content.';
COMMENT ON COLUMN raw.dumps.signature_id IS 'First 63 bits of the SHA-256 of entry_signature.';
COMMENT ON COLUMN raw.dumps.entry_signature IS 'Element types and dimensions of every parameter leaf and of the output, without layout.';
COMMENT ON COLUMN raw.dumps.file_layout IS 'One file or split files (since jaxlib 0.10).';
COMMENT ON COLUMN raw.dumps.text_encoding IS 'utf-8, or latin-1 where the bytes are not valid UTF-8.';
COMMENT ON COLUMN raw.dumps.used_values_state IS 'Whether the section `Used values:` is there.';
COMMENT ON COLUMN raw.dumps.live_range_state IS 'State of the section HloLiveRange; unbounded: XLA could not name a peak.';
COMMENT ON COLUMN raw.dumps.total_bytes IS '`Total bytes used`: the sum of all allocation sizes over all memory spaces. Not a peak.';
COMMENT ON COLUMN raw.dumps.total_human IS 'The same as printed for people, such as 18.5KiB.';
COMMENT ON COLUMN raw.dumps.max_position IS 'Number of schedule lines; position max_position is the end of the program.';
COMMENT ON COLUMN raw.dumps.reported_peak_position IS 'Position XLA prints as `(peak)`; often not the peak.';
COMMENT ON COLUMN raw.dumps.has_pointer IS 'Headers show process addresses (before 2022-09).';
COMMENT ON COLUMN raw.dumps.has_page IS 'Headers show a page (since 2026-08).';
COMMENT ON COLUMN raw.dumps.is_glued IS 'The line feed behind instructions is missing (jaxlib 0.4.24 to 0.4.35).';
COMMENT ON COLUMN raw.dumps.has_instruction_texts IS 'Blocks end in the text of the defining instruction (since 2021-09).';
COMMENT ON COLUMN raw.dumps.has_instruction_space IS 'A space stands behind `from instruction:` (since jaxlib 0.4.24).';
COMMENT ON COLUMN raw.dumps.peak_form IS 'What a peak line shows: name, name and index, or also the cumulative sum.';
COMMENT ON COLUMN raw.dumps.none_form IS 'How an empty use list is printed: as nothing, or as (none) (since jaxlib 0.10.2).';
COMMENT ON COLUMN raw.dumps.stack_trace IS 'The stack trace breakdown of the peak, verbatim (since jaxlib 0.7.1).';
COMMENT ON TABLE raw.dump_files IS 'The files of a dump.';
COMMENT ON COLUMN raw.dump_files.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.dump_files.role IS 'Which file: combined, or allocations, values, live_range of a split dump.';
COMMENT ON COLUMN raw.dump_files.sha256 IS 'SHA-256 of the file.';
COMMENT ON COLUMN raw.dump_files.text_bytes IS 'Bytes of the file.';
COMMENT ON COLUMN raw.dump_files.trailing_newlines IS 'Line feeds behind the last section, beyond what the grammar asks for.';
COMMENT ON TABLE raw.allocations IS 'One contiguous reservation of memory (BufferAllocation).';
COMMENT ON COLUMN raw.allocations.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.allocations.allocation_index IS 'Index of the allocation in its dump, from 0.';
COMMENT ON COLUMN raw.allocations.size_bytes IS 'Bytes reserved, rounded up by the backend.';
COMMENT ON COLUMN raw.allocations.memory_space IS 'Memory space (XLA prints it as color); 0, the default, is not printed.';
COMMENT ON COLUMN raw.allocations.page IS 'Page of the heap, null where none is printed.';
COMMENT ON COLUMN raw.allocations.pointer IS 'Process address, null where none is printed.';
COMMENT ON COLUMN raw.allocations.is_constant IS 'Holds a constant.';
COMMENT ON COLUMN raw.allocations.is_thread_local IS 'Belongs to each thread of a called computation; never part of a device''s total.';
COMMENT ON COLUMN raw.allocations.is_maybe_live_out IS 'May hold an output.';
COMMENT ON COLUMN raw.allocations.parameter_number IS 'Entry parameter it holds.';
COMMENT ON COLUMN raw.allocations.parameter_shape_index IS 'Which leaf of the parameter.';
COMMENT ON COLUMN raw.allocations.parameter_shape_id IS 'Shape printed for the parameter: the whole one before jaxlib 0.7.2, the leaf''s since.';
COMMENT ON COLUMN raw.allocations.output_shape_id IS 'Shape of the program''s output, on the one allocation that holds its root.';
COMMENT ON COLUMN raw.allocations.has_strict_overlap IS 'Values share bytes otherwise than in pairs that touch; occupied bytes are then swept per address segment.';
COMMENT ON TABLE raw.hlo_values IS 'One value placed in an allocation (HloValue).';
COMMENT ON COLUMN raw.hlo_values.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.hlo_values.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.hlo_values.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.hlo_values.shape_index IS 'Which part of the instruction''s result; null = not printed, the result is no tuple.';
COMMENT ON COLUMN raw.hlo_values.is_phi IS 'Merges values of a loop or a conditional.';
COMMENT ON COLUMN raw.hlo_values.memory_space IS 'Memory space of the value; null where none is printed.';
COMMENT ON COLUMN raw.hlo_values.shape_id IS 'Its shape, in raw.shapes.';
COMMENT ON COLUMN raw.hlo_values.allocation_index IS 'Index of the allocation in its dump, from 0.';
COMMENT ON COLUMN raw.hlo_values.offset_bytes IS 'Where its slot begins in the allocation.';
COMMENT ON COLUMN raw.hlo_values.size_bytes IS 'Its slot: bytes the backend gives it, padding included.';
COMMENT ON COLUMN raw.hlo_values.logical_bytes IS 'Bytes of its elements without any padding; 8 per element for a tuple''s pointer table.';
COMMENT ON COLUMN raw.hlo_values.physical_bytes IS 'Bytes of its elements laid out in tiles.';
COMMENT ON COLUMN raw.hlo_values.uses_state IS 'Whether uses are listed, none (empty), or not computed; null without the section.';
COMMENT ON COLUMN raw.hlo_values.instruction_text_id IS 'Text of its instruction, in raw.instruction_texts.';
COMMENT ON TABLE raw.cross_color_values IS 'Values of another memory space that reuse an allocation (GPU, since 2026-06). They are rows of hlo_values too.';
COMMENT ON COLUMN raw.cross_color_values.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.cross_color_values.allocation_index IS 'Index of the allocation in its dump, from 0.';
COMMENT ON COLUMN raw.cross_color_values.ordinal IS 'Line of the block, from 0.';
COMMENT ON COLUMN raw.cross_color_values.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.cross_color_values.memory_space IS 'Memory space (XLA prints it as color); 0, the default, is not printed.';
COMMENT ON TABLE raw.positions IS 'Where a value appears; the first position is its definition (HloPosition).';
COMMENT ON COLUMN raw.positions.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.positions.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.positions.ordinal IS 'Line of the list, from 0.';
COMMENT ON COLUMN raw.positions.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.positions.shape_index IS 'Which part of the instruction''s result; null = not printed.';
COMMENT ON TABLE raw.uses IS 'Who reads a value (HloUse).';
COMMENT ON COLUMN raw.uses.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.uses.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.uses.ordinal IS 'Line of the list, from 0.';
COMMENT ON COLUMN raw.uses.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.uses.operand_number IS 'Operand of the user.';
COMMENT ON COLUMN raw.uses.operand_shape_index IS 'Which part of the operand; null = not printed.';
COMMENT ON TABLE raw.instructions IS 'Every instruction name a dump mentions.';
COMMENT ON COLUMN raw.instructions.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.instructions.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.instructions.instruction_name IS 'Name of the instruction, unique in its module.';
COMMENT ON COLUMN raw.instructions.schedule_position IS 'Its line in the schedule; null for instructions outside it.';
COMMENT ON TABLE raw.instruction_texts IS 'The text of an instruction, stored once per dump (HloInstruction::ToString), and what can be read in it.';
COMMENT ON COLUMN raw.instruction_texts.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.instruction_texts.instruction_text_id IS 'Number of the text in its dump, from 0.';
COMMENT ON COLUMN raw.instruction_texts.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.instruction_texts.opcode IS 'Operation, such as fusion or copy-start.';
COMMENT ON COLUMN raw.instruction_texts.op_name IS 'Name of the framework operation, unescaped.';
COMMENT ON COLUMN raw.instruction_texts.source_file IS 'Source file of the user''s program.';
COMMENT ON COLUMN raw.instruction_texts.source_line IS 'Line in it.';
COMMENT ON COLUMN raw.instruction_texts.stack_frame_id IS 'Stack frame that replaces file and line since jaxlib 0.8.2.';
COMMENT ON COLUMN raw.instruction_texts.custom_call_target IS 'Target of a custom call.';
COMMENT ON COLUMN raw.instruction_texts.result_shape_id IS 'Shape of its result, in raw.shapes: of a tuple the whole tuple.';
COMMENT ON COLUMN raw.instruction_texts.operand_instruction_ids IS 'Its operands, in order: instructions of the same dump.';
COMMENT ON COLUMN raw.instruction_texts.instruction_text IS 'The text as printed.';
COMMENT ON TABLE raw.schedule IS 'The order in which instructions run (InstructionSequence).';
COMMENT ON COLUMN raw.schedule.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.schedule.schedule_position IS 'Line of the schedule, from 0.';
COMMENT ON COLUMN raw.schedule.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON TABLE raw.live_ranges IS 'When a value is alive (BufferLiveRange).';
COMMENT ON COLUMN raw.live_ranges.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.live_ranges.ordinal IS 'Line of the list, from 0.';
COMMENT ON COLUMN raw.live_ranges.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.live_ranges.shape_index IS 'Which part of the instruction''s result; always printed.';
COMMENT ON COLUMN raw.live_ranges.start_position IS 'First position at which it is alive.';
COMMENT ON COLUMN raw.live_ranges.end_position IS 'Last position at which it is alive: ranges are closed.';
COMMENT ON TABLE raw.peak_buffers IS 'The values XLA lists at its printed peak.';
COMMENT ON COLUMN raw.peak_buffers.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.peak_buffers.ordinal IS 'Line of the list, from 0.';
COMMENT ON COLUMN raw.peak_buffers.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.peak_buffers.shape_index IS 'Which part of the instruction''s result; recovered where it is not printed (before jaxlib 0.6.0).';
COMMENT ON COLUMN raw.peak_buffers.listed_bytes IS 'Bytes as printed: the value''s logical bytes, or before jaxlib 0.6.0 those of its whole instruction.';
COMMENT ON COLUMN raw.peak_buffers.cumulative_bytes IS 'Sum of the lines so far, where printed.';
COMMENT ON TABLE raw.shapes IS 'Shapes, interned over all dumps, and what they mean in bytes.';
COMMENT ON COLUMN raw.shapes.shape_id IS 'Number of the shape in this warehouse.';
COMMENT ON COLUMN raw.shapes.shape_text IS 'The shape as printed.';
COMMENT ON COLUMN raw.shapes.element_type IS 'Element type; null for a tuple.';
COMMENT ON COLUMN raw.shapes.dims IS 'Dimensions; a bound counts as its dimension, null stands for an unbounded one.';
COMMENT ON COLUMN raw.shapes.layout IS 'Minor-to-major order of the dimensions; null where no layout is printed.';
COMMENT ON COLUMN raw.shapes.tiles IS 'Tiles, such as (8,128)(2,1).';
COMMENT ON COLUMN raw.shapes.layout_memory_space IS 'Memory space in the layout, S(n).';
COMMENT ON COLUMN raw.shapes.element_bits IS 'Bits of one element as stored.';
COMMENT ON COLUMN raw.shapes.logical_bytes IS 'Bytes of its elements without padding (ShapeUtil::ByteSizeOf).';
COMMENT ON COLUMN raw.shapes.physical_bytes IS 'Bytes of its elements laid out in tiles.';
COMMENT ON COLUMN raw.shapes.tuple_arity IS 'Number of elements of a tuple.';
COMMENT ON TABLE raw.rejects IS 'Input that was refused, with its bytes, so that a later parser can try again.';
COMMENT ON COLUMN raw.rejects.reject_id IS 'Number of the reject in this warehouse.';
COMMENT ON COLUMN raw.rejects.run_id IS 'The run it was found in.';
COMMENT ON COLUMN raw.rejects.load_id IS 'The load that refused it.';
COMMENT ON COLUMN raw.rejects.source_uri IS 'Where it was read from.';
COMMENT ON COLUMN raw.rejects.relative_path IS 'Path below the run''s root.';
COMMENT ON COLUMN raw.rejects.sha256 IS 'Identity of its content, as in raw.dumps.';
COMMENT ON COLUMN raw.rejects.role IS 'Which file of the dump is at fault.';
COMMENT ON COLUMN raw.rejects.rule IS 'grammar, contract:<table.column> or check:<name>; assertions of the reader by name.';
COMMENT ON COLUMN raw.rejects.line_number IS 'Line of the fault, from 1.';
COMMENT ON COLUMN raw.rejects.column_number IS 'Column of the fault, from 1.';
COMMENT ON COLUMN raw.rejects.expected IS 'What was expected there.';
COMMENT ON COLUMN raw.rejects.found IS 'What was found.';
COMMENT ON COLUMN raw.rejects.source_size_bytes IS 'Size of the file or files as they lie there.';
COMMENT ON COLUMN raw.rejects.source_mtime_ns IS 'Modification time of the newest of them, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.rejects.content IS 'The bytes, compressed by zstd; of a split dump, a tar of its files.';
COMMENT ON COLUMN raw.rejects.parser_version IS 'Version of bufferhouse that refused it.';
COMMENT ON COLUMN raw.rejects.state IS 'open, replayed (a later parser took it) or resolved (the file was repaired).';
COMMENT ON COLUMN raw.rejects.rejected_at IS 'When it was refused (UTC).';

CREATE TABLE meta.migrations (
    version BIGINT NOT NULL,
    migration_name VARCHAR NOT NULL,
    applied_at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON TABLE meta.migrations IS 'Schema versions this warehouse has been through.';

CREATE TABLE meta.settings (
    name VARCHAR NOT NULL,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE meta.settings IS 'Single facts about the warehouse: the fingerprint of its models.';

CREATE TABLE meta.models (
    model_name VARCHAR NOT NULL,
    layer VARCHAR NOT NULL,
    ordinal BIGINT NOT NULL,
    is_incremental BOOLEAN NOT NULL,
    severity VARCHAR,
    purpose VARCHAR NOT NULL,
    grain VARCHAR[] NOT NULL,
    reads VARCHAR[] NOT NULL,
    model_sql VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    built_at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON TABLE meta.models IS 'The models as they were built, in the order in which they can be.';
