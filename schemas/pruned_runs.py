"""raw.pruned_runs: one run that retention removed."""

from schemas.contract import MOMENT, TEXT, Column, Contract

PRUNED_RUNS = Contract(
    "pruned_runs",
    "Runs that retention removed, so that a configured pass does not load them again while their files still lie in a "
    "source.",
    grain="one removal of a run",
    key=["run_name", "root", "pruned_at"],
    columns={
        "run_name": Column(TEXT, "The name that it had."),
        "root": Column(TEXT, "Directory, archive or URL the dumps of the run were found in."),
        "pruned_at": Column(MOMENT, "When it was removed (UTC); a run with a newer file is loaded again."),
    },
)
