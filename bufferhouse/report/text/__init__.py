"""Tables and figures for a terminal."""
