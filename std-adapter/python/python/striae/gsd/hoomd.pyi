from collections.abc import Iterable
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self, overload

import numpy

from striae._striae import GSDFile, ObjectGSDFile

__all__ = [
    'BondData',
    'ConfigurationData',
    'ConstraintData',
    'Frame',
    'HOOMDTrajectory',
    'ParticleData',
    'open',
    'read_log',
]

_Precision = Literal['single', 'double']

class ConfigurationData:
    step: int | None
    dimensions: int | None
    box: Any  # (6,): Lx, Ly, Lz, xy, xz, yz
    def __init__(self) -> None: ...
    def cast(self) -> dict[str, numpy.ndarray]: ...
    def validate(self, inplace: bool = False) -> None: ...

class _Part:
    def cast(self) -> dict[str, numpy.ndarray]: ...
    def validate(self, inplace: bool = False) -> None: ...

class ParticleData(_Part):
    N: int
    types: list[str] | None
    typeid: Any  # (N,) uint32
    mass: Any  # (N,) float32 or float64
    charge: Any  # (N,)
    diameter: Any  # (N,)
    body: Any  # (N,) int32
    moment_inertia: Any  # (N, 3)
    position: Any  # (N, 3)
    orientation: Any  # (N, 4)
    velocity: Any  # (N, 3)
    angmom: Any  # (N, 4)
    image: Any  # (N, 3) int32
    type_shapes: list[dict[str, Any]] | None
    def __init__(self) -> None: ...

class BondData(_Part):
    M: int
    N: int
    types: list[str] | None
    typeid: Any  # (N,) uint32
    group: Any  # (N, M) uint32
    def __init__(self, M: int) -> None: ...

class ConstraintData(_Part):
    M: int
    N: int
    value: Any  # (N,) float32 or float64
    group: Any  # (N, 2) uint32
    def __init__(self) -> None: ...

class Frame:
    configuration: ConfigurationData
    particles: ParticleData
    bonds: BondData
    angles: BondData
    dihedrals: BondData
    impropers: BondData
    constraints: ConstraintData
    pairs: BondData
    log: dict[str, Any]
    def __init__(self) -> None: ...
    def validate(self, inplace: bool = False) -> None: ...

class _FramesIterator:
    def __init__(self, trajectory: HOOMDTrajectory, indices: range) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Frame: ...
    def next(self) -> Frame: ...

class _Frames:
    def __init__(self, trajectory: HOOMDTrajectory, indices: range) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> _FramesIterator: ...
    @overload
    def __getitem__(self, key: int) -> Frame: ...
    @overload
    def __getitem__(self, key: slice) -> _Frames: ...

class HOOMDTrajectory:
    def __init__(self, file: GSDFile | ObjectGSDFile, precision: _Precision = 'single') -> None: ...
    @property
    def file(self) -> GSDFile | ObjectGSDFile: ...
    @property
    def precision(self) -> _Precision: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> _FramesIterator: ...
    @overload
    def __getitem__(self, key: int) -> Frame: ...
    @overload
    def __getitem__(self, key: slice) -> _Frames: ...
    def append(self, frame: Frame) -> None: ...
    def extend(self, iterable: Iterable[Frame]) -> None: ...
    def truncate(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def open(name: str | PathLike[str], mode: str = 'r', precision: _Precision = 'single') -> HOOMDTrajectory: ...
def read_log(
    name: str | PathLike[str], scalar_only: bool = False, glob_pattern: str = '*'
) -> dict[str, numpy.ndarray]: ...
