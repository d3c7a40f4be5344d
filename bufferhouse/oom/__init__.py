"""Why a program did not fit: the messages of XLA, their figures, and the dump that explains them.

A log and dumps come in. `log` finds the lines of messages, `message` reads them as strictly as dumps are read,
`figures` knows how XLA prints sizes, `rules` which bytes of a dump a figure is the sum of, `join` which dump belongs to
a message, `worth` what a value costs at the peak. What goes out is a `finding.Finding` for each message.
"""
