"""Verify, recover, convert, ls and pack, as objects."""

import os

import numpy
import pytest

import striae
import striae.gsd.fl as fl
import striae.sion


@pytest.fixture
def run(path):
    """A GSD file of 5 frames."""
    with fl.open(path, 'w', application='test', schema='none', schema_version=(1, 0)) as file:
        for frame in range(5):
            file.write_chunk('values', numpy.full(10, frame, dtype=numpy.uint16))
            file.end_frame()
    return path


def test_a_report_has_the_counts_and_the_verdict(run):
    report = striae.verify(run)
    assert report and report.sound and (report.format, report.path) == ('gsd', run)
    assert report.verdict == 'structure sound, data not checked'
    assert (report.damage, report.data_bytes, report.checked_bytes) == (0, 100, 0)
    assert report.counts['frames'] == report.counts['chunks'] == 5
    assert report.notes == len(report.findings) == 1  # the first list of names, which a commit has replaced
    assert (report.findings[0].severity, report.findings[0].kind) == ('note', 'unused')


def test_checksums_are_counted_and_damage_is_a_finding(run, tmp_path):
    sealed = tmp_path / 'sealed.gsd'
    assert striae.convert(run, sealed, checksums=True) == {'format': 'gsd', 'frames': 5, 'bytes': 100}
    report = striae.verify(sealed)
    assert (report.verdict, report.checked_bytes, report.counts['checked']) == ('sound', 100, 5)
    at = next(entry.facts['offset'] for entry in striae.ls(sealed) if entry.address == 'frame/3/values')
    with open(sealed, 'r+b') as file:
        file.seek(at + 5)
        file.write(b'\xff')
    report = striae.verify(sealed)
    assert not report and (report.verdict, report.damage) == ('damaged', 1)
    (finding,) = report.findings
    assert (finding.severity, finding.facts['frame'], finding.file) == ('damage', 3, str(sealed))
    assert 'frame 3' in finding.text and str(finding).startswith('damage: ')
    with pytest.raises(RuntimeError, match='frame 3'):
        striae.convert(sealed, tmp_path / 'out.gsd')
    assert not os.path.exists(tmp_path / 'out.gsd')


def test_a_recovery_says_what_became_of_each_frame(golden, tmp_path):
    out = tmp_path / 'whole.gsd'
    recovery = striae.recover(golden / 'gsd' / 'bad_trunc_relocated_index.gsd', out)
    assert (recovery.format, recovery.word, recovery.sound) == ('gsd', recovery.word, bool(recovery))
    assert sum(recovery.counts.values()) > 0
    assert set(recovery.counts) == {'exact', 'as found', 'guess', 'lost'}
    assert recovery.parts[0].part.startswith('frame/0..')
    with fl.open(out, 'r') as file:
        assert file.nframes == 475 == recovery.counts['exact'] + recovery.counts['as found'] + recovery.counts['guess']
    with pytest.raises(FileExistsError):
        striae.recover(golden / 'gsd' / 'bad_trunc_relocated_index.gsd', out)
    striae.recover(golden / 'gsd' / 'bad_trunc_relocated_index.gsd', out, force=True, format='gsd')
    with pytest.raises(ValueError, match='no format'):
        striae.recover(out, tmp_path / 'a', format='tar')


def test_the_ranks_of_a_text_map_are_recovered(tmp_path):
    lines = ['version 2001 npes 2 ndims 1 ', '4 ', '0 2', '1 2', '1 2', '3 4']
    whole, cut, out = (tmp_path / name for name in ['whole.dat', 'cut.dat', 'out.dat'])
    whole.write_text('\n'.join(lines) + '\n')
    cut.write_text('\n'.join(lines[:4]) + '\n1 2\n3')
    recovery = striae.recover(cut, out)
    assert (recovery.format, recovery.sound) == ('map', False)
    assert [(part.part, part.facts['line']) for part in recovery.parts] == [('rank/0', 3), ('rank/1', 5)]
    assert recovery.counts['as found'] == 1
    assert striae.recover(whole, out, force=True).sound


def test_frames_are_selected_by_a_slice(run, tmp_path):
    for part in [slice(None), slice(1, 4), slice(-2, None), slice(0, 5, 2), slice(3, 1), slice(2, 99)]:
        out = tmp_path / 'out.gsd'
        striae.convert(run, out, frames=part, force=True)
        with fl.open(out, 'r') as file:
            values = [file.read_chunk(frame, 'values')[0] for frame in range(file.nframes)]
        assert values == list(range(5))[part]
    with pytest.raises(ValueError, match='power of two'):
        striae.convert(run, tmp_path / 'b.gsd', align=3)
    striae.convert(run, tmp_path / 'b.gsd', align=512)
    assert all(entry.facts['offset'] % 512 == 0 for entry in striae.ls(tmp_path / 'b.gsd'))


