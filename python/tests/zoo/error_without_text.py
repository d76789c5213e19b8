"""An exception whose __str__ and __repr__ raise, with a cause whose class has no module."""


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


Mute.__module__ = 5
raise Mute("x") from Mute("y")
