//! Batches of samples that the ranks of a node read past the page cache, each byte once.
//!
//! A training program shuffles the samples of a file, and each rank wants other ones, some of them
//! more than once. The ranks of a node tell each other what they want. What all of them together
//! want is planned as one batch ([`striae_core::align::Plan`]), whose reads are dealt evenly by
//! their bytes; each rank makes its reads with [`striae::direct`], and sends the others what they
//! want of them.
//!
//! ```
//! use striae_core::span::Span;
//! use striae_mpi::{Error, Threads, direct};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/v21_sparse_chunks.gsd");
//! let read = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
//!     let file = direct::File::open(rank, path)?;
//!     let wanted = [Span::new(0, 4), Span::new(1, 2)].map(|span| span.expect("short"));
//!     let samples = file.read(&wanted)?; // all ranks of the node
//!     assert_eq!(samples.get(1), Some(&[0x65, 0xDF][..]));
//!     file.close()
//! };
//! for done in Threads::new(3).run(read) {
//!     done.expect("no rank panicked")?;
//! }
//! # Ok::<(), Error>(())
//! ```

use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::operation::Operation;
use std::path::Path;
use striae::direct::{Batch, DirectFile, OpenOptions};
use striae::posix::PosixFile;
use striae_core::align::{Alignment, Part, Plan, Read, Rules, Run};
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};

/// Longer reads are cut, so that several ranks share them; and longer messages.
const PIECE: u64 = 1 << 20;

/// The bytes of a span as it is sent.
const ENTRY: usize = 16;

/// A file of which the ranks of a node read batches together.
#[derive(Debug)]
pub struct File<C> {
    node: C,
    file: DirectFile,
    rules: Rules,
}

/// What a rank wanted of a batch.
#[derive(Debug)]
pub struct Samples {
    bytes: Vec<u8>,
    /// The place in `bytes` after each sample.
    ends: Vec<usize>,
    read: u64,
}

impl Samples {
    /// The number of samples.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no samples.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of a sample, by its number.
    #[must_use]
    pub fn get(&self, sample: usize) -> Option<&[u8]> {
        let start = match sample.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..*self.ends.get(sample)?)
    }

    /// The bytes that this rank has read of the file for the batch. All ranks of the node together
    /// read each wanted byte once, and what the alignment of the device needs besides.
    #[must_use]
    pub const fn bytes_read(&self) -> u64 {
        self.read
    }
}

impl<C: Collective> File<C> {
    /// Opens a file with the options of [`OpenOptions::new`]. All ranks call this.
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub fn open(comm: C, path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(comm, path, &OpenOptions::new())
    }

    /// Opens a file. All ranks call this; from then on the ranks of each node are by themselves. It
    /// takes one call of the message layer, besides splitting the communicator into nodes.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks of its node: [`Code::Differ`] if the file does not have
    /// the same length for all; an error of the operating system.
    pub fn open_with(
        comm: C,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        comm.begin(Operation::DirectOpen, 0);
        let node = comm.node(Ok(()))?;
        let open = || -> Result<_, Failure> {
            let file = options.open(path.as_ref())?;
            let len = PosixFile::open(path.as_ref()).and_then(|file| file.size());
            Ok((file, len.map_err(|error| Failure::io("opening the file", &error))?))
        };
        let opened = open();
        let equal = opened.as_ref().map_or(0, |(_, len)| crc32c(0, &len.to_le_bytes()));
        node.begin(Operation::DirectOpen, equal);
        let words = opened.as_ref().map(|(file, _)| {
            let Alignment { offset, length, memory } = file.alignment();
            [offset, length, memory]
        });
        let [offset, length, memory] = node.combine(words.map_err(Clone::clone), [Fold::Max; 3])?;
        let (file, len) = opened.map_err(Error::agreed)?; // never: no rank has failed
        let rules = Rules::new(Alignment { offset, length, memory }, len);
        let rules = rules.and_then(|rules| rules.with_max_io(PIECE.max(rules.granule())));
        // All of the node know it.
        let rules = rules.map_err(|error| Error::agreed(Failure::new(Code::Refused, error)))?;
        Ok(Self { node, file, rules })
    }

    /// The communicator of the node.
    pub const fn node(&self) -> &C {
        &self.node
    }

    /// Reads the spans that this rank wants, in any order; they may overlap. All ranks of the node
    /// call this, also those that want nothing. It takes 6 calls of the message layer, messages of
    /// 16 bytes for each span, and the bytes that other ranks have read.
    ///
    /// A rank has in memory what it wants, what it reads, and the list of all spans.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks of the node: [`Code::Refused`] for a span that is not in
    /// the file; an error of the operating system.
    pub fn read(&self, wanted: &[Span]) -> Result<Samples, Error> {
        self.node.begin(Operation::DirectRead, 0);
        let (all, counts) = self.tell(wanted)?;
        let mut runs = vec![Run::EMPTY; all.len()];
        let plan = Plan::new(&all, self.rules, &mut runs);
        let plan = plan.map_err(|error| Failure::new(Code::Refused, error));
        // After this no rank can fail by itself, while others wait for its messages.
        let mine = plan.as_ref().map_err(Clone::clone).and_then(|plan| {
            let own = self.read_own(plan)?;
            let samples = Samples::new(wanted, own.bytes())?;
            Ok((own, samples))
        });
        let (own, samples) = self.node.agree(mine)?;
        let plan = plan.map_err(Error::agreed)?; // never: no rank has failed
        let samples = self.share(&plan, &own, samples, &lists(&all, &counts));
        self.node.agree(samples)
    }

