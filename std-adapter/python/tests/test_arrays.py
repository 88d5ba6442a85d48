"""striae.cdf and striae.blob: the indices of NumPy."""

import multiprocessing
import pickle

import numpy
import pytest

import striae.blob
import striae.cdf

KEYS = [
    ..., (), 0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(-1, None, -2),
    (0, ...), (..., 0), (..., -1), (slice(None), 1), (slice(1, None), slice(None, None, -1)), (..., slice(2, 2)),
    (numpy.int64(1), slice(0, 2)), slice(5, 1), slice(-100, 100),
]


@pytest.fixture
def blob(golden):
    return golden / 'blob' / 'f5h_n5_s1' / 'blob_h1.h5'


def check_keys(variable, keys):
    whole = variable[...]
    assert whole.shape == variable.shape and whole.dtype == variable.dtype
    for key in keys:
        if isinstance(key, tuple) and sum(part is not Ellipsis for part in key) > variable.ndim:
            continue
        if variable.ndim == 0 and key not in [..., ()]:
            continue
        try:
            expected = numpy.asarray(whole)[key]
        except IndexError:
            with pytest.raises(IndexError):
                variable[key]
            continue
        got = variable[key]
        assert numpy.shape(got) == numpy.shape(expected), key
        numpy.testing.assert_array_equal(got, expected, err_msg=repr(key))


def test_every_index_gives_what_numpy_gives_of_the_whole(golden):
    variables = 0
    for path in sorted(golden.glob('cdf/*.nc')):
        with striae.cdf.open(path) as file:
            for variable in file.values():
                check_keys(variable, KEYS)
                variables += 1
    assert variables > 10


def test_regions_of_a_blob_set_are_those_of_its_arrays(blob):
    with striae.blob.open(blob) as blobs:
        assert 'U' in blobs and blobs.is_whole() and blobs.missing == []
        for variable in blobs.values():
            check_keys(variable, KEYS)
        u = blobs['U']
        assert u.ndim == 3 and u.is_record
        numpy.testing.assert_array_equal(u[0, :, 5], u[...][0, :, 5])
        assert u[0, 0, 5] == u[...][0, 0, 5] and numpy.ndim(u[0, 0, 5]) == 0
        numpy.testing.assert_array_equal(numpy.asarray(u), u[...])
        assert len(u) == u.shape[0] and u.size == u[...].size


def test_a_file_of_netcdf_has_dimensions_and_attributes(golden):
    with striae.cdf.open(golden / 'cdf' / 'cdf1_onerec_short.nc') as file:
        r = file['r']
        assert (r.dtype, r.shape, r.is_record) == (numpy.int16, (4, 3), True)
        assert [file.dimensions[name] for name in r.dimensions] == [4, 3]
        numpy.testing.assert_array_equal(r[...], numpy.arange(12).reshape(4, 3))
        assert list(file) == ['fix', 'r'] and len(file) == 2 and 'r(' in repr(r)
        assert isinstance(file.attributes, dict) and isinstance(r.attributes, dict)
        with pytest.raises(KeyError, match='none'):
            file['none']


@pytest.mark.parametrize('key', [4, -5, (0, 3), (0, 0, 0), (..., ...), 1.5, 'a', None, True, [0, 1]])
def test_other_indices_are_index_errors(golden, key):
    with striae.cdf.open(golden / 'cdf' / 'cdf1_onerec_short.nc') as file:
        with pytest.raises(IndexError):
            file['r'][key]


def test_only_the_spans_of_a_region_are_read(tmp_path, golden):
    """A file whose other bytes are lost gives the region all the same."""
    path = tmp_path / 'a.nc'
    data = (golden / 'cdf' / 'cdf1_onerec_short.nc').read_bytes()
    path.write_bytes(data)
    with striae.cdf.open(path) as file:
        path.write_bytes(data[:-12])  # the last two records, of 6 bytes each
        numpy.testing.assert_array_equal(file['r'][0:2, ::2], [[0, 2], [3, 5]])
        with pytest.raises(RuntimeError):
            file['r'][3]


def row_of(file, name, row):
    return file[name][row]


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_read_regions(blob, method):
    with striae.blob.open(blob) as blobs, multiprocessing.get_context(method).Pool(2) as pool:
        rows = pool.starmap(row_of, [(blobs, 'U', row) for row in range(blobs['U'].shape[0])])
        numpy.testing.assert_array_equal(rows, blobs['U'][...])
        assert list(pickle.loads(pickle.dumps(blobs))) == list(blobs)


def test_a_set_without_a_subfile_says_so(tmp_path, golden):
    files = sorted((golden / 'blob' / 'f8_n8_s3rr').glob('blob_h1.nc.0*'))
    assert len(files) == 3
    for file in files[:-1]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with striae.blob.open(tmp_path / 'blob_h1.nc') as blobs:
        blobs['U'][...]
        assert len(blobs.missing) == 1 and not blobs.is_whole()
    (tmp_path / files[-1].name).write_bytes(files[-1].read_bytes())
    with striae.blob.open(tmp_path / 'blob_h1.nc') as blobs:
        blobs['U'][...]
        assert len(blobs.missing) == 0 and blobs.is_whole()


def test_what_is_no_name_or_index_is_said_to_be_none(golden):
    with striae.cdf.open(golden / 'cdf' / 'cdf1_onerec_short.nc') as file:
        assert 'r' in file and 5 not in file and None not in file
        for key in [numpy.array([0, 1]), [0, 1], 'r', 0.5, (numpy.array([0]), Ellipsis, Ellipsis)]:
            with pytest.raises(IndexError):
                file['r'][key]


def test_a_closed_file_reads_nothing(golden):
    file = striae.cdf.open(golden / 'cdf' / 'cdf1_onerec_short.nc')
    r = file['r']
    file.close()
    with pytest.raises(ValueError, match='closed'):
        r[0]
    with pytest.raises(FileNotFoundError):
        striae.cdf.open(golden / 'none.nc')
    with pytest.raises(RuntimeError):
        striae.cdf.open(golden / 'gsd' / 'v21_empty.gsd')
