"""striae.gsd.hoomd: what users of gsd.hoomd rely on beyond gsd's own tests."""

import copy
import io
import json
import multiprocessing
import pickle
import subprocess
import sys
import threading
import types
import warnings

import numpy
import pytest

import striae.gsd.fl as fl
import striae.gsd.hoomd as hoomd
import striae.gsd.pygsd as pygsd

PARTS = ['particles', 'bonds', 'angles', 'dihedrals', 'impropers', 'constraints', 'pairs']


def frame_of(step, n=3, **log):
    frame = hoomd.Frame()
    frame.configuration.step = step
    frame.configuration.box = [8, 8, 8, 0, 0, 0.5]
    frame.particles.N = n
    frame.particles.types = ['A', 'Bär']
    frame.particles.typeid = [0, 1, 1][:n] + [1] * (n - 3)
    frame.particles.position = numpy.arange(3 * n, dtype=numpy.float32).reshape(n, 3) + step
    frame.particles.type_shapes = [{'type': 'Sphere', 'diameter': 2.0}, {}]
    frame.bonds.N = 1
    frame.bonds.types = ['bond']
    frame.bonds.group = [[0, 1]]
    frame.log = {name: numpy.asarray(value) for name, value in log.items()}
    return frame


def write(path, frames, **how):
    with hoomd.open(path, 'w', **how) as trajectory:
        trajectory.extend(frames)


def values_of(frame):
    """All attributes of a frame, by their names."""
    values = {}
    for name in ['configuration', *PARTS]:
        part = getattr(frame, name)
        values |= {f'{name}.{attribute}': value for attribute, value in vars(part).items()}
    return values | {f'log.{name}': value for name, value in frame.log.items()}


def assert_same(one, other):
    one, other = values_of(one), values_of(other)
    assert one.keys() == other.keys()
    for name in one:
        assert getattr(one[name], 'dtype', None) == getattr(other[name], 'dtype', None), name
        assert numpy.array_equal(one[name], other[name]), name


def chunks_of(path):
    with fl.open(path, 'r') as file:
        names = file.find_matching_chunk_names('')
        return [{name for name in names if file.chunk_exists(frame, name)} for frame in range(file.nframes)]


def test_only_what_differs_from_frame_0_and_the_defaults_is_written(path):
    frames = [frame_of(step) for step in [5, 6, 7]]
    frames[1].particles.mass = [1, 1, 1]
    frames[2].particles.typeid = [0, 0, 0]
    write(path, frames)
    shared = {'configuration/box', 'particles/N', 'particles/types', 'particles/type_shapes', 'particles/typeid',
              'bonds/N', 'bonds/types', 'bonds/group'}
    changing = {'configuration/step', 'particles/position'}
    assert chunks_of(path) == [shared - set() | changing, changing, changing | {'particles/typeid'}]
    with hoomd.open(path) as trajectory:
        assert trajectory[2].particles.typeid.tolist() == [0, 0, 0]
        assert trajectory[1].particles.typeid.tolist() == [0, 1, 1]
        assert trajectory[1].particles.types == ['A', 'Bär']
        assert trajectory[1].particles.type_shapes == [{'type': 'Sphere', 'diameter': 2.0}, {}]


def test_values_that_are_only_equal_as_numbers_are_written(path):
    frames = [frame_of(0), frame_of(0)]
    frames[0].particles.charge = numpy.array([0.0, 1.0, numpy.nan], dtype=numpy.float32)
    frames[1].particles.charge = numpy.array([-0.0, 1.0, numpy.nan], dtype=numpy.float32)
    write(path, frames)
    with hoomd.open(path) as trajectory:
        assert numpy.signbit(trajectory[1].particles.charge[0])
        assert not numpy.signbit(trajectory[0].particles.charge[0])


