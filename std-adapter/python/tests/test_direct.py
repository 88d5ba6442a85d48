"""striae.direct: samples of ffrecord files."""

import multiprocessing
import os
import pickle
import shutil
import threading

import numpy
import pytest

import striae
from striae.direct import Samples

SIZE = 5000


def data_of(number):
    return numpy.random.default_rng(number).integers(0, 256, SIZE, dtype=numpy.uint8)


def pack(folder, name, numbers, data=data_of):
    sources = []
    for number in numbers:
        sources.append(folder / f'source_{number}')
        sources[-1].write_bytes(data(number).tobytes())
    striae.pack(folder / name, sources)
    for source in sources:
        source.unlink()
    return folder / name


@pytest.fixture
def folder(tmp_path):
    """Two files of 30 and 12 samples."""
    pack(tmp_path, 'a.ffr', range(30))
    pack(tmp_path, 'b.ffr', range(30, 42))
    (tmp_path / 'notes.txt').write_text('no file of samples')
    return tmp_path


@pytest.mark.parametrize('direct', [True, False])
@pytest.mark.parametrize('checked', [True, False])
def test_a_folder_is_one_sequence(folder, direct, checked):
    samples = Samples(folder, direct=direct, checked=checked)
    assert len(samples) == 42 and len(samples.paths) == len(samples.how) == 2
    for number in [0, 29, 30, 41, -1, -42, numpy.int64(7)]:
        numpy.testing.assert_array_equal(samples[number], data_of(number % 42))
    for number in [42, -43]:
        with pytest.raises(IndexError, match=str(number)):
            samples[number]
    assert samples.lengths.tolist() == [SIZE] * 42
    assert sum(1 for _ in samples) == 42


def test_read_gives_one_array_in_the_order_of_the_request(folder):
    samples = Samples([folder / 'a.ffr', folder / 'b.ffr'])
    numbers = [41, 0, 30, 29, 0, -1, *numpy.random.default_rng(1).integers(0, 42, 100)]
    read = samples.read(numbers)
    assert read.shape == (106, SIZE)
    numpy.testing.assert_array_equal(read, [data_of(number % 42) for number in numbers])
    assert samples.read([]).shape == (0, 0)
    out = numpy.zeros((2, SIZE), dtype=numpy.uint8)
    assert samples.read([3, 2], out=out) is out
    numpy.testing.assert_array_equal(out, [data_of(3), data_of(2)])
    with pytest.raises(IndexError):
        samples.read([0, 42])
    with pytest.raises(ValueError):
        samples.read([1, 2], out=numpy.zeros((2, SIZE - 1), dtype=numpy.uint8))
    for size in [0, SIZE, 2 * SIZE - 1, 2 * SIZE + 1, 3 * SIZE]:
        out = numpy.full(size, 7, dtype=numpy.uint8)
        with pytest.raises(ValueError, match=f'out has {size} bytes, must have {2 * SIZE}'):
            samples.read([1, 2], out=out)
        assert (out == 7).all()
    with pytest.raises(ValueError, match='out has 1 bytes, must have 0'):
        samples.read([], out=numpy.zeros(1, dtype=numpy.uint8))
    batch = samples.__getitems__([1, 2])
    assert isinstance(batch, list) and [sample.shape for sample in batch] == [(SIZE,)] * 2


def test_samples_have_the_type_and_the_shape_that_were_asked_for(folder):
    samples = Samples(folder / 'a.ffr', dtype='<f4', shape=(25, 50))
    assert samples[3].shape == (25, 50) and samples[3].dtype == numpy.float32
    assert samples.read([1, 2, 3]).shape == (3, 25, 50)
    assert samples[3].tobytes() == data_of(3).tobytes()


def test_the_memory_of_a_sample_has_the_alignment_of_its_file(folder):
    samples = Samples(folder)
    for number in range(42):
        length, offset, align = samples._files.place(number)
        assert length == SIZE and align >= 1
        assert samples[number].ctypes.data % align == offset % align


