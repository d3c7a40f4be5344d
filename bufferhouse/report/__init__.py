"""Figures and pages: terminal, self-contained HTML. Every number comes from a mart with a version in its name."""
