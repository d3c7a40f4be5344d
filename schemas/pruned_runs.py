"""raw.pruned_runs: one run that retention removed."""

from schemas.contract import MOMENT, TEXT, column, table

PRUNED_RUNS = table(
    "pruned_runs",
    "Runs that retention removed, so that a configured pass does not load them again while their files still lie in a "
    "source.",
    grain="one removal of a run",
    key=["run_name", "root", "pruned_at"],
    columns={
        "run_name": column(TEXT, "The name that it had."),
        "root": column(TEXT, "Directory, archive or URL the dumps of the run were found in."),
        "pruned_at": column(MOMENT, "When it was removed (UTC); a run with a newer file is loaded again."),
    },
)
