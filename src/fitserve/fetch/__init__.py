"""Downloads: a hub model's files into the hub's own cache, whole and checked or not at all."""
