from os import PathLike

from striae._arrays import Arrays, Variable as Variable

__all__ = ['File', 'Variable', 'open']

class File(Arrays):
    def __init__(self, path: str | PathLike[str]) -> None: ...

def open(path: str | PathLike[str]) -> File: ...
