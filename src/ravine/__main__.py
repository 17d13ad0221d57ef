"""``python -m ravine`` runs the command `ravine`."""

from ravine.cli import main

if __name__ == "__main__":
    main()
