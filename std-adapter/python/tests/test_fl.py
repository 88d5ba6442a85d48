"""striae.gsd.fl: what users of gsd.fl rely on beyond gsd's own tests."""

import gc
import logging
import mmap
import multiprocessing
import os
import pickle
import threading

import numpy
import pytest

import striae.gsd.fl as fl
import striae.gsd.pygsd as pygsd

MADE = {'application': 'test', 'schema': 'none', 'schema_version': [1, 2]}
TYPES = ['u1', 'u2', 'u4', 'u8', 'i1', 'i2', 'i4', 'i8', 'f4', 'f8']


def write(path, frames, mode='w'):
    with fl.open(path, mode, **MADE) as file:
        for frame in range(frames):
            file.write_chunk('a', numpy.arange(frame + 1, dtype=numpy.float32))
            file.end_frame()


@pytest.mark.parametrize('kind', TYPES)
@pytest.mark.parametrize('shape', [(5,), (5, 1), (5, 3), (0,), (0, 3)])
def test_every_type_and_shape_reads_as_it_was_written(path, kind, shape):
    values = (numpy.arange(numpy.prod(shape)) * 3 + 1).astype(kind).reshape(shape)
    with fl.open(path, 'w', **MADE) as file:
        file.write_chunk('a', values)
        file.end_frame()
    with fl.open(path, 'r') as file, pygsd.GSDFile(open(path, 'rb')) as other:
        for read in (file.read_chunk(0, 'a'), other.read_chunk(0, 'a')):
            assert read.dtype == values.dtype
            assert read.shape == (shape[:1] if shape[1:] == (1,) else shape)
            numpy.testing.assert_array_equal(read.reshape(shape), values)


@pytest.mark.parametrize('text', ['a', '', 'Ångström', 'x' * 5000])
def test_texts_read_as_they_were_written(path, text):
    with fl.open(path, 'w', **MADE) as file:
        file.write_chunk('a', text)
        file.end_frame()
    with fl.open(path, 'r') as file:
        assert file.read_chunk(0, 'a') == text


def test_what_is_not_contiguous_is_copied_and_logged(path, caplog):
    values = numpy.arange(24, dtype=numpy.int32).reshape(6, 4)
    with fl.open(path, 'w', **MADE) as file, caplog.at_level(logging.WARNING, 'gsd.fl'):
        file.write_chunk('whole', values)
        assert not caplog.records
        copied = {'columns': values[:, 1:3], 'rows': values[::2], 'turned': values.T, 'list': [1.5, 2.5]}
        for name, part in copied.items():
            file.write_chunk(name, part)
            assert caplog.records.pop().getMessage() == f'implicit data copy when writing chunk: {name}'
            caplog.clear()
        file.end_frame()
    with fl.open(path, 'r') as file:
        numpy.testing.assert_array_equal(file.read_chunk(0, 'columns'), values[:, 1:3])
        numpy.testing.assert_array_equal(file.read_chunk(0, 'rows'), values[::2])
        numpy.testing.assert_array_equal(file.read_chunk(0, 'turned'), values.T)
        numpy.testing.assert_array_equal(file.read_chunk(0, 'list'), [1.5, 2.5])


@pytest.mark.parametrize('values', [numpy.zeros(2, bool), numpy.zeros(2, '>f4'), numpy.zeros(2, 'M8[s]'),
                                    numpy.zeros((1, 1, 1)), numpy.zeros(2, complex), ['a', 'b']])
def test_what_no_file_can_hold_is_a_value_error_with_its_name(path, values):
    with fl.open(path, 'w', **MADE) as file:
        with pytest.raises(ValueError, match='quantity'):
            file.write_chunk('quantity', values)
        file.write_chunk('quantity', numpy.zeros(2))
        file.end_frame()
        file.flush()
        assert file.nframes == 1


