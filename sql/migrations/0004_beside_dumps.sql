-- What lies beside dumps: messages about programs that did not fit, options of compilations, arguments that are offered,
-- protos, which may also stand in the place of a text; and how tightly arenas can be packed.

CREATE TABLE raw.oom_logs (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    load_id BIGINT NOT NULL,
    source_uri VARCHAR NOT NULL,
    source_size_bytes BIGINT NOT NULL,
    source_mtime_ns BIGINT,
    message_count BIGINT NOT NULL,
    refused_count BIGINT NOT NULL,
    messages_load_id BIGINT NOT NULL,
    replaced_load_id BIGINT
);

CREATE TABLE raw.oom_messages (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    load_id BIGINT NOT NULL,
    message_number BIGINT NOT NULL,
    message_id BIGINT NOT NULL,
    dialect VARCHAR NOT NULL,
    line_number BIGINT NOT NULL,
    memory_space_name VARCHAR,
    module_name VARCHAR,
    instruction_name VARCHAR,
    shape_text VARCHAR,
    tag VARCHAR,
    is_failure BOOLEAN NOT NULL,
    capacity_bytes BIGINT,
    fault_text VARCHAR,
    message_text VARCHAR NOT NULL
);

CREATE TABLE raw.oom_figures (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    load_id BIGINT NOT NULL,
    message_number BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    figure_name VARCHAR NOT NULL,
    printed_text VARCHAR NOT NULL,
    size_bytes BIGINT,
    nominal_bytes BIGINT NOT NULL,
    least_bytes BIGINT,
    most_bytes BIGINT,
    told_bytes BIGINT,
    told_rule VARCHAR,
    is_told BOOLEAN NOT NULL
);

CREATE TABLE raw.oom_allocations (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    load_id BIGINT NOT NULL,
    message_number BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    listed_number BIGINT NOT NULL,
    printed_text VARCHAR NOT NULL,
    nominal_bytes BIGINT,
    instruction_name VARCHAR,
    op_name VARCHAR,
    source_file VARCHAR,
    source_line BIGINT,
    shape_text VARCHAR,
    unpadded_text VARCHAR,
    padding_text VARCHAR,
    tag VARCHAR,
    label VARCHAR,
    allocation_type VARCHAR
);

CREATE TABLE raw.oom_ranks (
    run_id BIGINT NOT NULL,
    relative_path VARCHAR NOT NULL,
    load_id BIGINT NOT NULL,
    message_number BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    rank_name VARCHAR NOT NULL
);

CREATE TABLE raw.compile_flags (
    compile_flags_id BIGINT NOT NULL,
    origin VARCHAR NOT NULL,
    flag_name VARCHAR NOT NULL,
    flag_value VARCHAR NOT NULL
);

CREATE TABLE raw.donations (
    donations_id BIGINT NOT NULL,
    parameter_number BIGINT NOT NULL,
    parameter_shape_index VARCHAR NOT NULL,
    output_shape_index VARCHAR,
    kind VARCHAR NOT NULL
);

CREATE TABLE raw.protos (
    dump_id BIGINT NOT NULL,
    proto BLOB NOT NULL
);

CREATE TABLE raw.heap_events (
    heap_events_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    trace_number BIGINT NOT NULL,
    traced_allocation_index BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    value_id BIGINT NOT NULL,
    shared_value_id BIGINT,
    size_bytes BIGINT NOT NULL,
    memory_space BIGINT NOT NULL,
    alive_bytes BIGINT NOT NULL,
    computation_name VARCHAR NOT NULL,
    instruction_name VARCHAR NOT NULL
);

CREATE TABLE raw.alias_sets (
    alias_sets_id BIGINT NOT NULL,
    first_value_id BIGINT NOT NULL,
    value_id BIGINT NOT NULL
);

CREATE TABLE raw.packings (
    dump_id BIGINT NOT NULL,
    allocation_index BIGINT NOT NULL,
    alignment_bytes BIGINT NOT NULL,
    lower_bound_bytes BIGINT NOT NULL,
    packed_bytes BIGINT NOT NULL,
    packer VARCHAR NOT NULL,
    is_cut_short BOOLEAN NOT NULL
);