def test_what_a_frame_takes_from_frame_0_is_shared_and_read_only(path):
    write(path, [frame_of(step) for step in range(4)])
    with hoomd.open(path) as trajectory:
        one, two = trajectory[1], trajectory[2]
        assert one.particles.typeid is two.particles.typeid
        assert one.particles.mass is two.particles.mass
        for array in [one.particles.typeid, one.particles.mass, one.bonds.group]:
            with pytest.raises(ValueError):
                array[0] = 1
        one.particles.position[0] = 9  # its own
        one.particles.types.append('C')
        one.configuration.box[0] = 99
        one.particles.type_shapes.append({})
        again = trajectory[1]
        assert again.particles.position[0, 0] == 1
        assert again.particles.types == ['A', 'Bär']
        assert again.configuration.box[0] == 8
        assert len(again.particles.type_shapes) == 2


def test_changes_of_frame_0_do_not_reach_other_frames(path):
    frames = [frame_of(step) for step in range(3)]
    write(path, frames)
    with hoomd.open(path) as trajectory:
        first = trajectory[0]
        first.particles.typeid[:] = 7
        first.particles.types[:] = ['X']
        first.particles.type_shapes[0]['type'] = 'Cube'
        assert trajectory[1].particles.typeid.tolist() == [0, 1, 1]
        assert trajectory[1].particles.types == ['A', 'Bär']
        assert trajectory[1].particles.type_shapes[0] == {'type': 'Sphere', 'diameter': 2.0}


def test_another_number_of_particles_takes_defaults(path):
    frames = [frame_of(0), frame_of(1, n=5)]
    frames[0].particles.mass = [2, 3, 4]
    frames[1].particles.typeid = None
    frames[1].bonds.N = 2
    frames[1].bonds.group = None
    write(path, frames)
    with hoomd.open(path) as trajectory:
        frame = trajectory[1]
        assert frame.particles.N == 5 and frame.particles.mass.tolist() == [1] * 5
        assert frame.particles.typeid.tolist() == [0] * 5
        assert frame.particles.body.tolist() == [-1] * 5
        assert frame.particles.orientation.tolist() == [[1, 0, 0, 0]] * 5
        assert frame.bonds.group.tolist() == [[0, 0]] * 2
        assert trajectory[0].particles.mass.tolist() == [2, 3, 4]


def test_a_frame_without_anything_is_a_frame(path):
    write(path, [hoomd.Frame(), hoomd.Frame()])
    with hoomd.open(path) as trajectory:
        assert len(trajectory) == 2
        assert trajectory[1].configuration.step == 0
        assert trajectory[1].particles.position.shape == (0, 3)
        assert trajectory[1].particles.types == ['A']


def test_a_frame_that_cannot_be_written_leaves_nothing(path):
    bad = frame_of(1)
    bad.log = {'a': numpy.zeros((2, 2, 2))}
    short = frame_of(1)
    short.particles.mass = [1, 2]
    twice = frame_of(1)
    twice.bonds.types = ['b', 'b']
    with hoomd.open(path, 'w') as trajectory:
        trajectory.append(frame_of(0))
        for frame, text in [(bad, 'log/a'), (short, r'particles/mass.*3 rows'), (twice, 'unique')]:
            with pytest.raises(ValueError, match=text):
                trajectory.append(frame)
        trajectory.append(frame_of(2))
    with hoomd.open(path) as trajectory:
        assert [frame.configuration.step for frame in trajectory] == [0, 2]


def test_double_precision_keeps_all_digits(path):
    third = numpy.array([[1 / 3] * 3] * 3)
    frame = frame_of(0)
    frame.particles.position = third
    write(path, [frame], precision='double')
    with hoomd.open(path) as trajectory:
        assert trajectory.precision == 'single'
        numpy.testing.assert_array_equal(trajectory[0].particles.position, third)
        assert trajectory[0].particles.position.dtype == numpy.float64
    write(path, [frame])
    with hoomd.open(path) as trajectory:
        numpy.testing.assert_array_equal(trajectory[0].particles.position, third.astype(numpy.float32))


@pytest.mark.parametrize('name', ['v21_hoomd_full_single', 'v21_hoomd_full_double', 'v21_hoomd_varying_N',
                                  'v20_hoomd14'])
