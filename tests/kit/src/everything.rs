//! Reads all that can be read of a physical file, in several ways that must agree.
//!
//! It panics if two ways differ, if a store that cannot fail is said to have failed, or if the work
//! is out of proportion to the size of the file.

use core::cell::Cell;
use core::convert::Infallible;
use embedded_io::Read;
use striae_core::endian::ByteOrder;
use striae_core::sion::position::Stretch;
use striae_core::sion::recover::Sparse;
use striae_core::sion::tasks::Listed;
use striae_core::sion::{
    Error, KeyvalMode, Meta1, Opened, Physical, Reader, Record, Records, Task, Unclosed,
};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Tasks of a file for which things are done whose cost grows with the number of tasks.
const CLOSE_LOOKS: usize = 6;

/// A file in memory that counts what is read, and stops whoever reads too much.
#[derive(Debug)]
pub struct Counted<'a> {
    bytes: &'a [u8],
    reads: Cell<u64>,
    moved: Cell<u64>,
}

impl<'a> Counted<'a> {
    /// Nothing was read of `bytes` yet.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, reads: Cell::new(0), moved: Cell::new(0) }
    }

    /// Reads, and bytes read.
    #[must_use]
    pub fn spent(&self) -> (u64, u64) {
        (self.reads.get(), self.moved.get())
    }

    /// What [`read_everything`] may spend on a file of `len` bytes, whatever is in it.
    ///
    /// Nothing costs more than a few reads for each 8-byte entry of a table, so a file of nothing
    /// but entries is the worst case.
    #[must_use]
    pub const fn budget(len: u64) -> (u64, u64) {
        (64 + 5 * len, 8192 + 80 * len)
    }
}

impl ReadAt for Counted<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let n = self.bytes.read_at(offset, buf).unwrap_or(0);
        self.reads.set(self.reads.get() + 1);
        self.moved.set(self.moved.get() + u64::try_from(n).unwrap());
        let len = u64::try_from(self.bytes.len()).unwrap();
        let (reads, moved) = Self::budget(len);
        let (has_reads, has_moved) = self.spent();
        assert!(has_reads <= reads, "{has_reads} reads of a file of {len} bytes");
        assert!(has_moved <= moved, "{has_moved} bytes read of a file of {len} bytes");
        Ok(n)
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(u64::try_from(self.bytes.len()).unwrap())
    }
}

impl Sparse for Counted<'_> {}

#[cfg(feature = "inspect")]
impl striae_inspect::subject::Subject for Counted<'_> {}

/// The entries of a mapping, as far as they are numbers; `None` if the file has none.
pub type Addresses = Option<Vec<Option<(u32, u32)>>>;

/// What a physical file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Whether there is a META2.
    pub closed: bool,
    /// The name that it was created under.
    pub prefix: Vec<u8>,
    /// The mapping.
    pub mapping: Result<Addresses, Error>,
    /// The tasks, each read or not; the error of the list if there is none.
    pub tasks: Result<Vec<Result<TaskSummary, Error>>, Error>,
}

/// What a task holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    /// As it is listed.
    pub listed: Listed,
    /// Bytes used of each chunk.
    pub lens: Vec<u64>,
    /// Its bytes.
    pub stream: Vec<u8>,
    /// Its records, and what was wrong behind the last one.
    pub records: Option<(Vec<Record>, Option<Error>)>,
}

impl Summary {
    /// The stream of task `local`, if it could be read.
    #[must_use]
    pub fn stream(&self, local: usize) -> Option<&[u8]> {
        let task = self.tasks.as_ref().ok()?.get(local)?.as_ref().ok()?;
        Some(&task.stream)
    }

    /// The first error that there is.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match &self.tasks {
            Err(error) => Some(*error),
            Ok(tasks) => tasks.iter().find_map(|task| task.as_ref().err().copied()),
        }
    }
}

/// Reads all of the file `bytes`, with no more work than its length allows.
///
/// # Errors
/// What is wrong with it, if it cannot even be opened.
pub fn read_within_budget(bytes: &[u8]) -> Result<Summary, Error> {
    read_everything(&Counted::new(bytes))
}

/// Reads all of the file in `store`.
///
/// # Errors
/// What is wrong with it, if it cannot even be opened.
pub fn read_everything<S: ReadAt>(store: &S) -> Result<Summary, Error> {
    let opened = Physical::open(store, &mut [0; Meta1::MAX_LEN]).map_err(of_file)?;
    Ok(match opened {
        Opened::Closed(file) => read_closed(&file),
        Opened::Unclosed(file) => read_unclosed(&file),
    })
}

