"""Classic netCDF files: CDF-1, CDF-2 and CDF-5.

::

    import striae.cdf

    with striae.cdf.open('a.nc') as file:
        print(file.dimensions, file['T'].attributes['units'])
        column = file['T'][0, :, 5]
"""

from os import fspath

from striae._arrays import Arrays, Variable
from striae._striae import Arrays as _Arrays

__all__ = ['File', 'Variable', 'open']


class File(Arrays):
    """A classic netCDF file: a mapping of names to variables."""

    def __init__(self, path):
        super().__init__(fspath(path), _Arrays.cdf)


def open(path):
    """Open a classic netCDF file.

    Args:
        path (str | os.PathLike): The file.

    Returns:
        File: A mapping of names to variables, which are read when they are indexed.
    """
    return File(path)
