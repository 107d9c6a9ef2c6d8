"""Measure an endpoint under load, one setting against another, and say only what the figures support."""
