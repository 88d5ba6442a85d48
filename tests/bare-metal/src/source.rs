//! Following pointers: a list of (next, value), in memory and over pages.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::{self, Write};
use core::ops::ControlFlow::{Break, Continue};
use striae_core::source::{Fault, Miss, Restart, Source, View, Window};
use striae_core::step::{ReadMachine, ReadStep};
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::little_endian::U64;

/// The list is longer than the file.
#[derive(Debug)]
struct Ring;

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ring")
    }
}

impl core::error::Error for Ring {}

#[derive(Default)]
struct Known {
    first: Option<u64>,
    place: Option<(u64, u64, u64)>,
}

fn sum<S: Source + ?Sized>(source: &S, known: &mut Known) -> Result<u64, Fault<Ring>> {
    let first = *source.once(&mut known.first, |source| Ok(source.read::<U64>(0)?.get()))?;
    let most = source.file_len();
    let pins = source.pins();
    let place = known.place.get_or_insert((first, 0, 0));
    let sum = source.walk(place, |source, (at, sum, n)| {
        let &[next, value] = source.read::<[U64; 2]>(at)?;
        match next.get() {
            0 => Ok(Break(sum)),
            _ if n == most => Err(Fault::Format(Ring)),
            next => Ok(Continue((next, sum ^ value.get(), n.saturating_add(1)))),
        }
    })?;
    source.set_pins(pins);
    Ok(sum)
}

entries! {
    fn gate_source_slice(bytes, offset: u64, need: usize, want: u64) {
        let bytes = &*bytes;
        let first = bytes.some(offset, need, want)?.first().copied();
        Ok(sum(bytes, &mut Known::default())? ^ u64::from(first.unwrap_or(0)))
    }

    fn gate_source_restart(bytes, reads: u64) {
        let store = Host { file: 0 };
        let view = View::<3>::new(bytes, store.size()?);
        let known = Known::default();
        let mut restart = Restart::new(view, known, reads, sum);
        Ok(restart.read_from(&store)?)
    }

    fn gate_source_machine(bytes, file_len: u64, reads: u64, at: usize) {
        let (memory, fed) = bytes.split_at_mut_checked(at).ok_or(Fail)?;
        let view = View::<2>::new(memory, file_len);
        let known = Known::default();
        let mut restart = Restart::new(view, known, reads, sum);
        loop {
            match restart.poll() {
                ReadStep::Read { need, .. } => restart.feed(fed.get(need..).ok_or(Fail)?)?,
                ReadStep::Done(sum) => return Ok(sum),
            }
        }
    }

    fn gate_source_window(bytes, offset: u64, file_len: u64, at: u64, need: usize, want: u64) {
        let window = Window::new(offset, bytes, file_len);
        Ok(usize_to_u64(window.some(at, need, want)?.len()) ^ window.file_len())
    }

    fn gate_text64_miss(_bytes, offset: u64, len: u64, need: usize) {
        for miss in [
            Miss::Read { offset, need, want: len },
            Miss::Ended { offset, len },
            Miss::Page { len: need },
            Miss::Pages,
            Miss::Reads,
        ] {
            write!(Text, "{miss} {}", Fault::<Ring>::from(miss))?;
        }
        Ok(0)
    }
}
