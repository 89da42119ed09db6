"""Label in the browser: a session that asks what tells most, and its page."""
