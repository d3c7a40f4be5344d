"""Messages about programs that did not fit: read from logs, as rows, and joined to the dump that they are about.

`log` finds the lines of messages in a log of any size, `message` reads them as strictly as dumps are read, `figures`
knows how XLA prints sizes, `rules` which bytes of a dump a figure is the sum of, `join` which dump belongs to it,
`rows` how the warehouse keeps it.
"""
