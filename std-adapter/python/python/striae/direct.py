"""Samples of ffrecord files, read past the page cache.

::

    import striae.direct

    samples = striae.direct.Samples('train/', dtype='float32', shape=(3, 224, 224))
    loader = torch.utils.data.DataLoader(samples, batch_size=64, shuffle=True, num_workers=4)

    batch = samples.read([5, 0, 1000])  # one array of 3 samples

A training loop that reads random samples of a set that is larger than memory gains nothing from the page cache, and
pushes other data out of it. Where the system does not allow direct reads, samples are read through the cache.
"""

import operator
import os
from os import fspath

import numpy

from striae._striae import SampleFiles

__all__ = ['Samples']


class Samples:
    """The samples of one or several ffrecord files, as one sequence.

    It can be used as a map-style dataset of PyTorch, in forked and in spawned workers: a worker opens the files anew.

    Args:
        path (str | os.PathLike | list): A file, a folder of files (``*.ffr``, in the order of their names), or several
            of them.
        dtype (numpy.dtype): Type of the values of a sample.
        shape (tuple[int]): Shape of a sample; by default, it has one dimension.
        direct (bool): Whether to avoid the page cache where possible.
        checked (bool): Whether samples are compared with their checksums, and tables when they are opened, as
            ``ffrecord.FileReader`` does.

    ``len(samples)`` is the number of samples, ``samples[i]`` an array of one of them.
    """

    def __init__(self, path, *, dtype=numpy.uint8, shape=None, direct=True, checked=True):
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        self.paths = [file for path in paths for file in _files_of(fspath(path))]
        self.dtype = numpy.dtype(dtype)
        self.shape = None if shape is None else tuple(shape)
        self._how = {'direct': direct, 'checked': checked}
        self._files = SampleFiles(self.paths, direct, checked)

    def __len__(self):
        return len(self._files)

    @property
    def lengths(self):
        """(len(samples),) ``numpy.uint64``: Length of each sample in bytes."""
        return numpy.array(self._files.lengths(), dtype=numpy.uint64)

    @property
    def how(self):
        """list[str]: How each file is read at the moment, such as ``'io_uring with registered buffers'``."""
        return self._files.how()

    def __getitem__(self, number):
        """Read a sample.

        The array begins at an address of memory with the remainder that the sample has in its file, so that a direct
        read of 1 MiB or more puts whole blocks in their places. A shorter sample is read with the blocks around it and
        copied, unless it consists of whole blocks.
        """
        number = operator.index(number)
        length, offset, align = self._files.place(number)
        align = max(align, 1)
        memory = numpy.empty(length + 2 * align, dtype=numpy.uint8)
        skip = (offset - memory.ctypes.data) % align
        sample = memory[skip : skip + length]
        self._files.read_one(number, sample)
        return self._shaped(sample, ())

    def read(self, numbers, out=None):
        """Read several samples of one length: of each file with many reads at once, one file after another.

        Args:
            numbers (Iterable[int]): Which samples, in any order.
            out (numpy.ndarray): Where to put them; by default a new array.

        Returns:
            numpy.ndarray: (len(numbers), ...) of ``dtype``: the samples, in the order of the request.

        Raises:
            ValueError: The samples have different lengths, or ``out`` has not as many bytes as all of them.
        """
        numbers = [operator.index(number) for number in numbers]
        if out is None:
            length = self._files.place(numbers[0])[0] if numbers else 0
            out = numpy.empty((len(numbers), length), dtype=numpy.uint8)
            self._files.read_rows(numbers, out)
            return self._shaped(out, (len(numbers),))
        self._files.read_rows(numbers, out)
        return out

    def __getitems__(self, numbers):
        """Read a batch, as PyTorch asks for it: a list of samples, which may have different lengths."""
        numbers = [operator.index(number) for number in numbers]
        if len({self._files.place(number)[0] for number in numbers}) > 1:
            return [self[number] for number in numbers]
        return list(self.read(numbers))

    def __iter__(self):
        return (self[number] for number in range(len(self)))

    def _shaped(self, array, before):
        array = array.view(self.dtype)
        if self.shape is None:
            return array
        return array.reshape(before + self.shape)

    def __reduce__(self):
        return _again, (type(self), self.paths, {'dtype': self.dtype, 'shape': self.shape, **self._how})


def _again(kind, paths, how):
    """Samples that were pickled."""
    return kind(paths, **how)


def _files_of(path):
    """The files of a folder, or the file itself."""
    if not os.path.isdir(path):
        return [path]
    names = sorted(name for name in os.listdir(path) if name.endswith('.ffr'))
    if not names:
        raise FileNotFoundError(f'{path}: there is no file NAME.ffr in this folder')
    return [os.path.join(path, name) for name in names]
