"""One program: its timeline, its allocation map, its balance."""