-- In one transaction DuckDB adds no column to a table of which the migration before has changed rows: the table is
-- written anew.
CREATE TABLE raw.observations_anew (
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
    source_mtime_ns BIGINT,
    module_text_size_bytes BIGINT,
    module_text_mtime_ns BIGINT,
    stack_frames_id BIGINT,
    stack_frames_fault VARCHAR,
    replaced_load_id BIGINT,
    did_not_fit BOOLEAN,
    compile_flags_ids BIGINT[],
    compile_flags_size_bytes BIGINT,
    compile_flags_mtime_ns BIGINT,
    compile_flags_fault VARCHAR,
    donations_id BIGINT,
    proto_size_bytes BIGINT,
    proto_mtime_ns BIGINT,
    heap_events_id BIGINT,
    alias_sets_id BIGINT,
    proto_fault VARCHAR,
    proto_difference VARCHAR,
    stand_in_path VARCHAR,
    stand_in_load_id BIGINT
);

INSERT INTO raw.observations_anew BY NAME
SELECT
    run_id,
    relative_path,
    dump_id,
    load_id,
    program_id,
    source_uri,
    module_id,
    module_name,
    program_name,
    stage,
    compile_target,
    compiler_revision,
    dumped_at,
    source_size_bytes,
    source_mtime_ns,
    module_text_size_bytes,
    module_text_mtime_ns,
    stack_frames_id,
    stack_frames_fault,
    replaced_load_id
FROM raw.observations;

DROP TABLE raw.observations;

ALTER TABLE raw.observations_anew RENAME TO observations;

COMMENT ON TABLE raw.oom_logs IS 'One reading of a log that lies beside dumps. Append-only; staging.oom_logs keeps the newest row of a path.';
COMMENT ON COLUMN raw.oom_logs.run_id IS 'The run that the log is of.';
COMMENT ON COLUMN raw.oom_logs.relative_path IS 'The log: its path below the run''s root, from there with .. where it lies beside, else whole.';
COMMENT ON COLUMN raw.oom_logs.load_id IS 'The load that read it.';
COMMENT ON COLUMN raw.oom_logs.source_uri IS 'Where it was read from, archive members as archive!member.';
COMMENT ON COLUMN raw.oom_logs.source_size_bytes IS 'Size of the file as it lies there.';
COMMENT ON COLUMN raw.oom_logs.source_mtime_ns IS 'Its modification time, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.oom_logs.message_count IS 'Messages about memory that does not suffice, alike ones once.';
COMMENT ON COLUMN raw.oom_logs.refused_count IS 'Lines that begin like a message and are none that is known.';
COMMENT ON COLUMN raw.oom_logs.messages_load_id IS 'The load that stored its messages: an older one where they are the same since.';
COMMENT ON COLUMN raw.oom_logs.replaced_load_id IS 'The load of the row of this log that was the newest until then; null for its first row.';

COMMENT ON TABLE raw.oom_messages IS 'What XLA says in a log of a program that does not fit, and JAX of a donation; what ranks say alike is one row.';
COMMENT ON COLUMN raw.oom_messages.run_id IS 'The run that the log is of.';
COMMENT ON COLUMN raw.oom_messages.relative_path IS 'The log: its path below the run''s root, from there with .. where it lies beside, else whole.';
COMMENT ON COLUMN raw.oom_messages.load_id IS 'The load that stored the message.';
COMMENT ON COLUMN raw.oom_messages.message_number IS 'Number of the message in its log, from 0.';
COMMENT ON COLUMN raw.oom_messages.message_id IS 'What it says: first 63 bits of a SHA-256; equal in all logs and ranks that say it.';
COMMENT ON COLUMN raw.oom_messages.dialect IS 'Form of the message: T1 to T8 of TPU, G1 and G2 of GPU, R a warning of rematerialization, D of donation.';
COMMENT ON COLUMN raw.oom_messages.line_number IS 'Line of the log in which it first begins, from 1.';
COMMENT ON COLUMN raw.oom_messages.memory_space_name IS 'Memory that does not suffice: hbm, vmem, smem.';
COMMENT ON COLUMN raw.oom_messages.module_name IS 'Module that it names, verbatim; most name none.';
COMMENT ON COLUMN raw.oom_messages.instruction_name IS 'Instruction that it names.';
COMMENT ON COLUMN raw.oom_messages.shape_text IS 'Shape that it names.';
COMMENT ON COLUMN raw.oom_messages.tag IS 'What the allocation that did not fit is for.';
COMMENT ON COLUMN raw.oom_messages.is_failure IS 'Says that something did not fit; a warning of rematerialization does not.';
COMMENT ON COLUMN raw.oom_messages.capacity_bytes IS 'Bytes that it did not fit into, as far as the printed figure tells them.';
COMMENT ON COLUMN raw.oom_messages.fault_text IS 'Why its figures are not relied on: it is cut, say; null where they are.';
COMMENT ON COLUMN raw.oom_messages.message_text IS 'Its lines, verbatim, without what loggers and launchers write before them.';

