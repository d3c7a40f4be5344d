"""What did not fit, on a terminal, in Markdown, as JSON and on a page; findings of `bufferhouse.oom` come in."""
