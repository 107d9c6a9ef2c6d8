"""The chat page. It imports everything; nothing imports it."""