def test_golden_trajectories_read_alike_from_disk_and_memory(golden, name):
    path = golden / 'gsd' / f'{name}.gsd'
    memory = pygsd.GSDFile(io.BytesIO(path.read_bytes()))
    with hoomd.open(path) as trajectory, hoomd.HOOMDTrajectory(memory) as other:
        assert len(trajectory) == len(other) > 0
        for number in [*range(len(trajectory)), -1]:
            assert_same(trajectory[number], other[number])


def test_what_is_read_and_written_again_reads_the_same(path, golden):
    for name in ['v21_hoomd_full_single', 'v21_hoomd_varying_N', 'v20_hoomd14']:
        with hoomd.open(golden / 'gsd' / f'{name}.gsd') as trajectory:
            write(path, trajectory)
            with hoomd.open(path) as copied:
                assert len(copied) == len(trajectory)
                for one, other in zip(trajectory, copied):
                    one.bonds.group, other.bonds.group = None, None  # int32 in files of schema 1
                    for part in PARTS[2:]:
                        getattr(one, part).group = getattr(other, part).group = None
                    assert_same(one, other)


def test_numbers_and_slices_are_those_of_a_list(path):
    write(path, [frame_of(step) for step in range(10)])
    steps = list(range(10))
    with hoomd.open(path) as trajectory:
        for key in [0, 9, -1, -10, numpy.int64(3)]:
            assert trajectory[key].configuration.step == steps[key]
        for key in [10, -11, 1 << 70]:
            with pytest.raises((IndexError, OverflowError)):
                trajectory[key]
        with pytest.raises(TypeError):
            trajectory['a']
        for part in [slice(None), slice(2, 7, 2), slice(None, None, -3), slice(-3, None), slice(20, 30)]:
            view = trajectory[part]
            assert len(view) == len(steps[part])
            assert [frame.configuration.step for frame in view] == steps[part]
            assert [frame.configuration.step for frame in view[::-1]] == steps[part][::-1]
        numbers = numpy.random.default_rng(1).permutation(10)
        assert [int(trajectory[number].configuration.step) for number in numbers] == numbers.tolist()


def test_what_is_appended_is_read_after_a_flush(path):
    with hoomd.open(path, 'w') as trajectory:
        trajectory.append(frame_of(0))
        assert len(trajectory) == 1
        trajectory.append(frame_of(1))
        assert len(trajectory) == 1
        trajectory.flush()
        assert trajectory[1].configuration.step == 1
        trajectory.truncate()
        assert len(trajectory) == 0
        trajectory.append(frame_of(7, n=4))
        trajectory.append(frame_of(8, n=4))
        trajectory.flush()
        assert [frame.configuration.step for frame in trajectory] == [7, 8]
        assert trajectory[1].particles.N == 4
    with hoomd.open(path, 'a') as trajectory:
        trajectory.append(frame_of(9, n=4))
    with hoomd.open(path) as trajectory:
        assert [frame.configuration.step for frame in trajectory] == [7, 8, 9]
        assert trajectory[2].particles.typeid.tolist() == [0, 1, 1, 1]
    assert 'particles/typeid' not in chunks_of(path)[2]


def test_logs_are_those_of_all_frames(path):
    frames = [frame_of(step, energy=[step / 2], pressure=numpy.arange(6.0).reshape(2, 3) + step, flags=[step, 1, 2])
              for step in range(6)]
    for frame in frames:
        frame.log['name'] = f'step {frame.configuration.step} ä'
    del frames[3].log['energy']
    del frames[4].log['name']
    write(path, frames)
    logs = hoomd.read_log(path)
    assert list(logs) == ['configuration/step', 'log/energy', 'log/pressure', 'log/flags', 'log/name']
    assert logs['configuration/step'].tolist() == list(range(6))
    assert logs['log/energy'].tolist() == [0, 0.5, 1, 0, 2, 2.5]
    numpy.testing.assert_array_equal(logs['log/pressure'], [frame.log['pressure'] for frame in frames])
    assert logs['log/flags'].shape == (6, 3)
    assert logs['log/name'].tolist() == [f'step {step} ä' for step in [0, 1, 2, 3, 0, 5]]
    assert list(hoomd.read_log(path, scalar_only=True)) == ['configuration/step', 'log/energy', 'log/name']
    assert list(hoomd.read_log(path, glob_pattern='log/[pf]*')) == ['configuration/step', 'log/pressure', 'log/flags']
    with hoomd.open(path) as trajectory:
        for number, frame in enumerate(trajectory):
            for name, value in frame.log.items():
                numpy.testing.assert_array_equal(value, logs[f'log/{name}'][number])


