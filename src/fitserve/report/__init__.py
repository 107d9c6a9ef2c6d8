"""Measurements as pages: one file that opens without a network, Markdown, and each chart as SVG."""
