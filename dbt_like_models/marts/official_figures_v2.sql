-- The figures of `compiled.memory_analysis()`, as in version 1, and the peaks that a replay of heap traces makes: with a
-- proto beside the dump, or in its place, they are known to the byte. The run before is one of the same device.
-- grain: run_id, relative_path
-- portable: yes
SELECT
    o.run_id,  -- The run.
    o.run_name,  -- Its name.
    o.relative_path,  -- Path of the file below the run's root.
    o.dump_id,  -- Its content.
    o.program_id,  -- The program: its name and entry signature.
    o.program_name,  -- Its name; a weak key.
    o.compile_target,  -- cpu, tpu or a GPU architecture.
    o.platform,  -- cpu, gpu or tpu.
    r.track,  -- Label that tells series apart.
    r.compiler,  -- What embeds XLA, as the run says.
    r.compiler_version,  -- Version of the compiler, as the run says.
    o.compiler_revision,  -- CL number or source revision.
    f.sizes_rule,  -- Rule of argument, output and alias: flags_of_allocations, all_zero or unknown.
    f.argument_bytes,  -- argument_size_in_bytes: entry parameters.
    f.output_bytes,  -- output_size_in_bytes: what may be live out, donated parameters included.
    f.alias_bytes,  -- alias_size_in_bytes: what is in both.
    f.temp_rule,  -- Rule of temp: preallocated_temps, twice_arena_less_covered, arena_in_16_kib, all_zero or unknown.
    f.temp_bytes,  -- temp_size_in_bytes.
    f.is_temp_by_opcode,  -- Whether it is a guess that temp is 0, or is not: by opcodes; null but on TPU.
    -- Opcodes tell whether it is 0; up to libtpu 0.0.50 it hangs on how much of the arena is alive at once, too.
    f.is_temp_by_opcode OR f.is_covered_guessed AS is_temp_guessed,  -- Whether it may not be what the compiler says.
    f.peak_rule,  -- Rule of peak: static, static_and_replay, not_reported or unknown.
    COALESCE(f.peak_bytes, CASE WHEN f.peak_rule = 'static_and_replay' THEN f.static_peak_bytes + p.replayed_bytes END)
        AS peak_bytes,  -- peak_memory_in_bytes; null where temporaries are replayed and no proto tells how.
    CASE
        WHEN f.peak_rule = 'unknown' THEN 'unknown'
        WHEN f.peak_rule = 'not_reported' THEN 'not reported'
        WHEN f.peak_rule = 'static' THEN 'footprint of all memory spaces without temporaries'
        WHEN f.peak_bytes IS NOT NULL THEN 'footprint of all memory spaces: there are no temporaries'
        WHEN p.replayed_bytes IS NOT NULL
            THEN 'footprint of all memory spaces without temporaries, and a replay of these'
        ELSE 'at least static_peak_bytes: a replay of temporaries comes on top'
    END AS peak_relation,  -- How the peak relates to the footprint, or why there is none.
    p.replayed_bytes,  -- Most bytes alive in a replay of the heap traces; null without a proto.
    f.static_peak_bytes,  -- Largest buffers of parameters, constants and outputs, all memory spaces; for any compiler.
    f.footprint_bytes,  -- Footprint, all memory spaces.
    t.occupied_peak_bytes,  -- Occupied peak of memory space 0; null without live ranges.
    f.host_bytes,  -- Parameters, outputs and temporaries in the host's memory, which the host_ figures add up.
    f.is_compared,  -- Whether every rule was compared with memory_analysis() of a release as new as this one.
    c.previous_run_name,  -- The run before in the series of this program; null for the first.
    c.changed_meaning  -- Warning: figures that another rule made there, with both rules; null without.
FROM marts.observations_v1 AS o
INNER JOIN staging.runs AS r ON o.run_id = r.run_id
INNER JOIN intermediate.official_figures AS f ON o.run_id = f.run_id AND o.relative_path = f.relative_path
LEFT JOIN intermediate.space_totals AS t ON o.dump_id = t.dump_id AND t.memory_space = 0
LEFT JOIN marts.observation_protos_v1 AS p ON o.run_id = p.run_id AND o.relative_path = p.relative_path
LEFT JOIN intermediate.official_rule_changes AS c
    ON o.run_id = c.run_id AND o.program_id = c.program_id
    AND o.compile_target IS NOT DISTINCT FROM c.compile_target AND o.platform IS NOT DISTINCT FROM c.platform
    AND r.track IS NOT DISTINCT FROM c.track
    AND c.is_of_device