    /// Ends the communicator of the node. All ranks call this.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks of the node.
    pub fn close(self) -> Result<(), Error> {
        self.node.free(Ok(()))
    }

    /// The spans of all ranks, in their order, and the number of each.
    fn tell(&self, wanted: &[Span]) -> Result<(Vec<Span>, Vec<usize>), Error> {
        let is_outside = |span: &&Span| !span.is_empty() && !span.fits(self.rules.file_len());
        let mine = match wanted.iter().find(is_outside) {
            Some(span) => {
                let (at, len, end) = (span.offset(), span.len(), self.rules.file_len());
                let text = format_args!("{len} bytes at {at} of a file of {end}");
                Err(Failure::new(Code::Refused, text))
            }
            None => Ok(wanted
                .iter()
                .flat_map(|span| [span.offset(), span.len()])
                .flat_map(u64::to_le_bytes)
                .collect::<Vec<u8>>()),
        };
        // Before rank 0 waits for messages.
        self.node.agree(mine.as_ref().map(drop).map_err(Clone::clone))?;
        let size = usize::try_from(self.node.size()).unwrap_or(usize::MAX);
        let (mut counts, mut entries) = (vec![0_u64; size], Vec::new());
        let bytes = mine.as_ref().map(Vec::as_slice).map_err(Clone::clone);
        let window = usize::try_from(PIECE).unwrap_or(ENTRY);
        self.node.gather(0, bytes, window, |from, piece| {
            let count = usize::try_from(from).ok().and_then(|from| counts.get_mut(from));
            if let Some(count) = count {
                *count = count.saturating_add(usize_to_u64(piece.len()));
            }
            entries.extend_from_slice(piece);
            Ok(())
        })?;
        let counts = counts.into_iter().flat_map(u64::to_le_bytes);
        let said: Vec<u8> = counts.chain(entries).collect();
        let said = self.node.bcast(0, Ok(&said), usize::MAX)?;
        let mut words = said.chunks_exact(8).filter_map(<[u8]>::first_chunk);
        let mut next = || words.next().map(|word| u64::from_le_bytes(*word));
        let entry = usize_to_u64(ENTRY);
        let counts = (0..size).map(|_| {
            let count = next().unwrap_or(0).checked_div(entry).unwrap_or(0);
            usize::try_from(count).unwrap_or(0)
        });
        let counts = counts.collect();
        let spans = std::iter::from_fn(|| Span::new(next()?, next()?));
        Ok((spans.collect(), counts))
    }

    /// Makes the reads of this rank.
    fn read_own(&self, plan: &Plan<'_>) -> Result<Own, Failure> {
        let dealt = dealt(plan, self.node.size());
        let own: Vec<Read> = plan
            .reads()
            .zip(dealt)
            .filter_map(|(read, rank)| (rank == self.node.rank()).then_some(read))
            .collect();
        let spans = own.iter().map(|read| Span::new(read.span.offset(), read.valid));
        let spans: Vec<Span> = spans.map(|span| span.unwrap_or(Span::ZERO)).collect();
        let batch = self.file.read_spans(&spans)?;
        Ok(Own { first: own.first().map_or(0, |read| read.number), batch })
    }

    /// Gives the other ranks what they want of this rank's reads, and takes what this one wants.
    fn share(
        &self,
        plan: &Plan<'_>,
        mine: &Own,
        mut samples: Samples,
        lists: &[&[Span]],
    ) -> Result<Samples, Failure> {
        let owners: Vec<u32> = dealt(plan, self.node.size()).collect();
        let me = self.node.rank();
        let own = lists.get(usize::try_from(me).unwrap_or(usize::MAX)).copied().unwrap_or_default();
        let parts = |list, rank| parts(plan, &owners, list, rank);
        for (part, at) in parts(own, me) {
            samples.put(at, mine.part(part).ok_or_else(broken)?)?;
        }
        // Each pair of ranks in turn, the lower one first: nobody waits for one who waits for him.
        for (peer, list) in (0_u32..).zip(lists).filter(|(peer, _)| *peer != me) {
            if me < peer {
                self.send(mine, parts(list, me), peer)?;
            }
            self.take(&mut samples, parts(own, peer), peer)?;
            if me > peer {
                self.send(mine, parts(list, me), peer)?;
            }
        }
        Ok(samples)
    }

