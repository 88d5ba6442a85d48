"""The file layer: chunks of numbers in frames.

::

    import numpy
    import striae.gsd.fl

    with striae.gsd.fl.open('a.gsd', 'w', application='example', schema='none', schema_version=[1, 0]) as f:
        f.write_chunk('position', numpy.zeros((4, 3), dtype=numpy.float32))
        f.end_frame()
    with striae.gsd.fl.open('a.gsd', 'r') as f:
        assert f.read_chunk(frame=0, name='position').shape == (4, 3)
"""

from striae._striae import GSDFile

__all__ = ['GSDFile', 'open']


def open(name, mode, application=None, schema=None, schema_version=None):
    """Open a GSD file.

    Args:
        name (str): Path of the file.
        mode (str): ``'r'`` to read; ``'r+'`` to read and write an existing file; ``'w'`` to make a file or empty an
            existing one, which keeps its inode; ``'x'`` to make a file that must not exist; ``'a'`` to read and
            write a file, which is made if it does not exist.
        application (str): The program that makes the file, at most 63 bytes.
        schema (str): The schema of the file, at most 63 bytes. An existing file must have it, if it is given.
        schema_version (tuple[int, int]): Version of the schema: major, minor.

    Returns:
        GSDFile: The file. ``application``, ``schema`` and ``schema_version`` are needed if it is made.

    Raises:
        FileNotFoundError: There is no such file.
        FileExistsError: There is one, and the mode is ``'x'``.
        RuntimeError: It is not a GSD file, is damaged, or has another schema.
    """
    return GSDFile(str(name), mode, application, schema, schema_version)
