"""Records what a process does with its memory. A placeholder: it records nothing."""


def start() -> None:
    """Begins to record."""