/// The error of the file: neither the store nor the buffers give reason for another one.
fn of_file<E: core::fmt::Debug>(error: DriveError<E, Error>) -> Error {
    let DriveError::Format(error) = error else { panic!("not the file's fault: {error:?}") };
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    assert!(!text.contains("a field"), "a field without a name: {text}");
    error
}

/// The few tasks that are worth a closer look, of so many.
fn close_looks(ntasks: u32) -> impl Iterator<Item = u32> {
    let step = (ntasks / u32::try_from(CLOSE_LOOKS).unwrap()).max(1);
    (0..ntasks).step_by(usize::try_from(step).unwrap()).take(CLOSE_LOOKS)
}

fn agree<T: PartialEq + core::fmt::Debug>(ways: impl IntoIterator<Item = T>) -> T {
    ways.into_iter()
        .reduce(|first, other| {
            assert_eq!(first, other, "two ways to read the same differ");
            first
        })
        .unwrap()
}

type List = Result<Vec<Result<Listed, Error>>, Error>;

fn read_closed<S: ReadAt>(file: &Physical<&S>) -> Summary {
    let list: List = agree([40, 87, 4096].map(|window| {
        let tasks = file.tasks(vec![0; window]).map_err(of_file)?;
        Ok(tasks.map(|task| task.map_err(of_file)).collect())
    }));
    let ntasks = file.meta1().ntasks();
    let layout = file.meta1().layout();
    assert!(layout.meta1_end() <= layout.first_chunk());
    assert!(file.meta2().end() <= file.head().file_len);
    for local in close_looks(ntasks) {
        look_closely(file, local, &list);
    }
    let mut spans = Vec::new();
    let tasks = list.map(|list| {
        assert_eq!(u32::try_from(list.len()), Ok(ntasks));
        list.into_iter().map(|task| task.map(|task| read_task(file, task, &mut spans))).collect()
    });
    spans.sort_by_key(|span| span.offset());
    assert!(spans.first().is_none_or(|first| first.offset() >= layout.meta1_end()));
    assert!(spans.windows(2).all(|pair| pair[0].end() <= pair[1].offset()), "chunks overlap");
    let prefix = read_prefix(&file.prefix().map_err(of_file).unwrap());
    Summary { closed: true, prefix, mapping: read_mapping(file), tasks }
}

fn read_prefix(prefix: &[u8]) -> Vec<u8> {
    assert!(prefix.len() <= 1024 && !prefix.contains(&0));
    prefix.to_vec()
}

fn read_mapping<S: ReadAt>(file: &Physical<&S>) -> Result<Addresses, Error> {
    let Some(mapping) = file.mapping().map_err(of_file)? else { return Ok(None) };
    assert_eq!(mapping.entry(mapping.len()), None);
    let address = |rank| {
        let place = mapping.entry(rank).unwrap();
        let mut bytes = vec![0; usize::try_from(place.len()).unwrap()];
        file.store().read_exact_at(place.offset(), &mut bytes).unwrap();
        mapping.address(&bytes)
    };
    Ok(Some((0..mapping.len()).map(address).collect()))
}

/// One task found by itself is the task of the list, or gives the error of the list.
fn look_closely<S: ReadAt>(file: &Physical<&S>, local: u32, list: &List) {
    let found = agree([8, 15, 4096].map(|window| {
        let task = file.task(local, &mut vec![0; window]).map_err(of_file)?;
        let lens: Vec<_> = agree([8, 4096].map(|window| {
            file.chunk_lens(task, vec![0; window]).map(|len| len.map_err(of_file)).collect()
        }));
        Ok((task, lens))
    }));
    let sum = found.as_ref().map_err(|error| *error).and_then(|(task, lens)| {
        lens.iter().copied().sum::<Result<u64, _>>().map(|bytes| (*task, bytes))
    });
    let Ok(list) = list else { return }; // a chunk size behind the task may be wrong
    let listed = list[usize::try_from(local).unwrap()];
    assert_eq!(listed.map(|listed| (as_found(listed.task), listed.bytes)), sum);
    if let Ok((task, _)) = found {
        let reader = Reader::alone(*file);
        let first = reader.find_globalrank(task.globalrank, &mut [0; 64]).map_err(of_file).unwrap();
        let first = u32::try_from(first.unwrap()).unwrap();
        let of_first = list[usize::try_from(first).unwrap()];
        assert!(of_first.is_err() || of_first.unwrap().task.globalrank == task.globalrank);
    }
}

/// The place of the second chunk is not read of a task without one.
fn as_found(mut listed: Task) -> Task {
    listed.chunks.globalskip = listed.chunks.globalskip.filter(|_| listed.blockcount > 1);
    listed
}

