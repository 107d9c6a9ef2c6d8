"""What happened: log events, metrics, probes, the run record."""
