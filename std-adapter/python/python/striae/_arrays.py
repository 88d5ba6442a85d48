"""Variables that are read by regions, with the indices of NumPy."""

import operator
from collections.abc import Mapping

import numpy


class Variable:
    """A variable. ``variable[0, :, 5]`` reads this region, and nothing else.

    Attributes:
        name (str): Its name.
        dtype (numpy.dtype): Type of its values in memory.
        shape (tuple[int]): Its lengths; that of the record dimension is the number of records.
        dimensions (tuple[str]): Names of its dimensions.
        attributes (dict): Its attributes, such as ``'units'``.
        is_record (bool): Whether its first dimension is that of records.
    """

    def __init__(self, file, name):
        self._file = file
        self.name = name
        kind, shape, dimensions, self.attributes, self.is_record = file.describe(name)
        self.dtype = numpy.dtype(kind)
        self.shape = tuple(shape)
        self.dimensions = tuple(dimensions)

    @property
    def ndim(self):
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self):
        """Number of values."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def __len__(self):
        if not self.shape:
            raise TypeError('len() of a variable without dimensions')
        return self.shape[0]

    def __getitem__(self, key):
        start, count, stride, shape, flip = self._region(key)
        out = numpy.empty(count, dtype=self.dtype)
        if out.size:
            self._file.read(self.name, start, count, stride, out.reshape(-1).view(numpy.uint8))
        return (out[flip].reshape(shape) if flip else out)[()]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError('a variable is read from its file, which is a copy')
        return numpy.asarray(self[...], dtype=dtype)

    def _region(self, key):
        """Start, count and stride of a key, the shape of the result, and how the dimensions are turned."""
        keys = list(key) if isinstance(key, tuple) else [key]
        places = [place for place, key in enumerate(keys) if key is Ellipsis]  # an array has an == of its own
        if len(places) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        if not places:
            places = [len(keys)]
            keys.append(Ellipsis)
        at = places[0]
        left = self.ndim - (len(keys) - 1)
        if left < 0:
            raise IndexError(f'too many indices for {self.name}: it has {self.ndim} dimensions')
        keys[at : at + 1] = [slice(None)] * left
        start, count, stride, shape, flip = [], [], [], [], []
        for dimension, (key, length) in enumerate(zip(keys, self.shape)):
            if isinstance(key, slice):
                numbers = range(*key.indices(length))
                shape.append(len(numbers))
            else:
                number = _index_of(key)
                if number is None or isinstance(key, (bool, numpy.bool_)):
                    raise IndexError(f'indices of {self.name} are integers, slices and ..., not {type(key).__name__}')
                if not -length <= number < length:
                    raise IndexError(f'index {number} is out of bounds for axis {dimension} with size {length}')
                number %= length
                numbers = range(number, number + 1)
            flip.append(slice(None, None, -1 if numbers.step < 0 else 1))
            numbers = numbers[::-1] if numbers.step < 0 else numbers
            start.append(numbers.start if len(numbers) else 0)
            count.append(len(numbers))
            stride.append(numbers.step)
        return start, count, stride, shape, tuple(flip)

    def __repr__(self):
        lengths = ', '.join(f'{name}={length}' for name, length in zip(self.dimensions, self.shape))
        return f'<{self.dtype} {self.name}({lengths})>'


def _index_of(key):
    """The integer that a key is; None if it is none."""
    try:
        return operator.index(key)
    except TypeError:
        return None


class Arrays(Mapping):
    """The variables of a file, by their names.

    Attributes:
        path (str): The file.
        attributes (dict): Attributes of the file.
        dimensions (dict): Lengths of the dimensions, by their names.
    """

    def __init__(self, path, opened):
        self.path = path
        self._file = opened(path)
        self._names = self._file.names()
        self.attributes = self._file.attributes()
        self.dimensions = self._file.dimensions()

    def __getitem__(self, name):
        return Variable(self._file, name)

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def close(self):
        """Close the file. Arrays that were read stay."""
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __reduce__(self):
        return type(self), (self.path,)

    def __repr__(self):
        return f'<{type(self).__module__}.{type(self).__name__} {self.path}: {", ".join(self._names)}>'
