"""Sets of blob files of E3SM-IO: the arrays that its processes have written, whatever the subfiles.

::

    import striae.blob

    with striae.blob.open('run.nc') as blobs:  # run.nc.0000, run.nc.0001, ...
        column = blobs['CLOUD'][0, :, 5]
        assert blobs.is_whole()
"""

from os import fspath

from striae._arrays import Arrays, Variable
from striae._striae import Arrays as _Arrays

__all__ = ['Set', 'Variable', 'open']


class Set(Arrays):
    """A set of blob files: a mapping of names to variables.

    Values that no subfile has are filled, as in the canonical file.
    """

    def __init__(self, path):
        super().__init__(fspath(path), _Arrays.blob)

    @property
    def missing(self):
        """list[int]: Numbers of subfiles that are missing."""
        return self._file.lost()[0]

    @property
    def lost(self):
        """dict[int, str]: Errors of subfiles that could not be read so far, or not all of them, by their numbers."""
        return dict(self._file.lost()[1])

    def is_whole(self):
        """Whether no subfile is missing, nor was found to be damaged so far."""
        return not self.missing and not self.lost


def open(path):
    """Open a set of blob files.

    Args:
        path (str | os.PathLike): The name of the set, or a subfile.

    Returns:
        Set: A mapping of names to variables, which are read when they are indexed.
    """
    return Set(path)
