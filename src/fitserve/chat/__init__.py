"""A conversation without a page: turns, pictures, streaming."""
