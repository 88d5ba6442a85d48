"""striae.sion: tasks, streams and keys."""

import io
import hashlib
import json
import multiprocessing
import os
import resource
import threading

import pytest

import striae
import striae.sion as sion


def data_of(task):
    return bytes((task * 7 + place) % 251 for place in range(5000 + task * 777))


@pytest.fixture
def path(tmp_path):
    """A set of 4 tasks in 2 files, with streams of several chunks."""
    path = tmp_path / 'a.sion'
    with sion.create(path, 4, chunksize=1024, nfiles=2, globalranks=[30, 20, 10, 0], fsblksize=512) as writer:
        for task in range(4):
            with writer.stream(task) as stream:
                data = memoryview(data_of(task))
                assert stream.write(data[:1500]) == 1500
                stream.write(data[1500:])
    return path


def test_streams_read_as_they_were_written(path):
    with sion.open(path) as file:
        assert file.ntasks == len(file) == 4 and not file.keyval
        assert [task.globalrank for task in file.tasks] == [30, 20, 10, 0]
        assert [task.bytes for task in file.tasks] == [len(data_of(task)) for task in range(4)]
        assert file.find_globalrank(10) == 2
        assert len(file.files) == 2
        for task in range(4):
            assert file.stream(task).read() == data_of(task)
            assert io.BufferedReader(file.stream(task)).read() == data_of(task)


def test_a_stream_is_a_raw_io_object(path):
    stream, data = sion.open(path).stream(1), data_of(1)
    assert isinstance(stream, io.RawIOBase) and stream.readable() and stream.seekable() and not stream.writable()
    assert stream.read(10) == data[:10] and stream.tell() == 10
    assert stream.seek(-10, io.SEEK_END) == len(data) - 10 and stream.read() == data[-10:]
    assert stream.read(5) == b'' and stream.readinto(bytearray(3)) == 0
    assert stream.seek(-5, io.SEEK_CUR) == len(data) - 5
    assert stream.seek_chunk(1, 3) == stream.tell() and stream.read(100) == data[stream.tell() - 100 : stream.tell()]
    with pytest.raises(ValueError):
        stream.seek(-1)
    with pytest.raises(io.UnsupportedOperation):
        stream.write(b'a')
    buffer = bytearray(b'.' * 8)
    stream.seek(0)
    assert stream.readinto(memoryview(buffer)[2:6]) == 4 and buffer == b'..' + data[:4] + b'..'
    with pytest.raises((ValueError, TypeError, BufferError)):
        stream.readinto(b'read only')
    with stream:
        pass
    for act in [lambda: stream.read(1), stream.readall, stream.tell, lambda: stream.seek(0)]:
        with pytest.raises(ValueError):
            act()


def test_golden_sets_read_as_their_programs_wrote_them(golden):
    read = 0
    for path in sorted(golden.glob('sion/m*.sion')):
        said = json.loads(path.with_suffix('.json').read_text())
        with sion.open(path) as file:
            tasks = said.get('tasks', [])
            for task, of in zip(file.tasks, tasks, strict=True):
                stream = file.stream(task.task)
                assert stream  # also if it is empty
                data = stream.read()
                assert len(data) == task.bytes == of['length']
                assert hashlib.sha256(data).hexdigest() == of['sha256']
                read += task.bytes
    assert read > 1000


def test_keys_have_the_values_of_all_their_records(tmp_path):
    path = tmp_path / 'keys.sion'
    with sion.create(path, 2, chunksize=64, keyval=True) as writer:
        with writer.stream(0) as stream:
            for key, value in [(7, b'seven'), (9, b'n' * 300), (7, b' again'), (5, b'')]:
                stream.write_key(key, value)
            with pytest.raises((OSError, RuntimeError)):
                stream.write(b'plain')
    with sion.open(path) as file:
        assert file.keyval
        assert file.keys(0) == {7: 11, 9: 300, 5: 0} and file.keys(1) == {}
        assert file.value(0, 7) == b'seven again' and file.value(0, 9) == b'n' * 300 and file.value(0, 5) == b''
        with pytest.raises(RuntimeError, match='12'):
            file.value(0, 12)


