"""``python -m polytune``: the same program as ``polytune``."""

from polytune.cli.main import main

if __name__ == "__main__":
    main()