def test_samples_of_different_lengths_are_read_one_by_one(tmp_path):
    pack(tmp_path, 'a.ffr', range(5), lambda number: data_of(number)[: number * 10])
    samples = Samples(tmp_path / 'a.ffr')
    assert samples.lengths.tolist() == [0, 10, 20, 30, 40]
    assert [sample.size for sample in samples] == [0, 10, 20, 30, 40]
    with pytest.raises(ValueError, match='sample 3 has 30 bytes, and another has 20'):
        samples.read([2, 2, 3, 1])
    batch = samples.__getitems__([2, 4, 0, -1])  # as a DataLoader asks for them
    assert isinstance(batch, list) and [sample.size for sample in batch] == [20, 40, 0, 40]
    for number, sample in zip([2, 4, 0, 4], batch):
        numpy.testing.assert_array_equal(sample, data_of(number)[: number * 10])
    with pytest.raises(IndexError):
        samples.__getitems__([1, 5])


def test_damage_is_found_if_samples_are_checked(folder):
    at = striae.ls(folder / 'a.ffr')[4].facts['offset']
    with open(folder / 'a.ffr', 'r+b') as file:
        file.seek(at + 100)
        file.write(bytes([data_of(4)[100] ^ 1]))
    samples = Samples(folder / 'a.ffr')
    for act in [lambda: samples[4], lambda: samples.read([3, 4])]:
        with pytest.raises(RuntimeError, match='a.ffr: .*sample 4'):
            act()
    numpy.testing.assert_array_equal(samples[5], data_of(5))
    assert Samples(folder / 'a.ffr', checked=False)[4][100] == data_of(4)[100] ^ 1


class Loader:
    """What a worker of a loader does with a map-style dataset."""

    def __init__(self, samples):
        self.samples = samples

    def __call__(self, numbers):
        batch = self.samples.__getitems__(numbers)
        return [sample.tobytes() for sample in batch], self.samples[numbers[0]].tobytes(), os.getpid()


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver'])
def test_workers_read_batches_after_the_parent_has_read(folder, method):
    samples = Samples(folder)
    samples.read(range(42))  # rings and threads of the parent are in use
    batches = [list(range(start, 42, 7)) for start in range(7)]
    with multiprocessing.get_context(method).Pool(3) as pool:
        for numbers, (batch, first, pid) in zip(batches, pool.map(Loader(samples), batches)):
            assert batch == [data_of(number).tobytes() for number in numbers]
            assert first == batch[0] and pid != os.getpid()
    numpy.testing.assert_array_equal(samples[41], data_of(41))


@pytest.mark.parametrize('direct', [True, False])
def test_a_fork_uses_what_its_parent_has_opened_and_ends(folder, direct):
    samples = Samples(folder, direct=direct)
    samples.read(range(10))
    for path in samples.paths:  # another file with this name is not read
        os.rename(path, f'{path}.old')
        shutil.copy(__file__, path)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            same = all((samples[number] == data_of(number)).all() for number in range(42))
            same = same and (samples.read(range(42))[41] == data_of(41)).all()
            del samples  # the end of what is the parent's must not wait for the parent's threads
            status = 0 if same else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    numpy.testing.assert_array_equal(samples.read([0])[0], data_of(0))


def test_an_empty_sample_is_checked_as_well(folder):
    with open(folder / 'a.ffr', 'r+b') as file:
        head = file.read(12)
        count = int.from_bytes(head[4:12], 'little')
        offsets = 12 + 4 * count
        file.seek(offsets)
        first = file.read(8)
        file.write(first)  # sample 0 is empty now, and its checksum is that of another
        file.seek(0)
        file.write(bytes(4))  # no checksum of the tables
    samples = Samples(folder / 'a.ffr')
    for act in [lambda: samples[0], lambda: samples.read([0])]:
        with pytest.raises(RuntimeError, match='a.ffr: .*sample 0'):
            act()
    assert len(Samples(folder / 'a.ffr', checked=False)[0]) == 0


def test_threads_share_samples(folder):
    samples, wrong = Samples(folder), []

    def read(start):
        for number in range(start, 42, 4):
            if not (samples[number] == data_of(number)).all():
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_samples_are_pickled_with_their_options(folder):
    samples = pickle.loads(pickle.dumps(Samples(folder, dtype='<u2', shape=(SIZE // 2, 1), checked=True)))
    assert samples[1].shape == (SIZE // 2, 1) and samples.dtype == numpy.uint16 and len(samples) == 42


def test_what_is_no_file_of_samples_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match='no file NAME.ffr'):
        Samples(tmp_path)
    with pytest.raises(FileNotFoundError):
        Samples(tmp_path / 'none.ffr')
    (tmp_path / 'a.ffr').write_bytes(b'short')
    with pytest.raises(RuntimeError, match='a.ffr'):
        Samples(tmp_path)
