"""Label in the browser: a session that asks about the most informative items, and its page."""
