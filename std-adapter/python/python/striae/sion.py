"""SIONlib sets: the streams of many tasks in a few files.

::

    import striae.sion

    with striae.sion.create('run.sion', ntasks=2) as writer:
        for task in range(2):
            with writer.stream(task) as stream:
                stream.write(b'bytes of one task')
    with striae.sion.open('run.sion') as file:
        assert file.stream(1).read() == b'bytes of one task'
"""

import io
from collections import namedtuple
from os import fspath

from striae import _striae
from striae._files import pack

__all__ = ['File', 'Older', 'Task', 'TaskReader', 'TaskWriter', 'Writer', 'append', 'create', 'open', 'pack']

Task = namedtuple('Task', 'task globalrank bytes file chunks')
Task.__doc__ = """A task of a set: its number, its global rank, bytes of its stream, number of its physical file, and
number of chunks that it has used."""


Older = namedtuple('Older', 'path number newest')
Older.__doc__ = """A file of an older commit of its set: its path, the number of its commit, and the number of the newest one."""


class TaskReader(io.RawIOBase):
    """The stream of a task, from its first byte to its last one, whatever the chunks.

    Each read is one call of the operating system for each chunk; wrap it in `io.BufferedReader` for short reads.
    """

    def __init__(self, stream):
        self._stream = stream

    def readable(self):
        """True."""
        return True

    def seekable(self):
        """True."""
        return True

    def _check(self):
        if self.closed:
            raise ValueError('I/O operation on closed file.')

    def readinto(self, buffer, /):
        """Read bytes into a buffer; return their number, 0 at the end."""
        self._check()
        return self._stream.readinto(buffer)

    def write(self, buffer, /):
        """Not possible: the stream is only read."""
        raise io.UnsupportedOperation('write')

    def readall(self):
        """Read all bytes from here to the end."""
        self._check()
        rest = bytearray(max(self._stream.len - self.tell(), 0))
        count = self._stream.readinto(rest) if rest else 0
        return bytes(rest[:count])

    def seek(self, offset, whence=io.SEEK_SET, /):
        """Move to a position; return it."""
        self._check()
        return self._stream.seek(offset, whence)

    def seek_chunk(self, chunk, offset=0):
        """Move to an offset in a chunk, as programs that use SIONlib store it; return the position."""
        self._check()
        return self._stream.seek_chunk(chunk, offset)

    def __len__(self):
        return self._stream.len

    def __bool__(self):
        return True  # as any other stream, however many bytes it has


class File:
    """A closed set, open for reading.

    Attributes:
        path (str): Its first physical file.
    """

    def __init__(self, path):
        self.path = fspath(path)
        self._file = _striae.SionFile(self.path)

    @property
    def ntasks(self):
        """int: Number of tasks."""
        return self._file.ntasks

    @property
    def keyval(self):
        """bool: Whether streams consist of records with keys."""
        return self._file.keyval

    @property
    def files(self):
        """list[pathlib.Path]: The physical files."""
        return self._file.files()

    @property
    def older(self):
        """list[Older]: The files that show an older commit of the set than another file does.

        A crash ended that commit while files became visible, or the files are older copies: the streams do not belong
        together. Only the files of a set with checksums know their commits.
        """
        return [Older(*older) for older in self._file.older()]

    @property
    def tasks(self):
        """list[Task]: All tasks."""
        return [Task(*task) for task in self._file.tasks()]

    def task(self, task):
        """Return what is known of a task, by its number."""
        return Task(*self._file.task(task))

    def find_globalrank(self, globalrank):
        """Return the number of the task with a global rank."""
        return self._file.find_globalrank(globalrank)

    def stream(self, task):
        """Return the stream of a task, as `TaskReader`. Streams may be read by several threads at once."""
        return TaskReader(self._file.stream(task))

    def keys(self, task):
        """Return the keys of a task, each with the length of its value in bytes: a dict."""
        return dict(self._file.keys(task))

    def value(self, task, key):
        """Return the value of a key of a task: the bytes of all of its records."""
        return self._file.value(task, key)

    def close(self):
        """Close the set. Streams that are open stay open."""
        self._file.close()

    def __len__(self):
        return self.ntasks

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __reduce__(self):
        return File, (self.path,)


class TaskWriter(io.RawIOBase):
    """The end of the stream of a task, to which bytes are added."""

    def __init__(self, task):
        self._task = task

    def writable(self):
        """True."""
        return True

    def _check(self):
        if self.closed:
            raise ValueError('I/O operation on closed file.')

    def write(self, buffer, /):
        """Add the bytes of a buffer; return how many were accepted.

        Fewer than all are accepted if the disk becomes full; the next call raises the error. Wrap the stream in
        `io.BufferedWriter` to have this done for you.
        """
        self._check()
        return self._task.write(buffer)

    def readinto(self, buffer, /):
        """Not possible: the stream is only written."""
        raise io.UnsupportedOperation('read')

    def write_record(self, record):
        """Add bytes that are not divided between two chunks, as ``sion_fwrite`` does."""
        self._check()
        self._task.write_record(record)

    def write_key(self, key, value):
        """Add a record of a key."""
        self._check()
        self._task.write_key(key, value)

    @property
    def location(self):
        """tuple[int, int]: The chunk, and the used bytes of it."""
        self._check()
        return self._task.location

    def commit(self):
        """Make what was written part of the file; it survives a crash."""
        self._check()
        self._task.commit()

    def close(self):
        """Give the task back. What was written is part of the file after the next commit or close of the set."""
        if not self.closed:
            super().close()
            self._task.close()


class Writer:
    """A set that is written. Different tasks may be written by different threads at once."""

    def __init__(self, writer):
        self._writer = writer

    @property
    def ntasks(self):
        """int: Number of tasks."""
        return self._writer.ntasks

    def stream(self, task):
        """Return the writer of a task, as `TaskWriter`; a task has one writer at a time."""
        return TaskWriter(self._writer.task(task))

    def commit(self):
        """Make what was written part of the files; it survives a crash."""
        self._writer.commit()

    def close(self):
        """Close the set."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()


def open(path):
    """Open a closed set by its first physical file."""
    return File(path)


def create(path, ntasks, **how):
    """Make a set.

    Args:
        path (str | os.PathLike): Its first physical file.
        ntasks (int): Number of tasks.
        chunksize (int): Bytes of each chunk.
        globalranks (list[int]): Global ranks of the tasks.
        nfiles (int): Number of physical files.
        fsblksize (int): What chunk sizes are rounded up to.
        keyval (bool): Whether streams consist of records with keys.
        checksums (bool): Whether the set is sealed with checksums.
        force (bool): Whether an existing set may be replaced.

    Returns:
        Writer: The set.
    """
    return Writer(_striae.SionWriter.create(fspath(path), ntasks, **how))


def append(path):
    """Open a closed set to add to its streams. All that is in it stays readable, whatever happens.

    Returns:
        Writer: The set.
    """
    return Writer(_striae.SionWriter.reopen(fspath(path)))
