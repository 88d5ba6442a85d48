"""Trajectories of particles: files of the schema ``hoomd``.

::

    import numpy
    import striae.gsd.hoomd

    frame = striae.gsd.hoomd.Frame()
    frame.configuration.step = 10
    frame.configuration.box = [8, 8, 8, 0, 0, 0]
    frame.particles.N = 2
    frame.particles.position = [[0, 0, 0], [1, 1, 1]]
    with striae.gsd.hoomd.open('run.gsd', 'w') as trajectory:
        trajectory.append(frame)
    with striae.gsd.hoomd.open('run.gsd') as trajectory:
        assert trajectory[0].particles.position.shape == (2, 3)

A frame is read by one call, which fills all of its arrays. What it does not have itself is taken from frame 0, or is
a default; such arrays are shared and read-only.
"""

import copyreg
import fnmatch
import logging
import sys
import warnings

import numpy

from striae._striae import Assembler
from striae.gsd import fl, version

__all__ = [
    'BondData',
    'ConfigurationData',
    'ConstraintData',
    'Frame',
    'HOOMDTrajectory',
    'ParticleData',
    'open',
    'read_log',
]

logger = logging.getLogger('gsd.hoomd')

_APPLICATION = 'gsd.hoomd ' + version.version
_PARTS = ('configuration', 'particles', 'bonds', 'angles', 'dihedrals', 'impropers', 'constraints', 'pairs')
_CREATED = {'application': _APPLICATION, 'schema': 'hoomd', 'schema_version': [2, 0]}


def _float_type(data):
    """The type that floats keep until they are written: 64 bits for lists and arrays of 64 bits."""
    if isinstance(data, list) or getattr(data, 'dtype', None) == numpy.float64:
        return numpy.float64
    return numpy.float32


class _Part:
    """Attributes that are cast to arrays of the types and the shapes of the schema."""

    _shapes = {}

    def cast(self):
        """Return the attributes that are not ``None``, as contiguous arrays, by their names.

        Raises:
            ValueError: An array has another shape than N rows, or two types have the same name.
        """
        cast = {}
        for name, (dtype, columns) in self._shapes.items():
            data = getattr(self, name)
            if data is not None:
                dtype = dtype or _float_type(data)
                columns = self.M if columns == 'M' else columns
                shape = [self.N, columns] if columns else [self.N]
                cast[name] = numpy.ascontiguousarray(data, dtype=dtype).reshape(shape)
        self._check_types()
        return cast

    def _check_types(self):
        types = getattr(self, 'types', None)
        if types is not None and len(set(types)) != len(types):
            raise ValueError('Type names must be unique.')

    def validate(self, inplace=False):
        """Check the attributes.

        Args:
            inplace (bool): Whether attributes become contiguous arrays of the right types and shapes.
        """
        if inplace:
            self.__dict__.update(self.cast())
        self._check_types()


class ConfigurationData:
    """Step, dimensions and box of a frame.

    Attributes:
        step (int): Step of the simulation.
        dimensions (int): 2 or 3. It is set with the box if it was not set before: 2 if Lz is 0.
        box ((6,) ``numpy.float32`` or ``float64``): Lx, Ly, Lz in units of length, then the tilts xy, xz, yz.
    """

    _default_value = {
        'step': numpy.uint64(0),
        'dimensions': numpy.uint8(3),
        'box': numpy.array([1, 1, 1, 0, 0, 0], dtype=numpy.float32),
    }

    def __init__(self):
        self.step = None
        self.dimensions = None
        self._box = None

    @property
    def box(self):
        """Lx, Ly, Lz, xy, xz, yz."""
        return self._box

    @box.setter
    def box(self, box):
        self._box = box
        try:
            lz = box[2]
        except TypeError:
            return
        if self.dimensions is None:
            self.dimensions = 2 if lz == 0 else 3

    def cast(self):
        """Return the box as an array, by its name, unless it is ``None``."""
        if self.box is None:
            return {}
        return {'box': numpy.ascontiguousarray(self.box, dtype=numpy.float32).reshape([6])}

    def validate(self, inplace=False):
        """Check the box; with ``inplace``, it becomes an array."""
        if inplace:
            cast = self.cast()
            if cast:
                self.box = cast['box']


