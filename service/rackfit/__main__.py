"""Run the command line as `python -m rackfit`."""

from rackfit.cli import main

if __name__ == "__main__":
    main()
