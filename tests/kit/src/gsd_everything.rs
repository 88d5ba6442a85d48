//! Reads all that can be read of a GSD file, in several ways that must agree.
//!
//! It panics if two ways differ, if something outside the file is asked for, or if the work is out
//! of proportion to the size of the file.

use core::cell::Cell;
use core::convert::Infallible;
use striae_core::gsd::{Chunk, Error, Head, NamePlace, NameTable, Reader};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Chunks, names and frames for which things are done whose cost grows with their number.
const CLOSE_LOOKS: usize = 24;

/// Windows of 1, 2 and 128 entries, and one that is no whole number of them.
const WINDOWS: [usize; 4] = [32, 64, 4096, 1001];

/// A file in memory that counts what is read, and panics if that is not in the file.
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

    /// Reads, and bytes read, since this was asked last.
    pub fn spent(&self) -> (u64, u64) {
        (self.reads.take(), self.moved.take())
    }
}

impl ReadAt for Counted<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let (asked, len) = (u64::try_from(buf.len()).unwrap(), self.size()?);
        let end = offset.checked_add(asked).unwrap();
        assert!(end <= len, "{asked} bytes at {offset} of a file of {len}");
        self.reads.set(self.reads.get() + 1);
        self.moved.set(self.moved.get() + asked);
        Ok(self.bytes.read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(u64::try_from(self.bytes.len()).unwrap())
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What opening learned.
    pub head: Head,
    /// Names by id; the error of the name that could not be read.
    pub names: Result<Vec<Vec<u8>>, Error>,
    /// Chunks in the order of the index.
    pub chunks: Vec<Result<Chunk, Error>>,
}

type File<'a, 'b> = Reader<&'a Counted<'b>>;

/// Reads all of the file `bytes`.
///
/// # Errors
/// What is wrong with it, if it cannot even be opened.
pub fn read_everything(bytes: &[u8]) -> Result<Summary, Error> {
    let store = Counted::new(bytes);
    let opened = Reader::open(&store, &mut [0; 256]).map_err(of_file);
    let (reads, moved) = store.spent();
    // header, shadows, slot behind or last entry, last name, and in windows of 256 bytes the names,
    // or what a commit of one sync added
    let bits = u64::from(u64::BITS - u64::try_from(bytes.len()).unwrap().leading_zeros());
    let most = 9 + bits + u64::try_from(bytes.len() / 256).unwrap();
    assert!(reads <= most, "{reads} reads to open {} bytes", bytes.len());
    assert!(moved <= 2048 + 32 * bits + u64::try_from(bytes.len()).unwrap());
    let file = opened?;

    let names = read_names(&file);
    store.spent();
    let chunks = agree(WINDOWS.map(|window| {
        let chunks = file.chunks(vec![0; window]);
        chunks.map(|chunk| chunk.map_err(of_file)).collect::<Vec<_>>()
    }));
    assert_eq!(chunks.len(), listed(bytes, file.head()));
    let (reads, _) = store.spent();
    assert!(reads <= 4 + 2 * file.head().entries, "{reads} reads to list");

    check_spans(&file, &chunks);
    check_found(&file, &chunks);
    check_frames(&file, &chunks);
    Ok(Summary { head: *file.head(), names, chunks })
}

/// The error of the file: neither the store nor the buffers give reason for another one.
fn of_file<E: core::fmt::Debug>(error: DriveError<E, Error>) -> Error {
    let DriveError::Format(error) = error else { panic!("not the file's fault: {error:?}") };
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    assert!(!text.contains("a field"), "a field without a name: {text}");
    assert!(!error.blames_caller(), "not the caller's fault: {text}");
    error
}

fn agree<T: PartialEq + core::fmt::Debug>(ways: impl IntoIterator<Item = T>) -> T {
    ways.into_iter()
        .reduce(|first, other| {
            assert_eq!(first, other, "two ways to read the same differ");
            first
        })
        .unwrap()
}

/// The few of so many that are worth a closer look.
fn close_looks(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by((count / CLOSE_LOOKS).max(1)).chain(count.checked_sub(1))
}

/// Entries that must be listed: those that repeat the one before fill the index and are not.
fn listed(bytes: &[u8], head: &Head) -> usize {
    let start = usize::try_from(head.index().location).unwrap();
    let len = 32 * usize::try_from(head.entries).unwrap();
    let mut entries: Vec<_> =
        bytes.get(start..).unwrap_or_default().chunks_exact(32).take(len / 32).collect();
    assert_eq!(entries.len(), len / 32);
    entries.dedup();
    entries.len()
}

fn read_names(file: &File<'_, '_>) -> Result<Vec<Vec<u8>>, Error> {
    let list = file.head().name_list();
    let longest = usize::try_from(list.len()).unwrap();
    let names = agree([longest + 1, longest.max(64)].map(|window| {
        let (mut all, mut names) = (Vec::new(), file.names(vec![0; window]));
        while let Some((id, name)) = names.next().map_err(of_file)? {
            assert_eq!(usize::from(id), all.len());
            assert!(!name.contains(&0));
            all.push(name.to_vec());
        }
        Ok(all)
    }))?;
    assert!(names.len() <= usize::try_from(file.head().names).unwrap());
    let mut memory = vec![NamePlace::EMPTY; usize::try_from(file.head().names).unwrap()];
    let table = NameTable::fill(file, &mut memory, &mut [0; 100]).map_err(of_file).unwrap();
    for id in close_looks(names.len()) {
        let first = names.iter().position(|name| *name == names[id]).unwrap();
        let first = u16::try_from(first).ok().filter(|_| !names[id].is_empty());
        for window in [1, 64, 4096] {
            let found = file.name_id(&names[id], &mut vec![0; window]).map_err(of_file);
            assert_eq!(found, Ok(first), "{:?}", names[id]);
            let found = table.id(file, &names[id], &mut vec![0; window]).map_err(of_file);
            assert_eq!(found, Ok(first), "{:?}", names[id]);
        }
    }
    Ok(names)
}

