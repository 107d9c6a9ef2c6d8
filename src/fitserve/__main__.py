"""`python -m fitserve`, and the console script."""

from fitserve.cli.app import main

if __name__ == "__main__":
    main()
