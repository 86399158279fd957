"""``python -m credpart`` is ``credpart``."""

from credpart.cli import main

if __name__ == "__main__":
    main()
