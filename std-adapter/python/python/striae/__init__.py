"""Files of many streams: GSD, SIONlib, ffrecord, E3SM-IO blobs and classic netCDF.

``striae.gsd`` has the modules of the package ``gsd`` under the same names::

    import striae.gsd as gsd
    import striae.gsd.hoomd

For files of all formats::

    report = striae.verify('run.gsd')
    print(report.verdict, report.damage)
    if not report.sound:
        print(striae.recover('run.gsd', 'saved.gsd').counts)

| module | holds |
|---|---|
| ``striae.gsd`` | a drop-in for ``gsd`` 5.0.1 |
| ``striae.sion`` | SIONlib sets: tasks, streams, keys |
| ``striae.cdf`` | classic netCDF files: regions of variables |
| ``striae.blob`` | sets of blob files of E3SM-IO, as the arrays that were written |
| ``striae.direct`` | samples of ffrecord files, read past the page cache |
"""

from striae._files import Entry, Finding, Part, Recovery, Report, convert, ls, pack, recover, verify
from striae._striae import __version__

__all__ = [
    'Entry',
    'Finding',
    'Part',
    'Recovery',
    'Report',
    '__version__',
    'convert',
    'ls',
    'pack',
    'recover',
    'verify',
]