/// What is listed lies in the file; its rows are parts of it.
fn check_spans(file: &File<'_, '_>, chunks: &[Result<Chunk, Error>]) {
    let head = file.head();
    for chunk in chunks.iter().flatten() {
        assert!(chunk.span.offset() >= 256 && chunk.span.fits(head.file_len));
        assert!(u32::from(chunk.id) < head.names);
        assert_eq!(chunk.rows(0..chunk.n), Ok(chunk.span));
        let (half, row) = (chunk.n / 2, chunk.row_len());
        let (front, back) = (chunk.rows(0..half).unwrap(), chunk.rows(half..chunk.n).unwrap());
        assert_eq!((front.len(), front.end()), (half * row, back.offset()));
        assert_eq!(back.end(), chunk.span.end());
        assert!(chunk.rows(half..chunk.n + 1).is_err());
    }
}

/// Reads that a search in so many entries may take.
#[must_use]
pub fn search_reads(entries: u64) -> u64 {
    2 * u64::from(u64::BITS - entries.leading_zeros()) + 4
}

/// An error in words, without its place.
fn anywhere(error: &Error) -> String {
    let text = error.to_string();
    let (before, behind) = text.split_once(" at offset ").unwrap_or((&text, ""));
    format!("{before} {}", behind.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

/// What is found is what is listed, by any window and in few reads.
fn check_found(file: &File<'_, '_>, chunks: &[Result<Chunk, Error>]) {
    let head = file.head();
    let key = |chunk: &Chunk| (chunk.frame, chunk.id);
    let all: Vec<_> = chunks.iter().flatten().collect();
    let is_whole = all.len() == chunks.len();
    let is_sorted = is_whole
        && match head.header.version.is_sorted() {
            true => all.is_sorted_by_key(|chunk| key(chunk)),
            false => all.is_sorted_by_key(|chunk| chunk.frame),
        };
    let mut keys: Vec<_> = close_looks(all.len()).map(|index| key(all[index])).collect();
    let beside = |&(frame, id): &(u64, u16)| [(frame, id ^ 1), (frame ^ 1, id), (frame + 1, 0)];
    keys.extend(keys.clone().iter().flat_map(beside));
    for (frame, id) in keys {
        let mut same = all.iter().filter(|chunk| key(chunk) == (frame, id));
        let wanted = match head.header.version.is_sorted() {
            true => same.next(),
            false => same.next_back(),
        };
        let others = all.iter().filter(|chunk| chunk.frame != frame).count();
        let of_frame = usize::try_from(head.entries).unwrap() - others; // with all copies
        for window in WINDOWS {
            file.store().spent();
            let found = file.find(frame, id, &mut vec![0; window]).map_err(of_file);
            let backwards = match head.header.version.is_sorted() {
                true => 0,
                false => u64::try_from(of_frame.div_ceil(window / 32)).unwrap() + 1,
            };
            let (reads, _) = file.store().spent();
            assert!(reads <= search_reads(head.entries) + backwards, "{reads} reads to find");
            match (found, wanted) {
                (Ok(found), _) if is_sorted && frame < head.frames => {
                    assert_eq!(found.as_ref(), wanted.copied(), "{frame} {id} {window}");
                }
                (Ok(Some(found)), _) => {
                    assert!(all.contains(&&found) && key(&found) == (frame, id));
                }
                (Ok(None), _) => {}
                (Err(error), _) => {
                    // of several that are the same, the list has the first
                    let mut errors = chunks.iter().filter_map(|chunk| chunk.as_ref().err());
                    let is_listed = errors.any(|listed| anywhere(listed) == anywhere(&error));
                    assert!(is_listed, "{error}");
                }
            }
        }
    }
}

/// The chunks of some frames are those that are listed, if the index is sorted by frames.
fn check_frames(file: &File<'_, '_>, chunks: &[Result<Chunk, Error>]) {
    let frames: Vec<_> = chunks.iter().flatten().map(|chunk| chunk.frame).collect();
    if frames.len() < chunks.len() || !frames.is_sorted() {
        // whatever comes, it ends
        let part = file.chunks_of(0..file.frames() / 2 + 1, [0; 64]).map_err(of_file).unwrap();
        assert!(part.count() <= chunks.len());
        return;
    }
    let looks = close_looks(frames.len()).map(|index| frames[index]..frames[index] + 1);
    for range in looks.chain([0..file.frames(), 1..file.frames() / 2, 1..1]) {
        let expected: Vec<_> =
            chunks.iter().flatten().filter(|chunk| range.contains(&chunk.frame)).collect();
        for window in [32, 4096] {
            let part = file.chunks_of(range.clone(), vec![0; window]).map_err(of_file).unwrap();
            let part: Vec<_> = part.map(|chunk| chunk.map_err(of_file).unwrap()).collect();
            assert!(part.iter().eq(expected.iter().copied()), "{range:?}");
        }
    }
}
