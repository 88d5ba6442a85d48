//! Writing what was recovered.

use super::part::{Part, TaskPart, Used, WINDOW};
use super::source;
use crate::copy::{Copier, Place};
use crate::error::{Error, ErrorKind};
use crate::posix::PosixFile;
use crate::publish::Publish;
use crate::sion::mapping::{Address, are_all_ranks, mapping_of};
use crate::store::SparseFile;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::endian::I32;
use striae_core::sion::publish::{Publish as Close, Terms};
use striae_core::sion::seal::checksum_of;
use striae_core::sion::tables::{Column, Entries, Written};
use striae_core::sion::{Book, Meta1, raw};
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::IntoBytes;

/// Writes the set that `parts` are of.
pub(super) fn write(
    parts: &[Part],
    out: &Path,
    force: bool,
    progress: &dyn Fn(u64),
) -> Result<(), Error> {
    let nfiles = u32::try_from(parts.len()).ok().and_then(NonZeroU32::new);
    let publish = Publish::new(out, nfiles.unwrap_or(NonZeroU32::MIN), force)?;
    let publish = match parts.first() {
        Some(part) => publish.like(part.path()),
        None => publish,
    };
    let mapping = mapping(parts);
    for (number, part) in (0..).zip(parts) {
        write_part(part, &publish.hidden(number), out, &mapping, progress)?;
    }
    // What is replaced may be all that there is of the data, until the disk has the new files.
    publish.finish(force)
}

/// Where each global rank of the set is. Collectors of a buddy set have negative ones, no data and
/// no entry.
fn mapping(parts: &[Part]) -> Vec<Address> {
    if parts.len() < 2 {
        return Vec::new();
    }
    let tasks = (0..).zip(parts).flat_map(|(file, part)| {
        let tasks = (0..).zip(part.tasks());
        tasks.map(move |(local, task)| (task, (file, local)))
    });
    let is_collector = |task: &TaskPart| task.globalrank < 0 && task.recovered.bytes == 0;
    let all: Vec<_> = tasks.clone().map(|(task, at)| (task.globalrank, at)).collect();
    let others = tasks.filter(|(task, _)| !is_collector(task));
    let others: Vec<_> = others.map(|(task, at)| (task.globalrank, at)).collect();
    let is_buddy = !others.is_empty() && are_all_ranks(others.iter().map(|(rank, _)| *rank));
    mapping_of(if is_buddy { &others } else { &all })
}

/// Makes a first file of several that was recovered alone the only one: the others will not be next
/// to it. Returns its META1.
fn without_others(file: &PosixFile, meta1: &Meta1, out: &Path) -> Result<Meta1, Error> {
    let (nfiles, mut fixed) = (I32::new(1, meta1.order()), [0; Meta1::MAX_LEN]);
    file.write_all_at(raw::Meta1::nfiles.offset().into(), nfiles.as_bytes())
        .map_err(|error| Error::new(out, error))?;
    let len = file.size().map_err(|error| Error::new(out, error))?;
    let read = usize::try_from(len).unwrap_or(usize::MAX).min(fixed.len());
    let fixed = fixed.get_mut(..read).unwrap_or_default();
    file.read_exact_at(0, fixed).map_err(|error| match error {
        embedded_io::ReadExactError::Other(error) => Error::new(out, error),
        embedded_io::ReadExactError::UnexpectedEof => {
            Error::new(out, ErrorKind::Ended { offset: len })
        }
    })?;
    Meta1::parse(fixed, len).map_err(|error| Error::new(out, error))
}

/// What META2 shall say.
struct Lengths<'a> {
    part: &'a Part,
    /// Of each used chunk, if the file is sealed: those of the old seal.
    crcs: Vec<u32>,
    mapping: &'a [Address],
}

impl Written for Lengths<'_> {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        let range = entries.range();
        match entries.column() {
            Column::Blockcounts => {
                let first = usize::try_from(range.start).unwrap_or(usize::MAX);
                let tasks = self.part.tasks().get(first..).unwrap_or_default();
                for (local, task) in range.zip(tasks) {
                    entries.set(local, task.recovered.blockcount);
                }
            }
            Column::Blocksizes { chunk } => {
                self.each(chunk, range, |used, _| entries.set(used.local, used.len));
            }
            Column::Crcs { chunk } => {
                self.each(chunk, range, |used, crc| entries.set(used.local, crc.into()));
            }
            Column::Mapping => {
                for globalrank in range {
                    let address = usize::try_from(globalrank).ok();
                    let address = address.and_then(|index| self.mapping.get(index));
                    if let Some((file, local)) = address {
                        entries.set_address(globalrank, *file, *local);
                    }
                }
            }
        }
    }
}

