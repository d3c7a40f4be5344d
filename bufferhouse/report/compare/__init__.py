"""Two runs, or all of one program: what moved, and why."""
