"""Objects that raise at any touch: __class__, __bool__, __eq__, __hash__, __getattribute__."""


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError(name)

    __bool__ = __eq__ = __hash__ = __len__ = __iter__ = lambda *_: 1 / 0


class Liar:
    __class__ = property(lambda self: 1 / 0)


kept = [Hostile(), Liar(), {1: Hostile()}]
print(len(kept))
