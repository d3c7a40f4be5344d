-- Messages of XLA about programs that do not fit, and of JAX about donations, from the newest reading of each log.
-- grain: run_id, relative_path, message_number
SELECT
    m.run_id,  -- The run that the log is of.
    m.relative_path,  -- The log: its path below the run's root, from there with .. where it lies beside, else whole.
    m.message_number,  -- Number of the message in its log, from 0.
    m.message_id,  -- What it says: first 63 bits of a SHA-256; equal in all logs and ranks that say it.
    m.dialect,  -- Form of the message: T1 to T8 of TPU, G1 and G2 of GPU, R a warning of rematerialization, D of donation.
    m.line_number,  -- Line of the log in which it first begins, from 1.
    m.memory_space_name,  -- Memory that does not suffice: hbm, vmem, smem.
    m.module_name,  -- Module that it names, verbatim; most name none.
    m.instruction_name,  -- Instruction that it names.
    m.shape_text,  -- Shape that it names.
    m.tag,  -- What the allocation that did not fit is for.
    m.is_failure,  -- Says that something did not fit; a warning of rematerialization does not.
    m.capacity_bytes,  -- Bytes that it did not fit into, as far as the printed figure tells them.
    m.fault_text,  -- Why its figures are not relied on: it is cut, say; null where they are.
    m.message_text  -- Its lines, verbatim, without what loggers and launchers write before them.
FROM raw.oom_messages AS m
INNER JOIN staging.oom_logs AS l
    ON m.run_id = l.run_id AND m.relative_path = l.relative_path AND m.load_id = l.messages_load_id
