from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, SupportsIndex

import numpy
from numpy.typing import DTypeLike

__all__ = ['Samples']

class Samples:
    paths: list[str]
    dtype: numpy.dtype[Any]
    shape: tuple[int, ...] | None
    def __init__(
        self,
        path: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        dtype: DTypeLike = ...,
        shape: Sequence[int] | None = None,
        direct: bool = True,
        checked: bool = True,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def lengths(self) -> numpy.ndarray: ...
    @property
    def how(self) -> list[str]: ...
    def __getitem__(self, number: SupportsIndex) -> numpy.ndarray: ...
    def read(self, numbers: Iterable[SupportsIndex], out: numpy.ndarray | None = None) -> numpy.ndarray: ...
    def __getitems__(self, numbers: Iterable[SupportsIndex]) -> list[numpy.ndarray]: ...
    def __iter__(self) -> Iterator[numpy.ndarray]: ...
