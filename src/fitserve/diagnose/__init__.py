"""What is wrong and what to change."""
