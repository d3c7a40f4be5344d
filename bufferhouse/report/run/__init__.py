"""One run: what it compiled, and what that takes."""