class ParticleData(_Part):
    """The particles of a frame.

    Attributes:
        N (int): Number of particles.
        types (list[str]): Names of the types.
        typeid ((N,) ``uint32``): Type of each particle, as a place in ``types``.
        mass ((N,) ``float32`` or ``float64``): Masses.
        charge ((N,) ``float32`` or ``float64``): Charges.
        diameter ((N,) ``float32`` or ``float64``): Diameters.
        body ((N,) ``int32``): The body that a particle belongs to; -1: none.
        moment_inertia ((N, 3) ``float32`` or ``float64``): Ixx, Iyy, Izz.
        position ((N, 3) ``float32`` or ``float64``): x, y, z.
        orientation ((N, 4) ``float32`` or ``float64``): Quaternions: r, ax, ay, az.
        velocity ((N, 3) ``float32`` or ``float64``): x, y, z.
        angmom ((N, 4) ``float32`` or ``float64``): Angular momenta, as quaternions.
        image ((N, 3) ``int32``): How often a particle has crossed the box, in x, y and z.
        type_shapes (list[dict]): The shape of each type, for drawing.
    """

    _default_value = {
        'N': numpy.uint32(0),
        'types': ['A'],
        'typeid': numpy.uint32(0),
        'mass': numpy.float32(1.0),
        'charge': numpy.float32(0),
        'diameter': numpy.float32(1.0),
        'body': numpy.int32(-1),
        'moment_inertia': numpy.array([0, 0, 0], dtype=numpy.float32),
        'position': numpy.array([0, 0, 0], dtype=numpy.float32),
        'orientation': numpy.array([1, 0, 0, 0], dtype=numpy.float32),
        'velocity': numpy.array([0, 0, 0], dtype=numpy.float32),
        'angmom': numpy.array([0, 0, 0, 0], dtype=numpy.float32),
        'image': numpy.array([0, 0, 0], dtype=numpy.int32),
        'type_shapes': [{}],
    }
    _shapes = {
        'position': (None, 3),
        'orientation': (None, 4),
        'typeid': (numpy.uint32, None),
        'mass': (None, None),
        'charge': (None, None),
        'diameter': (None, None),
        'body': (numpy.int32, None),
        'moment_inertia': (None, 3),
        'velocity': (None, 3),
        'angmom': (None, 4),
        'image': (numpy.int32, 3),
    }

    def __init__(self):
        self.N = 0
        for name in self._default_value:
            if name != 'N':
                setattr(self, name, None)


class BondData(_Part):
    """Bonds, angles, dihedrals, impropers or special pairs of a frame.

    Args:
        M (int): Number of particles of each.

    Attributes:
        N (int): Number of them.
        types (list[str]): Names of the types.
        typeid ((N,) ``uint32``): Type of each, as a place in ``types``.
        group ((N, M) ``uint32``): The particles of each, by their numbers.
    """

    _shapes = {'typeid': (numpy.uint32, None), 'group': (numpy.uint32, 'M')}

    def __init__(self, M):
        self.M = M
        self.N = 0
        self.types = None
        self.typeid = None
        self.group = None

    @property
    def _default_value(self):
        group = numpy.zeros(self.M, dtype=numpy.uint32)
        return {'N': numpy.uint32(0), 'types': [], 'typeid': numpy.uint32(0), 'group': group}


class ConstraintData(_Part):
    """Fixed distances of a frame.

    Attributes:
        N (int): Number of constraints.
        value ((N,) ``float32`` or ``float64``): The distances.
        group ((N, 2) ``uint32``): The two particles of each, by their numbers.
    """

    _default_value = {
        'N': numpy.uint32(0),
        'value': numpy.float32(0),
        'group': numpy.array([0, 0], dtype=numpy.uint32),
    }
    _shapes = {'value': (None, None), 'group': (numpy.uint32, 'M')}

    def __init__(self):
        self.M = 2
        self.N = 0
        self.value = None
        self.group = None

    def validate(self, inplace=False):
        """Check the attributes; with ``inplace``, they become arrays, the distances of 32 bits."""
        super().validate(inplace)
        if inplace and self.value is not None:
            self.value = self.value.astype(numpy.float32, copy=False)


class Frame:
    """The state of a system at one time.

    Attributes:
        configuration (ConfigurationData): Step, dimensions and box.
        particles (ParticleData): The particles.
        bonds (BondData): Bonds of 2 particles.
        angles (BondData): Angles of 3.
        dihedrals (BondData): Dihedrals of 4.
        impropers (BondData): Impropers of 4.
        constraints (ConstraintData): Fixed distances.
        pairs (BondData): Special pairs.
        log (dict): Logged quantities: arrays of one or two dimensions, or texts.
    """

    __module__ = 'gsd.hoomd'  # by this name, libraries recognize a frame

    def __init__(self):
        self.configuration = ConfigurationData()
        self.particles = ParticleData()
        self.bonds = BondData(2)
        self.angles = BondData(3)
        self.dihedrals = BondData(4)
        self.impropers = BondData(4)
        self.constraints = ConstraintData()
        self.pairs = BondData(2)
        self.log = {}

    def __reduce__(self):
        if type(self) is Frame:  # which others may not find by its name
            return _frame, (), self.__dict__
        return copyreg.__newobj__, (type(self),), self.__dict__

    def validate(self, inplace=False):
        """Check all parts; with ``inplace``, attributes become arrays of the right types and shapes."""
        for name in _PARTS:
            getattr(self, name).validate(inplace)


def _frame():
    """A frame that is copied or unpickled, before it has its parts."""
    return Frame.__new__(Frame)