fn read_task<S: ReadAt>(file: &Physical<&S>, listed: Listed, used: &mut Vec<Span>) -> TaskSummary {
    let task = listed.task;
    let lens = file.chunk_lens(task, [0; 8]).map(|len| len.map_err(of_file));
    let lens: Vec<u64> = lens.collect::<Result<_, _>>().unwrap();
    assert_eq!(u64::try_from(lens.len()), Ok(task.blockcount));
    assert_eq!(lens.iter().sum::<u64>(), listed.bytes);

    let mut stream = file.stream(task);
    assert_eq!(stream.total().map_err(of_file), Ok(listed.bytes));
    let mut bytes = Vec::new();
    let mut buf = [0; 512];
    loop {
        match stream.read(&mut buf).map_err(of_file).unwrap() {
            0 => break,
            n => bytes.extend_from_slice(&buf[..n]),
        }
        assert_eq!(u64::try_from(bytes.len()), Ok(stream.position()));
    }
    assert_eq!(u64::try_from(bytes.len()), Ok(listed.bytes));

    stream.seek_to(0);
    let mut by_spans = Vec::new();
    while let Some(span) = stream.next_span(u64::MAX).map_err(of_file).unwrap() {
        assert!(!span.is_empty() && span.fits(file.head().file_len));
        let at = by_spans.len();
        by_spans.resize(at + usize::try_from(span.len()).unwrap(), 0);
        file.store().read_exact_at(span.offset(), &mut by_spans[at..]).unwrap();
        used.push(span);
    }
    assert_eq!(bytes, by_spans, "spans lead to other bytes");

    check_positions(file, task, &lens);
    let records = (file.meta1().keyval() == KeyvalMode::Inline)
        .then(|| read_records(file, task, &bytes, file.meta1().order()));
    TaskSummary { listed, lens, stream: bytes, records }
}

/// Stretches, (chunk, offset) pointers and positions lead to each other, forwards and backwards.
fn check_positions<S: ReadAt>(file: &Physical<&S>, task: Task, lens: &[u64]) {
    let mut stream = file.stream(task);
    let mut stretches = Vec::new();
    let mut begin = 0;
    for (chunk, &len) in (0..).zip(lens) {
        stretches.push(Stretch { chunk, begin, len });
        begin += len;
    }
    for stretch in stretches.iter().chain(stretches.iter().rev()) {
        assert_eq!(stream.chunk(stretch.chunk).map_err(of_file), Ok(*stretch));
        let end = stream.position_of(stretch.chunk, stretch.len).map_err(of_file);
        assert_eq!(end, Ok(stretch.end()));
        let behind = stream.position_of(stretch.chunk, stretch.len + 1).map_err(of_file);
        assert_eq!(behind, Err(Error::Position));
        if stretch.len > 0 {
            stream.seek_to(stretch.begin);
            assert_eq!(stream.location().map_err(of_file), Ok(Some((stretch.chunk, 0))));
        }
    }
    let blockcount = task.blockcount;
    let no_chunk = stream.chunk(blockcount).map_err(of_file);
    assert_eq!(no_chunk.err(), Some(Error::NoChunk { chunk: blockcount, blockcount }));
}