    fn send(
        &self,
        mine: &Own,
        parts: impl Iterator<Item = (Part, usize)>,
        peer: u32,
    ) -> Result<(), Failure> {
        let most = usize::try_from(PIECE).unwrap_or(usize::MAX);
        let mut message = Vec::new();
        for (part, _) in parts {
            let bytes = mine.part(part).ok_or_else(broken)?;
            if !message.is_empty() && bytes.len().saturating_add(message.len()) > most {
                self.node.send(peer, &message)?;
                message.clear();
            }
            message.extend_from_slice(bytes);
        }
        if message.is_empty() { Ok(()) } else { self.node.send(peer, &message) }
    }

    /// Takes what a peer sends: it joins parts as [`send`](Self::send) does.
    fn take(
        &self,
        samples: &mut Samples,
        parts: impl Iterator<Item = (Part, usize)>,
        peer: u32,
    ) -> Result<(), Failure> {
        let most = usize::try_from(PIECE).unwrap_or(usize::MAX);
        let (mut places, mut total): (Vec<(usize, usize)>, _) = (Vec::new(), 0_usize);
        let mut receive = |places: &mut Vec<(usize, usize)>, total: usize| {
            let mut message = vec![0; total];
            let len = self.node.recv(peer, &mut message)?;
            let mut rest = message.get(..len).unwrap_or_default();
            for (at, len) in places.drain(..) {
                let (bytes, after) = rest.split_at_checked(len).ok_or_else(broken)?;
                samples.put(at, bytes)?;
                rest = after;
            }
            Ok::<(), Failure>(())
        };
        for (part, at) in parts {
            let len = usize::try_from(part.len).unwrap_or(usize::MAX);
            if total > 0 && total.saturating_add(len) > most {
                receive(&mut places, total)?;
                total = 0;
            }
            places.push((at, len));
            total = total.saturating_add(len);
        }
        if total > 0 { receive(&mut places, total) } else { Ok(()) }
    }
}

fn broken() -> Failure {
    Failure::new(Code::Differ, "the ranks do not have the same plan")
}

/// The reads of a rank, whose numbers follow each other.
#[derive(Debug)]
struct Own {
    first: u64,
    batch: Batch,
}

impl Own {
    fn bytes(&self) -> u64 {
        self.batch.iter().fold(0, |sum, bytes| sum.saturating_add(usize_to_u64(bytes.len())))
    }

    fn part(&self, part: Part) -> Option<&[u8]> {
        let number = usize::try_from(part.read.checked_sub(self.first)?).ok()?;
        let start = usize::try_from(part.skip).ok()?;
        let len = usize::try_from(part.len).ok()?;
        self.batch.get(number)?.get(start..)?.get(..len)
    }
}

impl Samples {
    fn new(wanted: &[Span], read: u64) -> Result<Self, Failure> {
        let (mut ends, mut end) = (Vec::new(), 0_usize);
        for span in wanted {
            end = end.saturating_add(usize::try_from(span.len()).unwrap_or(usize::MAX));
            ends.push(end);
        }
        let mut bytes = Vec::new();
        let full = |_| Failure::io("memory for a batch", &std::io::Error::from_raw_os_error(12));
        bytes.try_reserve_exact(end).map_err(full)?; // ENOMEM
        bytes.resize(end, 0);
        Ok(Self { bytes, ends, read })
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.bytes.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len()));
        place.ok_or_else(broken)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// The spans of each rank.
fn lists<'a>(mut all: &'a [Span], counts: &[usize]) -> Vec<&'a [Span]> {
    let mut lists = Vec::new();
    for count in counts {
        let (list, rest) = all.split_at_checked(*count).unwrap_or((all, &[]));
        lists.push(list);
        all = rest;
    }
    lists
}

/// The rank that makes each read: even parts of the bytes, in the order of the file.
fn dealt(plan: &Plan<'_>, size: u32) -> impl Iterator<Item = u32> {
    let (total, mut before) = (u128::from(plan.bytes()), 0_u64);
    plan.reads().map(move |read| {
        let product = u128::from(before).saturating_mul(size.into());
        before = before.saturating_add(read.span.len());
        let rank = product.checked_div(total).unwrap_or(0);
        u32::try_from(rank).unwrap_or(0) // below the size
    })
}

/// The parts of spans that a rank reads, with their places in the memory of the one who wants them.
fn parts<'a>(
    plan: &'a Plan<'_>,
    owners: &'a [u32],
    list: &'a [Span],
    rank: u32,
) -> impl Iterator<Item = (Part, usize)> + 'a {
    let mut end = 0_usize;
    let starts = list.iter().map(move |span| {
        let start = end;
        end = end.saturating_add(usize::try_from(span.len()).unwrap_or(usize::MAX));
        (*span, start)
    });
    let each = starts.flat_map(|(span, start)| {
        let parts = plan.parts(span).into_iter().flatten();
        parts.map(move |part| {
            (part, start.saturating_add(usize::try_from(part.at).unwrap_or(usize::MAX)))
        })
    });
    each.filter(move |(part, _)| {
        let number = usize::try_from(part.read).unwrap_or(usize::MAX);
        owners.get(number) == Some(&rank)
    })
}
