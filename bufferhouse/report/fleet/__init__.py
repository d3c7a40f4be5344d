"""The fleet: programs by runs, the biggest movers first."""
