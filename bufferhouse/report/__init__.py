"""Figures and pages: terminal, self-contained HTML.

Numbers come from marts with a version, or from `compare`, `whatif` and `lock`.
"""
