"""What there is: the model, the GPUs, the host, the engine's version."""
