"""GSD files in any Python object with ``read`` and ``seek``, such as an archive's member or ``io.BytesIO``.

::

    with striae.gsd.pygsd.GSDFile(open('a.gsd', 'rb')) as f:
        positions = striae.gsd.hoomd.HOOMDTrajectory(f)[0].particles.position
"""

from striae._striae import ObjectGSDFile as GSDFile
from striae.gsd.version import version

__all__ = ['GSDFile', 'version']


def _reopened(name):
    """Open a file again that was pickled."""
    return GSDFile(open(name, 'rb'))
