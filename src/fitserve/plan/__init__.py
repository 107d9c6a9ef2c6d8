"""What to run: settings and the ledger that says why they fit."""
