"""The command line. It imports everything; nothing imports it."""