class _Frames:
    """Some frames of a trajectory, each read when it is asked for."""

    def __init__(self, trajectory, indices):
        self._trajectory = trajectory
        self._indices = indices

    def __len__(self):
        return len(self._indices)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return type(self)(self._trajectory, self._indices[key])
        return self._trajectory[self._indices[key]]

    def __iter__(self):
        return _FramesIterator(self._trajectory, self._indices)


class _FramesIterator:
    """An iterator that knows how many frames it was made for, and that can be started again."""

    def __init__(self, trajectory, indices):
        self._trajectory = trajectory
        self._indices = indices
        self._rest = iter(indices)

    def __len__(self):
        return len(self._indices)

    def __iter__(self):
        return type(self)(self._trajectory, self._indices)

    def __next__(self):
        return self._trajectory[next(self._rest)]

    next = __next__


class HOOMDTrajectory:
    """A sequence of frames in a file.

    Args:
        file (GSDFile): A file of the schema ``hoomd``: of ``striae.gsd.fl`` or of ``striae.gsd.pygsd``.
        precision (str): ``'single'`` or ``'double'``: bits of the floats that are written.

    ``trajectory[i]`` reads a frame, ``trajectory[a:b:c]`` is a view of some of them. Negative numbers count from the
    end.
    """

    def __init__(self, file, precision='single'):
        if file.mode == 'ab':
            raise ValueError('Append mode not yet supported')
        if precision not in ('single', 'double'):
            raise ValueError("precision must be 'single' or 'double'")
        self._file = file
        self._precision = precision
        logger.info('opening HOOMDTrajectory: %s', file)
        if file.schema != 'hoomd':
            raise RuntimeError(f'GSD file is not a hoomd schema file: {file}')
        version = tuple(file.schema_version)
        if not (1, 0) <= version < (3, 0):
            raise RuntimeError(f'Incompatible hoomd schema version {version} in: {file}')
        if version < (2, 0) and precision == 'double':
            raise RuntimeError("schema 1.x files are not compatible with precision='double'")
        self._assembler = Assembler(file, sys.modules[__name__])
        logger.info('found %d frames', len(self))

    @property
    def file(self):
        """GSDFile: The file."""
        return self._file

    @property
    def precision(self):
        """str: ``'single'`` or ``'double'``."""
        return self._precision

    @property
    def _initial_frame(self):
        return self._assembler.first_frame

    def __len__(self):
        return self._file.nframes

    def append(self, frame):
        """Add a frame.

        Args:
            frame (Frame): The frame. What is ``None``, or the same as in frame 0, is not written.

        Frame 0 is flushed; later frames are part of the file after `flush` or `close`.
        """
        if isinstance(frame, Frame):
            frame.validate()
        self._assembler.append(frame, self._precision == 'double')

    def extend(self, iterable):
        """Add each frame of an iterable."""
        for frame in iterable:
            self.append(frame)

    def truncate(self):
        """Remove all frames."""
        self._file.truncate()
        self._assembler.forget()

    def flush(self):
        """Make all frames that were added part of the file: they survive a crash, and can be read."""
        self._file.flush()

    def close(self):
        """Close the file."""
        self._file.close()
        self._assembler.forget()

    def __getitem__(self, key):
        if isinstance(key, slice):
            return _Frames(self, range(*key.indices(len(self))))
        if isinstance(key, (int, numpy.integer)):
            number = int(key)
            if number < 0:
                number += len(self)
            if number < 0:
                raise IndexError(f'there is no frame {key}')
            return self._assembler.read(number)
        raise TypeError(f'frames have numbers, not {type(key).__name__}')

    def __iter__(self):
        return _FramesIterator(self, range(len(self)))

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __reduce__(self):
        return HOOMDTrajectory, (self._file, self._precision)


def open(name, mode='r', precision='single'):
    """Open a trajectory.

    Args:
        name (str): Path of the file.
        mode (str): As of `striae.gsd.fl.open`.
        precision (str): ``'single'`` or ``'double'``: bits of the floats that are written.

    Returns:
        HOOMDTrajectory: The frames.
    """
    return HOOMDTrajectory(fl.open(str(name), mode, **_CREATED), precision)


def read_log(name, scalar_only=False, glob_pattern='*'):
    """Read logged quantities of all frames.

    Args:
        name (str): Path of the file.
        scalar_only (bool): Whether to leave out quantities of more than one value.
        glob_pattern (str): What their names match, as in a shell: ``'log/md/*'``.

    Returns:
        dict[str, numpy.ndarray]: Arrays by their names, with one row for each frame: ``configuration/step``, and
        the quantities that frame 0 has. Frames without a quantity have the value of frame 0.
    """
    with fl.open(str(name), 'r', **_CREATED) as file:
        logs = Assembler(file, sys.modules[__name__]).logs(glob_pattern, scalar_only)
        logs.setdefault('configuration/step', numpy.zeros(0, dtype=numpy.uint64))
        names = file.find_matching_chunk_names('log/')
        if not fnmatch.filter(names, glob_pattern):
            warnings.warn('No logged data in file: ' + str(name), RuntimeWarning, stacklevel=2)
        return logs