def test_the_writing_handle_reads_what_it_flushed_and_nothing_else(path):
    with fl.open(path, 'w', **MADE) as file:
        for frame in range(300):  # the index grows
            file.write_chunk('a', numpy.array([frame]))
            file.write_chunk(f'b{frame}', numpy.array([frame % 256], dtype=numpy.uint8))
            file.end_frame()
            if frame % 7 == 0:
                assert not file.chunk_exists(frame, 'a')
                file.flush()
                assert file.nframes == frame + 1
                assert file.read_chunk(frame, 'a')[0] == frame
                assert file.read_chunk(frame // 2, f'b{frame // 2}')[0] == (frame // 2) % 256
        assert len(file.find_matching_chunk_names('b')) == 295


def test_w_keeps_inode_links_and_permissions(path, tmp_path):
    write(path, 3)
    os.chmod(path, 0o640)
    os.link(path, tmp_path / 'hard')
    os.symlink(path, tmp_path / 'soft')
    inode = os.stat(path).st_ino
    for name in [path, tmp_path / 'hard', tmp_path / 'soft']:
        write(name, 1)
        assert (os.stat(path).st_ino, os.stat(path).st_mode & 0o777) == (inode, 0o640)
        assert os.path.islink(tmp_path / 'soft')
        with fl.open(path, 'r') as file:
            assert file.nframes == 1
    assert [name for name in os.listdir(tmp_path) if name.startswith('.')] == []


def test_the_buffers_can_be_set_after_open(path):
    with fl.open(path, 'w', **MADE) as file:
        file.maximum_write_buffer_size = 64
        size = os.path.getsize(path)
        file.write_chunk('a', numpy.zeros(1 << 15, dtype=numpy.uint8))
        assert os.path.getsize(path) >= size + (1 << 15)
        file.end_frame()
        file.maximum_write_buffer_size = 1 << 20
        assert file.maximum_write_buffer_size == 1 << 20
        file.index_entries_to_buffer = 3
        counts = []
        for frame in range(1, 7):
            file.write_chunk('a', numpy.zeros(1))
            file.end_frame()
            counts.append(file.nframes)
        assert counts == [0, 3, 3, 3, 6, 6]
        for name in ['maximum_write_buffer_size', 'index_entries_to_buffer']:
            with pytest.raises(RuntimeError, match='Invalid gsd argument'):
                setattr(file, name, 0)


def test_a_handle_that_writes_nothing_leaves_what_another_one_appends(path):
    with fl.open(path, 'w', **MADE) as file:

        def frame(number):
            file.write_chunk('x', numpy.arange(number, number + 10.0))
            file.end_frame()
            file.flush()

        for number in range(8):
            frame(number)
        idle = fl.open(path, 'r+')
        frame(8)
        idle.close()
        frame(9)
    with fl.open(path, 'r') as file:
        for number in range(10):
            numpy.testing.assert_array_equal(file.read_chunk(number, 'x'), numpy.arange(number, number + 10.0))


def test_a_memory_map_is_read_as_the_file(path):
    write(path, 3)
    with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        with pygsd.GSDFile(memory) as other, fl.open(path, 'r') as file:
            assert other.nframes == file.nframes == 3


def test_a_frame_that_was_not_ended_is_dropped_by_close(path):
    with fl.open(path, 'w', **MADE) as file:
        file.write_chunk('a', numpy.zeros(1))
        file.end_frame()
        file.write_chunk('a', numpy.zeros(2))
    with fl.open(path, 'r') as file:
        assert file.nframes == 1


def test_a_file_that_is_collected_is_closed(path):
    file = fl.open(path, 'w', **MADE)
    file.write_chunk('a', numpy.zeros(1))
    file.end_frame()
    del file
    gc.collect()
    with fl.open(path, 'r') as file:
        assert file.nframes == 1


def test_after_close_there_is_nothing_but_what_the_header_says(path):
    file = fl.open(path, 'w', **MADE)
    file.close()
    file.close()
    assert (file.application, file.schema, file.schema_version) == ('test', 'none', (1, 2))
    assert file.gsd_version >= (2, 0)
    assert not file.chunk_exists(0, 'a')
    for act in [file.flush, file.end_frame, file.truncate, file.upgrade, lambda: file.nframes,
                lambda: file.read_chunk(0, 'a'), lambda: file.write_chunk('a', numpy.zeros(1)),
                lambda: file.find_matching_chunk_names('')]:
        with pytest.raises(ValueError, match='File is not open'):
            act()


def test_only_files_that_are_read_can_be_pickled(path):
    write(path, 4)
    with fl.open(path, 'r') as file:
        copy = pickle.loads(pickle.dumps(file))
        assert (copy.nframes, copy.name, copy.mode) == (4, path, 'r')
    with pygsd.GSDFile(open(path, 'rb')) as file:
        assert pickle.loads(pickle.dumps(file)).nframes == 4
    with fl.open(path, 'a', **MADE) as file, pytest.raises(pickle.PickleError):
        pickle.dumps(file)


def test_errors_name_the_file_and_the_field(path, golden):
    with pytest.raises(FileNotFoundError) as caught:
        fl.open(path, 'r')
    assert caught.value.filename == path
    with open(path, 'wb') as file:
        file.write(b'x' * 300)
    with pytest.raises(RuntimeError, match=f'Not a GSD file: {path}.*magic.*offset 0'):
        fl.open(path, 'r')
    with pytest.raises(FileExistsError):
        fl.open(path, 'x', **MADE)
    with pytest.raises(IsADirectoryError):
        fl.open(os.path.dirname(path), 'r')
    write(path, 2)
    with open(path, 'r+b') as file:
        file.seek(44)
        file.write(b'\0\0\x09\0')
    with pytest.raises(RuntimeError, match='Unsupported GSD file version: .*gsd_version.*offset 44'):
        fl.open(path, 'r')
    write(path, 2)
    os.truncate(path, os.path.getsize(path) - 3)
    with pytest.raises(RuntimeError, match=f'{path}: .*'), fl.open(path, 'r') as file:
        file.read_chunk(1, 'a')
    with pytest.raises(ValueError, match='Invalid mode: q'):
        fl.open(path, 'q')
    with pytest.raises(ValueError, match='Provide schema when'):
        fl.open(path, 'w', application='a')
    with pytest.raises(RuntimeError, match='incorrect schema: none'):
        write(path, 1)
        fl.open(path, 'r', schema='hoomd')


def in_fork(act):
    """Runs `act` in a fork of this process, and returns whether it raised nothing."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_fork_that_closes_does_not_touch_the_file(path):
    file = fl.open(path, 'w', **MADE)
    file.write_chunk('a', numpy.arange(10))
    file.end_frame()
    file.write_chunk('a', numpy.arange(20))
    before = open(path, 'rb').read()
    assert in_fork(file.close)
    assert open(path, 'rb').read() == before
    with fl.open(path, 'r') as other:
        assert other.nframes == 0
    file.end_frame()
    file.close()
    with fl.open(path, 'r') as other:
        assert other.nframes == 2
        numpy.testing.assert_array_equal(other.read_chunk(1, 'a'), numpy.arange(20))


def test_a_fork_cannot_write_and_leaves_the_lock(path, caplog):
    file = fl.open(path, 'w', **MADE)
    file.write_chunk('a', numpy.arange(10))

    def writes():
        with pytest.raises(RuntimeError, match='another process'):
            file.write_chunk('b', numpy.arange(10))
        with pytest.raises(RuntimeError, match='another process'):
            file.end_frame()
        file.close()

    assert in_fork(writes)
    with caplog.at_level(logging.WARNING, 'gsd.fl'):
        fl.open(path, 'r+').close()
        assert any('another program writes' in record.getMessage() for record in caplog.records)
    file.end_frame()
    file.close()


def read_one(file, frame):
    return file.read_chunk(frame, 'a').sum()


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_read_through_a_handle_of_the_parent(path, method):
    write(path, 50)
    with fl.open(path, 'r') as file, multiprocessing.get_context(method).Pool(2) as pool:
        sums = pool.starmap(read_one, [(file, frame) for frame in range(50)])
    assert sums == [frame * (frame + 1) / 2 for frame in range(50)]


def test_threads_may_share_a_handle(path):
    write(path, 100)
    wrong = []
    with fl.open(path, 'r') as file:

        def read():
            for frame in range(100):
                if file.read_chunk(frame, 'a').shape != (frame + 1,):
                    wrong.append(frame)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_threads_that_write_take_turns(path):
    with fl.open(path, 'w', **MADE) as file:

        def add(name):
            for _ in range(50):
                file.write_chunk(name, numpy.zeros(3))
                file.flush()
                name += '+'

        threads = [threading.Thread(target=add, args=(name,)) for name in 'abcd']
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        file.end_frame()
        file.flush()
        assert len(file.find_matching_chunk_names('')) == 200


def test_names_of_layer_1_are_cut_as_gsd_cuts_them(tmp_path, golden):
    source = next(golden.glob('gsd/v10_*.gsd'))
    path = tmp_path / 'a.gsd'
    path.write_bytes(source.read_bytes())
    with fl.open(path, 'r+') as file:
        assert file.gsd_version < (2, 0)
        frame = file.nframes
        file.write_chunk('n' * 100, numpy.arange(3))
        file.end_frame()
        file.flush()
        assert file.chunk_exists(frame, 'n' * 63)
        file.upgrade()
        assert file.gsd_version >= (2, 0)
        file.write_chunk('n' * 100, numpy.arange(4))
        file.end_frame()
        file.flush()
        assert file.read_chunk(frame + 1, 'n' * 100).shape == (4,)


def test_labels_are_cut_at_a_whole_character(path):
    with fl.open(path, 'w', application='ä' * 40, schema='s' * 100, schema_version=(1, 0)) as file:
        assert (file.application, file.schema) == ('ä' * 31, 's' * 63)


def test_logging_is_that_of_gsd(path, caplog):
    with caplog.at_level(logging.DEBUG, 'gsd.fl'):
        write(path, 1)
        with fl.open(path, 'r') as file:
            file.read_chunk(0, 'a')
            file.debug = False
            file.read_chunk(0, 'a')
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ('INFO', f'overwriting file: {path} with mode: w, application: test, schema: none, and schema_version: [1, 2]'),
        ('DEBUG', f'write chunk: {path} - a'),
        ('DEBUG', f'end frame: {path}'),
        ('INFO', f'closing file: {path}'),
        ('INFO', f'opening file: {path} with mode: r'),
        ('DEBUG', f'read chunk: {path} - 0 - a'),
        ('INFO', f'closing file: {path}'),
    ]


def test_golden_files_read_alike_through_both_readers(golden):
    compared = 0
    for path in sorted(golden.glob('gsd/v*.gsd')):
        with fl.open(path, 'r') as file, pygsd.GSDFile(open(path, 'rb')) as other:
            assert file.nframes == other.nframes
            names = file.find_matching_chunk_names('')
            assert names == other.find_matching_chunk_names('')
            for frame in range(min(file.nframes, 5)):
                for name in names[:20]:
                    assert file.chunk_exists(frame, name) == other.chunk_exists(frame, name)
                    if file.chunk_exists(frame, name):
                        one, two = file.read_chunk(frame, name), other.read_chunk(frame, name)
                        assert type(one) is type(two)
                        numpy.testing.assert_array_equal(one, two)
                        compared += 1
    assert compared > 100


def test_flushed_frames_without_chunks_are_counted(path):
    write(path, 4)
    with fl.open(path, 'a', **MADE) as file:
        file.end_frame()
        file.end_frame()
        assert file.nframes == 4
        file.flush()
        assert file.nframes == 6
        file.truncate()
        assert file.nframes == 0


def test_a_file_that_was_removed_is_closed_with_an_error(path):
    file = fl.open(path, 'w', **MADE)
    file.write_chunk('a', [1])
    file.end_frame()
    os.unlink(path)
    with pytest.raises(FileNotFoundError):
        file.close()
    file.close()


def test_arrays_that_are_not_aligned_are_written(path):
    values = numpy.frombuffer(bytearray(range(41)), 'u1')[1:].view('f4')
    assert not values.flags.aligned
    with fl.open(path, 'w', **MADE) as file:
        file.write_chunk('a', values)
        file.end_frame()
        file.flush()
        numpy.testing.assert_array_equal(file.read_chunk(0, 'a'), values)


def test_the_buffer_of_a_file_that_is_only_read_can_be_set(path):
    write(path, 1)
    with fl.open(path, 'r') as file:
        file.maximum_write_buffer_size = 1024
        assert file.maximum_write_buffer_size == 1024
