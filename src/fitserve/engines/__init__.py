"""How an engine is found, installed and started."""