def test_a_log_that_changes_its_shape_is_an_error_with_its_name(path):
    write(path, [frame_of(0, a=[1.0]), frame_of(1, a=[1.0, 2.0])])
    with pytest.raises(RuntimeError, match='log/a.*frame 1'):
        hoomd.read_log(path)
    with warnings.catch_warnings(), pytest.warns(RuntimeWarning, match='No logged data'):
        hoomd.read_log(path, glob_pattern='none')


def test_frames_can_be_pickled_and_copied(path):
    write(path, [frame_of(0, energy=[1.0]), frame_of(1)])
    with hoomd.open(path) as trajectory:
        for frame in trajectory:
            assert_same(frame, pickle.loads(pickle.dumps(frame)))
            assert_same(frame, copy.deepcopy(frame))
        assert_same(pickle.loads(pickle.dumps(trajectory))[1], trajectory[1])
    with hoomd.open(path, 'r+') as trajectory, pytest.raises(pickle.PickleError):
        pickle.dumps(trajectory)


class Named(hoomd.Frame):
    """A frame with something more."""

    def __init__(self, name):
        super().__init__()
        self.name = name


def test_a_frame_of_a_class_of_its_own_stays_one(path):
    frame = Named('mine')
    frame.particles.N = 1
    copied = pickle.loads(pickle.dumps(frame))
    assert type(copied) is Named and copied.name == 'mine' and copied.particles.N == 1
    write(path, [copied])
    with hoomd.open(path) as trajectory:
        assert trajectory[0].particles.N == 1


def test_frames_are_read_and_a_trajectory_is_closed_by_different_threads(path):
    write(path, [frame_of(step) for step in range(50)])
    for _ in range(5):
        trajectory = hoomd.HOOMDTrajectory(pygsd.GSDFile(open(path, 'rb')))
        ends = []

        def read(trajectory=trajectory, ends=ends):
            try:
                for frame in trajectory:
                    frame.particles.position.sum()
            except (ValueError, OSError) as error:
                ends.append(error)  # it was closed meanwhile

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        trajectory.close()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive()


def test_one_changed_import_is_enough():
    program = '''
import striae.gsd as gsd
print(gsd.hoomd.Frame().particles.N, gsd.fl.open.__module__, gsd.pygsd.GSDFile.__name__, gsd.version.version)
try:
    gsd.none
except AttributeError as error:
    print('none' in str(error))
'''
    said = subprocess.run([sys.executable, '-c', program], capture_output=True, check=True, text=True).stdout
    assert said.split() == ['0', 'striae.gsd.fl', 'GSDFile', '5.0.1', 'True']


def position_of(trajectory, number):
    return trajectory[number].particles.position


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_read_frames_of_a_trajectory_of_the_parent(path, method):
    write(path, [frame_of(step) for step in range(20)])
    with hoomd.open(path) as trajectory, multiprocessing.get_context(method).Pool(2) as pool:
        positions = pool.starmap(position_of, [(trajectory, number) for number in range(20)])
        for frame, position in zip(trajectory, positions):
            numpy.testing.assert_array_equal(frame.particles.position, position)


def test_validate_makes_distances_of_32_bits_in_place():
    frame = hoomd.Frame()
    frame.constraints.N = 2
    frame.constraints.value = [1.5, 2.5]
    frame.validate(inplace=True)
    assert frame.constraints.value.dtype == numpy.float32


def test_validate_makes_arrays_in_place():
    frame = frame_of(0)
    frame.validate()
    assert isinstance(frame.particles.typeid, list)
    frame.validate(inplace=True)
    assert frame.particles.typeid.dtype == numpy.uint32
    assert frame.configuration.box.dtype == numpy.float32 and frame.configuration.dimensions == 3
    frame.particles.N = 7
    with pytest.raises(ValueError):
        frame.validate(inplace=True)


