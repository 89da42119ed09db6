"""The exit codes of the command line, besides 0."""

# An error in the options, in a file or of the machine
REFUSED = 2

# An error in graphuq itself
BUG = 3

# Ctrl-C
INTERRUPTED = 130
