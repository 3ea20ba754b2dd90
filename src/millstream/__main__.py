"""`python -m millstream` is the command `millstream`, where the command is not on the path."""

from millstream.cli import main

if __name__ == "__main__":
    main()