impl Lengths<'_> {
    /// Those of these tasks that used a chunk, and the checksum of it.
    fn each(&self, chunk: u32, tasks: std::ops::Range<u32>, mut each: impl FnMut(&Used, u32)) {
        let used = self.part.used();
        let place = |local: u32| used.partition_point(|u| (u.chunk, u.local) < (chunk, local));
        for index in place(tasks.start)..place(tasks.end) {
            if let Some(used) = used.get(index) {
                each(used, self.crcs.get(index).copied().unwrap_or(0));
            }
        }
    }
}

/// Writes a physical file at `hidden`.
fn write_part(
    part: &Part,
    hidden: &Path,
    out: &Path,
    mapping: &[Address],
    progress: &dyn Fn(u64),
) -> Result<(), Error> {
    let source = source::open_again(part.identity())?;
    let file = PosixFile::create(hidden, false).map_err(|error| Error::new(out, error))?;
    let file = file.durable(false); // nobody knows it yet: nothing comes before something else
    let mut copy =
        Copy { from: &source, path: part.path(), file: &file, out, copier: Copier::new() };
    let meta1 = part.remains().head().meta1;
    let tables = Span::new(0, meta1.layout().commit_fields().offset()).unwrap_or(Span::ZERO);
    copy.span(tables, &|_| {})?;
    let meta1 = match meta1.is_first_of_several() && mapping.is_empty() {
        true => without_others(&file, &meta1, out)?,
        false => meta1,
    };
    let mapping = if meta1.is_first_of_several() { mapping } else { &[] };
    copy.chunks(part, progress)?;
    // Checksums of what is there now would hide what was altered since it was sealed.
    let crcs = part.sealed_crcs(&source)?;

    let at = |error| Error::new(out, error);
    let (entries, blocks) = (usize_to_u64(mapping.len()), part.remains().blocks());
    let maxchunks = u32::try_from(part.maxchunks()).unwrap_or(u32::MAX); // bounded by `examine`
    let sealed = part.remains().is_sealed();
    let (mut window, mut buf) = (vec![0; WINDOW], vec![0; WINDOW]);
    let checksum = crc32c::crc32c_append;
    let meta1_crc = match sealed {
        true => checksum_of(&file, tables, 0, checksum, &mut buf).map_err(at)?,
        false => 0,
    };
    let book =
        Book::create(&meta1, blocks, entries, sealed).map_err(|error| Error::new(out, error))?;
    // A new file: nothing that an older commit left stands in it.
    let terms = Terms { checksum, ..Terms::default() };
    let (lengths, mut book) = (Lengths { part, crcs, mapping }, book.with_meta1_crc(meta1_crc));
    let close = Close::close(&mut book, maxchunks, lengths, terms, &mut window);
    let close = close.map_err(|error| Error::new(out, error))?;
    close.run(&mut &file, &mut buf).map_err(at)
}

/// Copies bytes of a physical file to the same places of another.
struct Copy<'a> {
    from: &'a SparseFile,
    path: &'a Path,
    file: &'a PosixFile,
    out: &'a Path,
    copier: Copier,
}

impl Copy<'_> {
    fn span(&mut self, span: Span, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let place = Place { file: self.file, offset: span.offset(), zeros: true };
        let copied = self.copier.copy(self.from.file(), span, &place, progress);
        copied.map_err(|error| error.of_files(self.path, self.out))
    }

    /// All used bytes of chunks; those of chunks that are full with what follows them.
    fn chunks(&mut self, part: &Part, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let mut next = Span::ZERO;
        for place in part.used().iter().filter_map(|used| part.place(used)) {
            next = match next.joined(place) {
                Some(together) => together,
                None => {
                    self.span(next, progress)?;
                    place
                }
            };
        }
        self.span(next, progress)
    }
}
