-- A configured pass leaves out the runs that retention removed, as long as no file of theirs is newer.

CREATE TABLE raw.pruned_runs (
    run_name VARCHAR NOT NULL,
    root VARCHAR NOT NULL,
    pruned_at TIMESTAMPTZ NOT NULL
);

COMMENT ON TABLE raw.pruned_runs IS 'Runs that retention removed, so that a configured pass does not load them again while their files still lie in a source.';
COMMENT ON COLUMN raw.pruned_runs.run_name IS 'The name that it had.';
COMMENT ON COLUMN raw.pruned_runs.root IS 'Directory, archive or URL the dumps of the run were found in.';
COMMENT ON COLUMN raw.pruned_runs.pruned_at IS 'When it was removed (UTC); a run with a newer file is loaded again.';
