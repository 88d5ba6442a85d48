from dataclasses import dataclass, field
from os import PathLike
from typing import Any

@dataclass(frozen=True)
class Finding:
    severity: str
    kind: str
    file: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)

@dataclass(frozen=True)
class Report:
    path: str
    format: str
    sound: bool
    verdict: str
    damage: int
    notes: int
    data_bytes: int
    checked_bytes: int
    counts: dict[str, Any]
    findings: list[Finding]
    def __bool__(self) -> bool: ...

@dataclass(frozen=True)
class Part:
    part: str
    word: str
    why: str
    facts: dict[str, Any] = field(default_factory=dict)

@dataclass(frozen=True)
class Recovery:
    path: str
    out: str
    format: str
    word: str
    sound: bool
    counts: dict[str, int]
    data_bytes: int
    checked_bytes: int
    parts: list[Part]
    def __bool__(self) -> bool: ...

@dataclass(frozen=True)
class Entry:
    address: str
    bytes: int
    facts: dict[str, Any] = field(default_factory=dict)

def verify(path: str | PathLike[str], *, map: str | PathLike[str] | None = None) -> Report: ...
def recover(
    path: str | PathLike[str], out: str | PathLike[str], *, format: str | None = None, force: bool = False
) -> Recovery: ...
def convert(path: str | PathLike[str], out: str | PathLike[str], **how: Any) -> dict[str, Any]: ...
def pack(
    out: str | PathLike[str], sources: str | PathLike[str] | list[str | PathLike[str]], **how: Any
) -> int: ...
def ls(path: str | PathLike[str]) -> list[Entry]: ...
