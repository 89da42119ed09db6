"""The page of a labeling session: what it shows, who may see it, and the server."""
