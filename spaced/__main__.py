"""`python -m spaced` is the command line."""

from spaced.cli.main import main

if __name__ == "__main__":
    main()
