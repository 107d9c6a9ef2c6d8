"""Screens of the terminal that stay open."""