def test_a_set_is_appended_to(path):
    with sion.append(path) as writer, writer.stream(2) as stream:
        stream.write(b'more')
        writer.commit()
    with sion.open(path) as file:
        assert file.stream(2).read() == data_of(2) + b'more'
        assert file.stream(3).read() == data_of(3)


def test_a_file_of_an_older_commit_is_named(tmp_path):
    path = tmp_path / 'set.sion'
    with sion.create(path, ntasks=2, nfiles=2, checksums=True) as writer:
        streams = [writer.stream(task) for task in range(2)]
        for commit in range(2):
            for stream in streams:
                stream.write(bytes([commit]) * 10)
            writer.commit()
            if commit == 0:
                second = sion.File(path).files[1]
                before = second.read_bytes()
    with sion.open(path) as file:
        assert file.older == []
        newest = 3  # the close is one, too
    second.write_bytes(before)
    with sion.open(path) as file:
        assert file.older == [sion.Older(second, 1, newest)]
        assert [len(file.stream(task).read()) for task in range(2)] == [20, 10]


def test_a_task_has_one_writer_at_a_time(tmp_path):
    with sion.create(tmp_path / 'a.sion', 1, chunksize=100) as writer:
        stream = writer.stream(0)
        with pytest.raises(RuntimeError):
            writer.stream(0)
        stream.write_record(b'r' * 60)
        assert stream.location == (0, 60)
        stream.write_record(b's' * 60)
        with pytest.raises(RuntimeError):
            stream.write_record(b'long' * 100000)
        stream.close()
        with pytest.raises(ValueError):
            stream.write(b'a')
        with writer.stream(0) as again:
            again.write(b'end')
    writer.close()
    with sion.open(tmp_path / 'a.sion') as file:
        assert file.stream(0).read() == b'r' * 60 + b's' * 60 + b'end'
    with pytest.raises(FileExistsError):
        sion.create(tmp_path / 'a.sion', 1)
    assert striae.verify(tmp_path / 'a.sion').sound


def test_threads_write_different_tasks(tmp_path):
    with sion.create(tmp_path / 'a.sion', 8, chunksize=512, checksums=True) as writer:

        def write(task):
            with writer.stream(task) as stream:
                for start in range(0, 5000, 100):
                    stream.write(data_of(task)[start : start + 100])

        threads = [threading.Thread(target=write, args=(task,)) for task in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with sion.open(tmp_path / 'a.sion') as file:
        assert [file.stream(task).read() for task in range(8)] == [data_of(task)[:5000] for task in range(8)]
    assert striae.verify(tmp_path / 'a.sion').verdict == 'sound'


def test_bytes_that_find_no_room_can_be_written_later(tmp_path):
    data = bytes(range(256)) * (1 << 14)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with sion.create(tmp_path / 'a.sion', 1, chunksize=1 << 16) as writer, writer.stream(0) as stream:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))  # as on a disk that is full
        try:
            count = stream.write(data)
            assert 0 < count < len(data)
            with pytest.raises(OSError):
                stream.write(data[count:])
            buffered = io.BufferedWriter(stream, len(data))
            buffered.write(data[count:])
            with pytest.raises(OSError):
                buffered.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        buffered.flush()
        buffered.detach()
    with sion.open(tmp_path / 'a.sion') as file:
        assert file.stream(0).read() == data


def read_task(file, task):
    return file.stream(task).read()


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_read_tasks(path, method):
    with sion.open(path) as file, multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(read_task, [(file, task) for task in range(4)]) == [data_of(task) for task in range(4)]


def test_errors_name_the_file(tmp_path, path):
    with pytest.raises(FileNotFoundError) as caught:
        sion.open(tmp_path / 'none.sion')
    assert caught.value.filename == str(tmp_path / 'none.sion')
    os.truncate(path, 100)
    with pytest.raises(RuntimeError, match=str(path)):
        sion.open(path)