def test_options_that_a_format_does_not_have_are_refused(run, golden, tmp_path):
    sion, blob = golden / 'sion/m05_np8_3files.sion', golden / 'blob/f5h_n5_s1/blob_h1.h5'
    out = tmp_path / 'out'
    for path, name, value in [
        *((run, 'frames', slice(0, 5, step)) for step in (0, -1)),
        *((run, name, 4) for name in ('nfiles', 'fsblksize')),
        (sion, 'nfiles', 0),
        *((sion, name, value) for name, value in [('align', 8), ('upgrade', True), ('frames', slice(1))]),
        *((blob, name, True) for name in ('checksums', 'align', 'upgrade', 'nfiles', 'fsblksize')),
    ]:
        with pytest.raises(ValueError, match=name):
            striae.convert(path, out, **{name: value})
        assert not out.exists()
    striae.convert(sion, out, nfiles=2, fsblksize=512, checksums=True)
    for name, how in [('a.sion', {'nfiles': 0}), ('a.ffr', {'nfiles': 2}), ('a.ffr', {'chunksize': 512})]:
        with pytest.raises(ValueError, match=next(iter(how))):
            striae.pack(tmp_path / name, [run], **how)
        assert not (tmp_path / name).exists()


def test_a_report_of_a_map_has_what_is_wrong_with_its_netcdf(golden, tmp_path):
    path = tmp_path / 'map.nc'
    path.write_bytes((golden / 'map/map_f_tiny_4p.nc').read_bytes()[:-4])
    report = striae.verify(path)
    severities = [finding.severity for finding in report.findings]
    assert report.format == 'map' and not report.sound and report.verdict == 'damaged'
    assert (report.damage, report.notes) == (severities.count('damage'), severities.count('note'))


def test_entries_have_addresses_and_lengths(run, golden):
    entries = striae.ls(run)
    assert [entry.address for entry in entries] == [f'frame/{frame}/values' for frame in range(5)]
    facts = {'frame': 4, 'name': 'values', 'type': 'uint16', 'n': 10, 'm': 1}
    assert entries[4].bytes == 20 and facts.items() <= entries[4].facts.items()
    tasks = striae.ls(golden / 'sion' / 'm05_np8_3files.sion')
    assert [entry.address for entry in tasks] == [f'task/{task}' for task in range(8)]
    assert {entry.facts['file'] for entry in tasks} == {0, 1, 2}
    _, variable = [entry for entry in striae.ls(golden / 'cdf' / 'cdf1_onerec_short.nc')]
    assert (variable.address, variable.facts['shape'], variable.bytes) == ('variable/r', '4 x 3', 24)


@pytest.mark.parametrize('name', ['sion/m05_np8_3files.sion', 'cdf/cdf1_onerec_short.nc', 'blob/f5h_n5_s1/blob_h1.h5'])
def test_every_format_is_verified(golden, name):
    report = striae.verify(golden / name)
    assert report.sound and report.counts and report.format == name.split('/')[0]


def test_what_is_no_file_of_a_format_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        striae.verify(tmp_path / 'none')
    (tmp_path / 'text').write_text('no format')
    for act in [striae.verify, striae.ls, lambda path: striae.recover(path, tmp_path / 'out')]:
        with pytest.raises(RuntimeError, match='neither'):
            act(tmp_path / 'text')


def test_files_are_packed_in_order(tmp_path):
    sources = []
    for number in range(3):
        sources.append(tmp_path / f'task_0000{number}')
        sources[-1].write_bytes(bytes([number]) * (number + 1))
    assert striae.pack(tmp_path / 'a.sion', sources, checksums=True) == 3
    assert striae.verify(tmp_path / 'a.sion').verdict == 'sound'
    with striae.sion.open(tmp_path / 'a.sion') as file:
        assert [file.stream(task).read() for task in range(3)] == [source.read_bytes() for source in sources]
    assert striae.pack(tmp_path / 'a.ffr', sources) == 3
    assert [entry.bytes for entry in striae.ls(tmp_path / 'a.ffr')] == [1, 2, 3]
    folder = tmp_path / 'tasks'
    folder.mkdir()
    for source in sources:
        source.rename(folder / source.name)
    assert striae.pack(tmp_path / 'b.sion', folder, nfiles=3) == 3
    assert {entry.facts['file'] for entry in striae.ls(tmp_path / 'b.sion')} == {0, 1, 2}
