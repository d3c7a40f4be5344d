"""Pages: one HTML file that needs no server."""
