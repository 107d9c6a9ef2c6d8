"""The proof after a start: what a service is said to do, done once, each step within a limit of time."""
