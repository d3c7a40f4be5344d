-- Stack frames at the heads of module texts, which lie beside dumps, and what an observation saw of them.

CREATE TABLE raw.stack_frames (
    stack_frames_id BIGINT NOT NULL,
    stack_frame_id BIGINT NOT NULL,
    call_stack_ids BIGINT[] NOT NULL,
    function_name VARCHAR NOT NULL,
    source_file VARCHAR NOT NULL,
    source_line BIGINT,
    source_end_line BIGINT,
    source_column BIGINT,
    source_end_column BIGINT
);

ALTER TABLE raw.observations ADD COLUMN module_text_size_bytes BIGINT;
ALTER TABLE raw.observations ADD COLUMN module_text_mtime_ns BIGINT;
ALTER TABLE raw.observations ADD COLUMN stack_frames_id BIGINT;
ALTER TABLE raw.observations ADD COLUMN stack_frames_fault VARCHAR;

COMMENT ON TABLE raw.stack_frames IS 'Stack frames of the tables at the head of a module text (HloModule::PrintStackFrameIndex); equal tables once.';
COMMENT ON COLUMN raw.stack_frames.stack_frames_id IS 'The tables: first 63 bits of the SHA-256 of all that is stored of them.';
COMMENT ON COLUMN raw.stack_frames.stack_frame_id IS 'Number of the frame, from 1, as instruction texts name it.';
COMMENT ON COLUMN raw.stack_frames.call_stack_ids IS 'The frame itself and its callers, innermost first.';
COMMENT ON COLUMN raw.stack_frames.function_name IS 'Function of the user''s program, unescaped.';
COMMENT ON COLUMN raw.stack_frames.source_file IS 'Source file of the user''s program, unescaped.';
COMMENT ON COLUMN raw.stack_frames.source_line IS 'Line in it.';
COMMENT ON COLUMN raw.stack_frames.source_end_line IS 'Line in which the expression ends.';
COMMENT ON COLUMN raw.stack_frames.source_column IS 'Column in which it begins.';
COMMENT ON COLUMN raw.stack_frames.source_end_column IS 'Column in which it ends.';
COMMENT ON COLUMN raw.observations.module_text_size_bytes IS 'Size of the module text beside the dump as it lies there; null without one.';
COMMENT ON COLUMN raw.observations.module_text_mtime_ns IS 'Its modification time, in nanoseconds since 1970.';
COMMENT ON COLUMN raw.observations.stack_frames_id IS 'The stack frames at its head, in raw.stack_frames; null without any.';
COMMENT ON COLUMN raw.observations.stack_frames_fault IS 'Why its head cannot be read: line, column, what was expected and found there.';