def test_only_trajectories_are_opened(path):
    fl.open(path, 'w', application='a', schema='other', schema_version=(1, 0)).close()
    with pytest.raises(RuntimeError, match='incorrect schema'):
        hoomd.open(path)
    with fl.open(path, 'r') as file, pytest.raises(RuntimeError, match='not a hoomd schema'):
        hoomd.HOOMDTrajectory(file)
    fl.open(path, 'w', application='a', schema='hoomd', schema_version=(3, 0)).close()
    with pytest.raises(RuntimeError, match=r'Incompatible hoomd schema version \(3, 0\)'):
        hoomd.open(path)
    fl.open(path, 'w', application='a', schema='hoomd', schema_version=(1, 4)).close()
    with pytest.raises(RuntimeError, match='schema 1.x'):
        hoomd.open(path, 'a', precision='double')
    with pytest.raises(ValueError, match='precision'):
        hoomd.open(path, precision='half')


def test_a_number_of_particles_that_takes_no_bytes_is_refused(path):
    with fl.open(path, 'w', application='a', schema='hoomd', schema_version=(2, 0)) as file:
        file.write_chunk('particles/N', numpy.array([1 << 31], dtype=numpy.uint32))
        file.end_frame()
    with hoomd.open(path) as trajectory, pytest.raises(RuntimeError, match='2147483648 rows'):
        trajectory[0]


def test_install_takes_the_place_of_gsd():
    program = '''
import json, sys
import striae.gsd
striae.gsd.install()
import gsd, gsd.fl, gsd.hoomd, gsd.pygsd, gsd.version
from gsd.hoomd import Frame
print(json.dumps([gsd.__name__, gsd.fl.__name__, gsd.hoomd.open.__module__, gsd.__version__, Frame.__module__]))
'''
    said = subprocess.run([sys.executable, '-c', program], capture_output=True, check=True, text=True).stdout
    assert json.loads(said) == ['striae.gsd', 'striae.gsd.fl', 'striae.gsd.hoomd', '5.0.1', 'gsd.hoomd']


