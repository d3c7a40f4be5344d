"""Reports on changes that nobody has made yet: what edits do, which set fits, what each edit is worth."""
