"""Run by an engine's interpreter: `vllm bench serve`, by its own functions.

`vllm.entrypoints.cli.main` asks for the metadata of a package called vllm, which builds under another name lack.
"""

import argparse

from vllm.benchmarks.serve import add_cli_args, main  # type: ignore[import-not-found]  # the engine's own

if __name__ == "__main__":
    parser = argparse.ArgumentParser("vllm bench serve")
    add_cli_args(parser)
    main(parser.parse_args())
