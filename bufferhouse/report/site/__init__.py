"""The site: every page linked, in a folder or a bucket, made anew only where what it shows changed."""