COMMENT ON TABLE raw.oom_figures IS 'The figures of messages, as printed, and what the message alone proves of each.';
COMMENT ON COLUMN raw.oom_figures.run_id IS 'The run that the log is of.';
COMMENT ON COLUMN raw.oom_figures.relative_path IS 'The log: its path below the run''s root, from there with .. where it lies beside, else whole.';
COMMENT ON COLUMN raw.oom_figures.load_id IS 'The load that stored the message.';
COMMENT ON COLUMN raw.oom_figures.message_number IS 'Number of the message in its log, from 0.';
COMMENT ON COLUMN raw.oom_figures.ordinal IS 'Place of the figure in the message, from 0.';
COMMENT ON COLUMN raw.oom_figures.figure_name IS 'What it is a figure of, such as used, capacity, hlo_temp.';
COMMENT ON COLUMN raw.oom_figures.printed_text IS 'The figure as printed, such as 19.07G.';
COMMENT ON COLUMN raw.oom_figures.size_bytes IS 'Its bytes where they are printed; null where it is rounded.';
COMMENT ON COLUMN raw.oom_figures.nominal_bytes IS 'Bytes that it names, one size of many that are printed so.';
COMMENT ON COLUMN raw.oom_figures.least_bytes IS 'Fewest bytes that are printed so; null where none are.';
COMMENT ON COLUMN raw.oom_figures.most_bytes IS 'Most bytes that are printed so.';
COMMENT ON COLUMN raw.oom_figures.told_bytes IS 'Its bytes as the message alone proves them.';
COMMENT ON COLUMN raw.oom_figures.told_rule IS 'How the message alone proves them, such as as printed.';
COMMENT ON COLUMN raw.oom_figures.is_told IS 'The message alone proves its bytes; else it takes a dump.';

COMMENT ON TABLE raw.oom_allocations IS 'The largest allocations that a message lists, with sizes as printed.';
COMMENT ON COLUMN raw.oom_allocations.run_id IS 'The run that the log is of.';
COMMENT ON COLUMN raw.oom_allocations.relative_path IS 'The log: its path below the run''s root, from there with .. where it lies beside, else whole.';
COMMENT ON COLUMN raw.oom_allocations.load_id IS 'The load that stored the message.';
COMMENT ON COLUMN raw.oom_allocations.message_number IS 'Number of the message in its log, from 0.';
COMMENT ON COLUMN raw.oom_allocations.ordinal IS 'Place of the block in the message, from 0.';
COMMENT ON COLUMN raw.oom_allocations.listed_number IS 'Its number as printed.';
COMMENT ON COLUMN raw.oom_allocations.printed_text IS 'Its size as printed, such as 7.31G.';
COMMENT ON COLUMN raw.oom_allocations.nominal_bytes IS 'Bytes that the printed size names, one size of many that are printed so.';
COMMENT ON COLUMN raw.oom_allocations.instruction_name IS 'Instruction that its label begins with.';
COMMENT ON COLUMN raw.oom_allocations.op_name IS 'Name of the framework operation.';
COMMENT ON COLUMN raw.oom_allocations.source_file IS 'Source file of the user''s program.';
COMMENT ON COLUMN raw.oom_allocations.source_line IS 'Line in it.';
COMMENT ON COLUMN raw.oom_allocations.shape_text IS 'Its shape.';
COMMENT ON COLUMN raw.oom_allocations.unpadded_text IS 'Its size without padding, as printed.';
COMMENT ON COLUMN raw.oom_allocations.padding_text IS 'What padding adds, as printed.';
COMMENT ON COLUMN raw.oom_allocations.tag IS 'What it is for.';
COMMENT ON COLUMN raw.oom_allocations.label IS 'Its label: the instruction as XLA prints it, which may end in dots.';
COMMENT ON COLUMN raw.oom_allocations.allocation_type IS 'Its kind as printed: HLO temp or scoped, say.';

