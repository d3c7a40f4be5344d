-- How did the memory of one program change from run to run?
-- topic: Changes
-- param: program = 'jit_mlp_train_step'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 200  rows at most
SELECT
    program_name,
    compile_target,
    run_number,
    run_name,
    compiler_version,
    reserved_bytes,
    reserved_change_bytes,
    occupied_peak_bytes,
    occupied_change_bytes
FROM marts.memory_space_trend_v2
WHERE program_name LIKE $program AND memory_space = $memory_space
ORDER BY program_name, program_id, compile_target, platform, track, device_kind, run_number
LIMIT $rows
