from collections.abc import Sequence
from os import PathLike

from striae._striae import GSDFile as GSDFile

__all__ = ['GSDFile', 'open']

def open(
    name: str | PathLike[str],
    mode: str,
    application: str | None = None,
    schema: str | None = None,
    schema_version: Sequence[int] | None = None,
) -> GSDFile: ...