COMMENT ON TABLE raw.oom_ranks IS 'Who said a message, where a launcher writes that before its lines.';
COMMENT ON COLUMN raw.oom_ranks.run_id IS 'The run that the log is of.';
COMMENT ON COLUMN raw.oom_ranks.relative_path IS 'The log: its path below the run''s root, from there with .. where it lies beside, else whole.';
COMMENT ON COLUMN raw.oom_ranks.load_id IS 'The load that stored the message.';
COMMENT ON COLUMN raw.oom_ranks.message_number IS 'Number of the message in its log, from 0.';
COMMENT ON COLUMN raw.oom_ranks.ordinal IS 'Place among the ranks that said it, from 0.';
COMMENT ON COLUMN raw.oom_ranks.rank_name IS 'The rank as the launcher writes it, such as [rank3]:.';

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
COMMENT ON COLUMN raw.observations.module_text_size_bytes IS 'Size of the module text beside the dump as it lies there; null without one.';
COMMENT ON COLUMN raw.observations.module_text_mtime_ns IS 'Its modification time, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.observations.stack_frames_id IS 'The stack frames at its head, in raw.stack_frames; null without any.';
COMMENT ON COLUMN raw.observations.stack_frames_fault IS 'Why its head cannot be read: line, column, what was expected and found there.';
COMMENT ON COLUMN raw.observations.replaced_load_id IS 'The load of the row of this file that was the newest until then; null for its first row.';
COMMENT ON COLUMN raw.observations.did_not_fit IS 'True where files beside the dump say that its compilation ran out of memory; null where none says so.';

COMMENT ON TABLE raw.compile_flags IS 'Options of compilations as the files beside dumps tell them (xla/service/dump.cc, libtpu); equal files once.';
COMMENT ON COLUMN raw.compile_flags.compile_flags_id IS 'The options of a file: first 63 bits of the SHA-256 of all that is stored of them.';
COMMENT ON COLUMN raw.compile_flags.origin IS 'Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.';
COMMENT ON COLUMN raw.compile_flags.flag_name IS 'Name of the option; parts of a nested one are joined by dots.';
COMMENT ON COLUMN raw.compile_flags.flag_value IS 'Its value as printed, without quotes; those of a repeated one joined by commas.';
COMMENT ON TABLE raw.donations IS 'Leaves of parameters that module texts offer (HloInputOutputAliasConfig, HloBufferDonorConfig); equal ones once.';
COMMENT ON COLUMN raw.donations.donations_id IS 'What a module text offers: first 63 bits of the SHA-256 of all that is stored of it.';
COMMENT ON COLUMN raw.donations.parameter_number IS 'Entry parameter.';
COMMENT ON COLUMN raw.donations.parameter_shape_index IS 'Which leaf of it.';
COMMENT ON COLUMN raw.donations.output_shape_index IS 'Leaf of the output that is placed on it; null for none.';
COMMENT ON COLUMN raw.donations.kind IS 'may-alias, must-alias, or buffer-donor where no output is placed on it.';
COMMENT ON COLUMN raw.observations.compile_flags_ids IS 'The options of its compilation in raw.compile_flags, a set of each file beside it; null without any.';
COMMENT ON COLUMN raw.observations.compile_flags_size_bytes IS 'Size of those files together, as they lie there; null without any.';
COMMENT ON COLUMN raw.observations.compile_flags_mtime_ns IS 'Modification time of the newest of them, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.observations.compile_flags_fault IS 'Which of them cannot be read, where, and what was expected and found there.';
COMMENT ON COLUMN raw.observations.donations_id IS 'What its module text offers, in raw.donations (no row where that is nothing); null without the text.';