def test_frames_that_threads_append_at_once_are_whole(path):
    def append(trajectory, thread):
        for number in range(100):
            frame = hoomd.Frame()
            frame.configuration.step = 1 + thread * 1000 + number
            frame.particles.N = 2
            frame.particles.position = [[thread, number, 0]] * 2
            frame.log['thread'] = [thread]
            trajectory.append(frame)

    with hoomd.open(path, 'w') as trajectory:
        threads = [threading.Thread(target=append, args=(trajectory, thread)) for thread in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with hoomd.open(path, 'r') as trajectory:
        steps = []
        for frame in trajectory:
            thread, number = divmod(int(frame.configuration.step) - 1, 1000)
            assert frame.particles.position.tolist() == [[thread, number, 0]] * 2
            steps.append((thread, number))
    assert sorted(steps) == [(thread, number) for thread in range(3) for number in range(100)]


def test_flushed_frames_without_chunks_are_frames_of_the_trajectory(path):
    with hoomd.open(path, 'w') as trajectory:
        frame = hoomd.Frame()
        frame.particles.N = 3
        trajectory.append(frame)
        trajectory.file.end_frame()
        trajectory.file.end_frame()
        trajectory.file.flush()
        assert [frame.particles.N for frame in trajectory] == [3, 3, 3]
        trajectory.append(frame)
        trajectory.flush()
        assert len(trajectory) == 4


def test_of_a_chunk_that_is_twice_the_first_counts(tmp_path):
    path = tmp_path / 'a.gsd'
    with fl.open(path, 'w', application='test', schema='hoomd', schema_version=[1, 4]) as file:
        for frame in (0, 10):
            for number, name in enumerate(['log/a', 'log/b', 'log/c']):
                file.write_chunk(name, numpy.array([frame + number]))
            file.end_frame()
    data = bytearray(path.read_bytes())
    entry = int.from_bytes(data[8:16], 'little') + 4 * 32
    assert data[entry:entry + 8] == b'\1' + bytes(7) and data[entry + 28:entry + 30] == b'\1\0'
    data[entry + 28] = 0  # the chunk of log/b in frame 1 is a second one of log/a
    path.write_bytes(data)
    with hoomd.open(path, 'r') as trajectory:
        assert {name: value[0] for name, value in trajectory[1].log.items()} == {'a': 10, 'b': 1, 'c': 12}


def test_of_equal_names_the_first_one_counts(tmp_path):
    path = tmp_path / 'a.gsd'
    with fl.open(path, 'w', application='test', schema='hoomd', schema_version=[1, 4]) as file:
        file.write_chunk('log/aa', numpy.array([1]))
        file.write_chunk('log/ab', numpy.array([2]))
        file.end_frame()
    data = path.read_bytes()
    assert data.count(b'log/ab') == 1
    path.write_bytes(data.replace(b'log/ab', b'log/aa'))
    with hoomd.open(path, 'r') as trajectory:
        assert trajectory[0].log['aa'][0] == 1
        assert hoomd.read_log(path)['log/aa'][0] == 1


def test_a_frame_that_changes_nothing_writes_nothing_whatever_types_frame_0_has(tmp_path):
    path = tmp_path / 'old.gsd'
    with fl.open(path, 'w', 'a', 'hoomd', [1, 4]) as file:
        file.write_chunk('particles/N', numpy.array([4], dtype=numpy.uint32))
        file.write_chunk('particles/mass', numpy.array([1 / 3, 2, 3, 4], dtype=numpy.float64))
        file.write_chunk('bonds/N', numpy.array([2], dtype=numpy.uint32))
        file.write_chunk('bonds/group', numpy.array([[0, 1], [2, 3]], dtype=numpy.int32))
        file.end_frame()
    with hoomd.open(path, 'r+') as trajectory:
        frame = trajectory[0]
        for step in [1, 2]:
            frame.configuration.step = step
            trajectory.append(frame)
        frame.bonds.group = [[0, 1], [1, 3]]
        trajectory.append(frame)
    with fl.open(path, 'r') as file:
        assert [file.chunk_exists(n, 'particles/mass') for n in range(4)] == [True, False, False, False]
        assert [file.chunk_exists(n, 'bonds/group') for n in range(4)] == [True, False, False, True]
    with hoomd.open(path, 'r') as trajectory:
        assert trajectory[2].particles.mass[0] == 1 / 3
        assert trajectory[3].bonds.group.tolist() == [[0, 1], [1, 3]]


def test_a_frame_without_a_step_has_that_of_frame_0(tmp_path):
    path = tmp_path / 'steps.gsd'
    write(path, [frame_of(5), hoomd.Frame(), frame_of(7)])
    with hoomd.open(path, 'r') as trajectory:
        assert [frame.configuration.step for frame in trajectory] == [5, 5, 7]


def test_a_step_may_be_an_array_of_one_number_and_a_log_any_mapping(tmp_path):
    path = tmp_path / 'step.gsd'
    frame = frame_of(0)
    frame.configuration.step = numpy.array([3])
    frame.log = types.MappingProxyType({'energy': numpy.array([1.5])})
    write(path, [frame])
    with hoomd.open(path, 'r') as trajectory:
        assert trajectory[0].configuration.step == 3 and trajectory[0].log['energy'] == 1.5


class Interrupted(io.BytesIO):
    """A file whose reads are interrupted, or give another type of bytes."""

    raises = None

    def read(self, size=-1):
        if self.raises is not None:
            raise self.raises
        return bytearray(super().read(size))


@pytest.mark.parametrize('error', [KeyboardInterrupt(), io.UnsupportedOperation('no'), ZeroDivisionError('x')])
def test_what_a_file_object_raises_is_raised(tmp_path, error):
    path = tmp_path / 'a.gsd'
    write(path, [frame_of(step) for step in range(3)])
    file = Interrupted(path.read_bytes())
    trajectory = hoomd.HOOMDTrajectory(pygsd.GSDFile(file))
    assert trajectory[1].configuration.step == 1
    file.raises = error
    with pytest.raises(type(error)):
        trajectory[2]
