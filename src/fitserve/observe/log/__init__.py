"""vLLM's log, from bytes to lines, stages and figures. Nothing here knows what a failure is."""