COMMENT ON TABLE raw.protos IS 'The file of a dump without a text: an HloProto, as it was read. Of a text all bytes are in the other tables.';
COMMENT ON COLUMN raw.protos.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.protos.proto IS 'Its bytes, decompressed.';
COMMENT ON TABLE raw.heap_events IS 'Events of the heap simulator, from the proto of a dump (HeapSimulatorTrace, xla/service/hlo.proto), replayed as by ComputePeakMemory; equal ones once.';
COMMENT ON COLUMN raw.heap_events.heap_events_id IS 'The traces of a proto: first 63 bits of the SHA-256 of all that is stored of them.';
COMMENT ON COLUMN raw.heap_events.ordinal IS 'Place of the event in all traces, from 0.';
COMMENT ON COLUMN raw.heap_events.trace_number IS 'Its trace, from 0.';
COMMENT ON COLUMN raw.heap_events.traced_allocation_index IS 'Allocation that the trace names; libtpu names the wrong one at times.';
COMMENT ON COLUMN raw.heap_events.kind IS 'What happens to the value.';
COMMENT ON COLUMN raw.heap_events.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.heap_events.shared_value_id IS 'The value whose bytes it shares; null for what shares none.';
COMMENT ON COLUMN raw.heap_events.size_bytes IS 'Bytes that come or go: 0 where others keep them alive.';
COMMENT ON COLUMN raw.heap_events.memory_space IS 'Memory space (XLA prints it as color); 0, the default, is not printed.';
COMMENT ON COLUMN raw.heap_events.alive_bytes IS 'Bytes alive behind the event, in all traces and memory spaces.';
COMMENT ON COLUMN raw.heap_events.computation_name IS 'Computation that the simulator was at.';
COMMENT ON COLUMN raw.heap_events.instruction_name IS 'Instruction in it.';
COMMENT ON TABLE raw.alias_sets IS 'Values that must have the same bytes (HloBuffer), from the proto of a dump (BufferAssignmentProto.buffer_aliases); sets of one value are left out, equal ones stored once.';
COMMENT ON COLUMN raw.alias_sets.alias_sets_id IS 'The sets of a proto: first 63 bits of the SHA-256 of all that is stored of them.';
COMMENT ON COLUMN raw.alias_sets.first_value_id IS 'The set, called by its value with the smallest id.';
COMMENT ON COLUMN raw.alias_sets.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.observations.proto_size_bytes IS 'Size of the proto beside the dump as it lies there; null without one.';
COMMENT ON COLUMN raw.observations.proto_mtime_ns IS 'Its modification time, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.observations.heap_events_id IS 'The traces of its proto, in raw.heap_events (no row where it has none); null without a proto that agrees.';
COMMENT ON COLUMN raw.observations.alias_sets_id IS 'Its alias sets, in raw.alias_sets (no row where it has none); null without a proto that agrees.';
COMMENT ON COLUMN raw.observations.proto_fault IS 'Why the proto cannot be read: what was expected and found there.';
COMMENT ON COLUMN raw.observations.proto_difference IS 'Where the proto says otherwise than the dump: it is then left aside.';
COMMENT ON COLUMN raw.observations.stand_in_path IS 'Path of the proto that was taken for the dump before this text of it came; null for all others.';
COMMENT ON COLUMN raw.observations.stand_in_load_id IS 'The load of the row of that proto, or of the reject, that was the newest until then.';
COMMENT ON COLUMN raw.dumps.file_layout IS 'One file, split files (since jaxlib 0.10), or a proto without a text.';
COMMENT ON COLUMN raw.dumps.total_bytes IS '`Total bytes used`: the sum of all allocation sizes over all memory spaces, in a proto, too. Not a peak.';
COMMENT ON COLUMN raw.dump_files.role IS 'Which file: combined, or allocations, values, live_range of a split dump, or a proto.';

COMMENT ON TABLE raw.packings IS 'How tightly the values of an allocation of temporaries can be placed, as `bufferhouse pack` found; one per arena.';
COMMENT ON COLUMN raw.packings.dump_id IS 'The dump.';
COMMENT ON COLUMN raw.packings.allocation_index IS 'The allocation.';
COMMENT ON COLUMN raw.packings.alignment_bytes IS 'What offsets in it are multiples of.';
COMMENT ON COLUMN raw.packings.lower_bound_bytes IS 'Most bytes alive at once, aligned, slots in place once: no placement takes fewer.';
COMMENT ON COLUMN raw.packings.packed_bytes IS 'Bytes of the smallest placement that was found, and verified.';
COMMENT ON COLUMN raw.packings.packer IS 'Who found it: xla, best fit or omnimalloc.';
COMMENT ON COLUMN raw.packings.is_cut_short IS 'The search ended for want of time while it was above the bound.';
