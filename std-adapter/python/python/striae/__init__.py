"""Files of many streams: GSD, SIONlib, ffrecord, E3SM-IO blobs and classic netCDF.

``striae.gsd`` has the modules of the package ``gsd`` under the same names::

    import striae.gsd as gsd
    import striae.gsd.hoomd
"""

from striae._striae import __version__

__all__ = ['__version__']
