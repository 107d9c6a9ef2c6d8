"""The checklist before a start: one file a subject, each yields lines that are ok, warn, fail or unknown."""
