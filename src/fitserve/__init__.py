"""fitserve puts a quantized vision-language model on the GPUs you have, and keeps it there."""

__version__ = "0.1.0"