fn read_records<S: ReadAt>(
    file: &Physical<&S>,
    task: Task,
    bytes: &[u8],
    order: ByteOrder,
) -> (Vec<Record>, Option<Error>) {
    let mut stream = file.stream(task);
    let mut records = Records::new(&mut stream, order).map_err(of_file).unwrap();
    let (mut found, mut error) = (Vec::new(), None);
    while let Some(record) = records.next() {
        match record.map_err(of_file) {
            Ok(record) => found.push(record),
            Err(wrong) => error = Some(wrong),
        }
        let elsewhere = records.stream().position() / 2; // must not matter
        records.stream().seek_to(elsewhere);
    }
    let (expected, end) = parse_records(bytes, order);
    assert_eq!(found, expected);
    let left = u64::try_from(bytes.len() - end).unwrap();
    match error {
        None => assert_eq!(left, 0),
        Some(Error::RecordCut { position, len, left: said }) => {
            assert_eq!((usize::try_from(position), said), (Ok(end), left));
            assert!(len > left && left > 0);
        }
        Some(other) => panic!("{other:?}"),
    }

    let mut keys: Vec<_> = found.iter().map(|record| record.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for &key in keys.iter().take(3).filter(|_| u64::from(task.local) < 3) {
        let mut value = Vec::new();
        let mut reader = Records::new(&mut stream, order).map_err(of_file).unwrap().value(key);
        let mut buf = [0; 64];
        while let Ok(n @ 1..) = Read::read(&mut reader, &mut buf) {
            value.extend_from_slice(&buf[..n]);
        }
        let of_key = found.iter().filter(|record| record.key == key);
        let place = |record: &Record| usize::try_from(record.position).unwrap();
        let len = |record: &Record| usize::try_from(record.len).unwrap();
        let expected: Vec<u8> =
            of_key.flat_map(|r| bytes[place(r)..][..len(r)].iter().copied()).collect();
        assert_eq!(value, expected, "key {key}");
    }
    (found, error)
}

/// The records of a stream in memory, and where what is no record starts.
#[must_use]
pub fn parse_records(bytes: &[u8], order: ByteOrder) -> (Vec<Record>, usize) {
    let number = |at: usize| {
        let eight: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(match order {
            ByteOrder::Little => u64::from_le_bytes(eight),
            ByteOrder::Big => u64::from_be_bytes(eight),
        })
    };
    let (mut records, mut at) = (Vec::new(), 0);
    while let (Some(key), Some(len)) = (number(at), number(at + 8)) {
        let left = bytes.len() - at - 16;
        let Some(n) = usize::try_from(len).ok().filter(|&n| n <= left) else { break };
        records.push(Record { key, position: u64::try_from(at + 16).unwrap(), len });
        at += 16 + n;
    }
    (records, at)
}

fn read_unclosed<S: ReadAt>(file: &Unclosed<&S>) -> Summary {
    let list: List = agree([40, 87, 4096].map(|window| {
        let tasks = file.tasks(vec![0; window]).map_err(of_file)?;
        Ok(tasks.map(|task| task.map_err(of_file)).collect())
    }));
    for local in close_looks(file.head().meta1.ntasks()) {
        let found = agree(
            [8, 15, 64, 4096].map(|window| file.task(local, &mut vec![0; window]).map_err(of_file)),
        );
        match &list {
            Ok(list) => {
                let listed = list[usize::try_from(local).unwrap()].unwrap();
                assert_eq!(found, Ok(listed.task));
                assert_eq!((listed.bytes, listed.task.blockcount), (0, 0));
            }
            Err(error) => assert_eq!(found, Err(*error)),
        }
    }
    let tasks = list.map(|list| {
        let read = |listed: Listed| TaskSummary {
            listed,
            lens: Vec::new(),
            stream: Vec::new(),
            records: None,
        };
        list.into_iter().map(|task| task.map(read)).collect()
    });
    let prefix = read_prefix(&file.prefix().map_err(of_file).unwrap());
    Summary { closed: false, prefix, mapping: Ok(None), tasks }
}

/// Reads all of a set, and each of its files by itself.
pub fn read_set(files: &[&[u8]]) {
    let counted: Vec<_> = files.iter().map(|bytes| Counted::new(bytes)).collect();
    let open = |store| match Physical::open(store, &mut [0; Meta1::MAX_LEN]).map_err(of_file) {
        Ok(Opened::Closed(file)) => Some(file),
        _ => None,
    };
    let opened: Option<Vec<_>> = counted.iter().map(open).collect();
    let Some(opened) = opened else { return };
    let Ok(set) = Reader::of_set(opened) else { return };
    let ntasks: u64 = set.files().iter().map(|file| u64::from(file.meta1().ntasks())).sum();
    assert_eq!(set.ntasks(), ntasks);
    assert_eq!(set.address(ntasks).err(), Some(Error::NoTask { task: ntasks, ntasks }));

    let mut task = 0;
    for (number, file) in (0..).zip(set.files()) {
        for local in close_looks(file.meta1().ntasks()) {
            let index = task + u64::from(local);
            let (_, of_file_number, of_local) = set.address(index).unwrap();
            assert_eq!((of_file_number, of_local), (number, local));
            let by_set = set.task(index, &mut [0; 64]).map(|(_, task)| task).map_err(of_file);
            assert_eq!(by_set, file.task(local, &mut [0; 4096]).map_err(of_file));
            let Ok(by_set) = by_set else { continue };
            let found = set.find_globalrank(by_set.globalrank, &mut [0; 64]).map_err(of_file);
            let (other, found) = set.task(found.unwrap().unwrap(), &mut [0; 64]).map_or_else(
                |error| (None, Err(of_file(error))),
                |(other, task)| (Some(other), Ok(task)),
            );
            assert!(found.is_err() || found.unwrap().globalrank == by_set.globalrank);
            assert!(other.is_none_or(|other| other.head().file_len > 0));
        }
        task += u64::from(file.meta1().ntasks());
    }
}
