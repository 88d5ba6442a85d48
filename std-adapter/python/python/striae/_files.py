"""Verify, recover, convert and list files of all formats."""

from dataclasses import dataclass, field
from os import PathLike, fspath

from striae import _striae


@dataclass(frozen=True)
class Finding:
    """A problem or an unusual fact in a file.

    Attributes:
        severity (str): ``'damage'``: a reader refuses the file or a part of it, or gets other data than was written;
            or ``'note'``: unusual, but harmless.
        kind (str): Its name, which never changes.
        file (str): The physical file.
        text (str): The finding in words, with field, offset and value.
        facts (dict): Its values, by names that never change: field, offset, value and so on.
    """

    severity: str
    kind: str
    file: str
    text: str
    facts: dict = field(default_factory=dict)

    def __str__(self):
        return f'{self.severity}: {self.file}: {self.text}'


@dataclass(frozen=True)
class Report:
    """What `verify` has found.

    Attributes:
        path (str): The file.
        format (str): ``'gsd'``, ``'sion'``, ``'ffrecord'``, ``'cdf'``, ``'blob'`` or ``'map'``.
        sound (bool): Whether there is no damage.
        verdict (str): ``'sound'``, ``'structure sound, data not checked'``, ``'structure sound, data checked in
            part'`` or ``'damaged'``.
        damage (int): Number of findings of damage.
        notes (int): Number of notes.
        data_bytes (int): Bytes of data.
        checked_bytes (int): How many of them were compared with checksums.
        counts (dict): What was examined: frames, chunks, tasks and so on.
        findings (list[Finding]): All findings.
    """

    path: str
    format: str
    sound: bool
    verdict: str
    damage: int
    notes: int
    data_bytes: int
    checked_bytes: int
    counts: dict
    findings: list

    def __bool__(self):
        return self.sound


@dataclass(frozen=True)
class Part:
    """A part of a file that was recovered: a task, some frames, or a variable.

    Attributes:
        part (str): Which: ``'task/3'``, ``'frame/0..10'``, ``'variable/T'``.
        word (str): ``'exact'``, ``'as found'``, ``'guess'`` or ``'lost'``.
        why (str): The reason.
        facts (dict): More values.
    """

    part: str
    word: str
    why: str
    facts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Recovery:
    """What `recover` has saved.

    Attributes:
        path (str): The damaged file.
        out (str): The new file.
        format (str): Its format.
        word (str): The word of the whole, which is the worst of its parts: ``'exact'``, ``'as found'``, ``'guess'``
            or ``'lost'``.
        sound (bool): Whether everything is exact or as found, and nothing in the file contradicts it.
        counts (dict): Number of tasks, frames or variables with each word.
        data_bytes (int): Bytes that were saved.
        checked_bytes (int): How many of them were compared with checksums.
        parts (list[Part]): What became of each part.
    """

    path: str
    out: str
    format: str
    word: str
    sound: bool
    counts: dict
    data_bytes: int
    checked_bytes: int
    parts: list

    def __bool__(self):
        return self.sound


@dataclass(frozen=True)
class Entry:
    """A task, chunk, sample or variable of a file.

    Attributes:
        address (str): Its address, as the program ``striae`` takes it: ``'frame/9/particles/position'``.
        bytes (int): Bytes of its data.
        facts (dict): What else is known of it: offset, type and so on.
    """

    address: str
    bytes: int
    facts: dict = field(default_factory=dict)


def _made(kind, names, values):
    """An object of some of the values, with the others as its facts."""
    return kind(*(values.pop(name) for name in names), values)


def verify(path, *, map=None):
    """Check everything that can be checked of a file.

    Args:
        path (str | os.PathLike): The file; of a set, its name or its first file.
        map (str | os.PathLike): A decomposition map, with which a blob set is compared.

    Returns:
        Report: The findings. Damage is a finding, not an exception.

    Raises:
        OSError: The file cannot be read.
        RuntimeError: It has none of the formats.
    """
    values = _striae.verify(fspath(path), None if map is None else fspath(map))
    names = ('severity', 'kind', 'file', 'text')
    values['findings'] = [_made(Finding, names, finding) for finding in values['findings']]
    values['path'] = fspath(path)
    return Report(**values)


def recover(path, out, *, format=None, force=False):
    """Save what is left of an unclosed, cut or damaged file in a new file.

    Args:
        path (str | os.PathLike): The damaged file, which is only read.
        out (str | os.PathLike): The new file. It appears when it is complete.
        format (str): The format, if it cannot be recognized any more.
        force (bool): Whether an existing file may be replaced.

    Returns:
        Recovery: What was saved, and how certain it is.
    """
    values = _striae.recover(fspath(path), fspath(out), format, force)
    values['parts'] = [_made(Part, ('part', 'word', 'why'), part) for part in values['parts']]
    return Recovery(**values | {'path': fspath(path), 'out': fspath(out)})


def convert(path, out, **how):
    """Rewrite a file: readers see the same contents as before.

    A SIONlib set becomes ``nfiles`` files with one chunk for each task; a GSD file loses its old index blocks; a blob
    set becomes its canonical netCDF file.

    Args:
        path (str | os.PathLike): The file.
        out (str | os.PathLike): The new file. It appears when it is complete.
        force (bool): Whether an existing file may be replaced.
        checksums (bool): Whether the new file has checksums; by default, if the old one has.
        align (int): GSD: alignment of chunks in bytes.
        upgrade (bool): GSD: whether a file of layer 1 becomes one of layer 2.1.
        frames (slice): GSD: the frames that are copied, with a step of at least 1.
        nfiles (int): SIONlib: number of physical files.
        fsblksize (int): SIONlib: what chunk sizes are rounded up to.

    Returns:
        dict: The format, and counts of what was written.

    Raises:
        ValueError: An option that files of this format do not have.
    """
    return _striae.convert(fspath(path), fspath(out), **how)


def pack(out, sources, **how):
    """Make a SIONlib set or, if the name ends in ``.ffr``, an ffrecord file of files: one task or sample of each.

    Args:
        out (str | os.PathLike): The new file.
        sources (list | str | os.PathLike): The files in order, or a folder of ``task_00000`` and so on.
        force (bool): Whether an existing file may be replaced.
        checksums (bool): SIONlib: whether the set has checksums.
        nfiles (int): SIONlib: number of physical files.
        chunksize (int): SIONlib: bytes of each chunk.

    Returns:
        int: Number of tasks or samples.
    """
    if isinstance(sources, (str, PathLike)):
        sources = [sources]
    return _striae.pack(fspath(out), [fspath(source) for source in sources], **how)


def ls(path):
    """List what is in a file.

    Args:
        path (str | os.PathLike): The file.

    Returns:
        list[Entry]: The tasks of a SIONlib set, the chunks of a GSD file, the samples of an ffrecord file, or the
        variables of a netCDF file or a blob set.
    """
    return [_made(Entry, ('address', 'bytes'), entry) for entry in _striae.ls(fspath(path))]
