//! How many reads happen, and when they end.

use super::folder::{Known, folder, list};
use super::{Fault, Miss, Restart, Source, View, over_pages};
use core::ops::ControlFlow::{Break, Continue};
use striae_core::step::{ReadMachine, ReadStep};
use zerocopy::little_endian::U32;

#[test]
fn state_that_does_not_outlive_a_restart_ends_at_the_limit_of_reads() {
    let file = folder(20, 16);
    for limit in [0, 1, 10, 1000] {
        let forgets = |view: &View<'_, 3>, (): &mut ()| list(view, &mut Known::default());
        let (found, reads) = over_pages(&file, 16, limit, forgets);
        assert_eq!(found, Err(Fault::Miss(Miss::Reads)));
        assert_eq!(reads, limit);
    }
}

#[test]
fn the_limit_is_the_number_of_reads_that_are_allowed() {
    let file = folder(20, 16);
    let (found, reads) = over_pages::<3, _, _, _>(&file, 16, 1000, |view, known| list(view, known));
    assert_eq!(
        over_pages::<3, _, _, _>(&file, 16, reads, |view, known| list(view, known)),
        (found, reads)
    );
    let (found, _) =
        over_pages::<3, _, _, _>(&file, 16, reads - 1, |view, known| list(view, known));
    assert_eq!(found, Err(Fault::Miss(Miss::Reads)));
}

/// Objects that are looked at once do not push out the pages of links and names, which the next
/// steps look at again.
#[test]
fn pages_that_every_step_looks_at_are_read_once() {
    let (links, page) = (300, 512);
    let file = folder(links, 600);
    let others = (file.len() as u64 - 600 * u64::from(links)).div_ceil(page as u64 / 2);
    let (found, reads) =
        over_pages::<4, _, _, _>(&file, page, 1000, |view, known| list(view, known));
    assert_eq!(found.unwrap().links, links);

    assert!(reads <= u64::from(links) + others, "{reads} reads");
}

/// Between two checkpoints there are at most as many reads as pages.
#[test]
fn every_read_brings_the_parser_further() {
    let file = folder(20, 64);
    let mut memory = [0; 4 * 12];
    let view = View::<4>::new(&mut memory, file.len() as u64);
    let begin = (Known::default(), String::new(), 0);
    let mut restart = Restart::new(view, begin, 1000, |view, (known, last, calls)| {
        let found = list(view, known);
        let now = format!("{known:?}");
        *calls = if *last == now { *calls + 1 } else { 1 };
        assert!(*calls <= 4, "{now}");
        *last = now;
        found
    });
    assert_eq!(restart.read_from(&file[..]).unwrap().links, 20);
}

/// A `once` around another keeps its pages in use meanwhile, and gives back those of the inner one.
#[test]
fn checkpoints_nest() {
    type Known = (Option<u32>, Option<u32>, u32);
    let file: Vec<u8> = (0..64).flat_map(|n: u32| n.to_le_bytes()).collect();
    let parse = |view: &View<'_, 2>, known: &mut Known| -> Result<u32, Fault<()>> {
        let (outer, inner, at) = known;
        let sum = view.once(outer, |view| {
            let first = view.read::<U32>(0)?.get();
            let sum = *view.once(inner, |view| {
                view.walk(at, |view, at| match at {
                    63 => Ok(Break(at + first)),
                    _ => Ok(Continue(view.read::<U32>(4 * u64::from(at) + 4)?.get())),
                })
            })?;
            Ok(sum + view.read::<U32>(128)?.get())
        })?;
        Ok(*sum)
    };
    let (found, reads) = over_pages(&file, 4, 1000, parse);
    assert_eq!(found, Ok(63 + 32));
    assert_eq!(reads, 1 + 63 + 1);
    let one = |view: &View<'_, 1>, (): &mut ()| -> Result<u32, Fault<()>> {
        Ok(view.read::<U32>(0)?.get() + view.read::<U32>(128)?.get())
    };
    assert_eq!(over_pages(&file, 4, 1000, one).0, Err(Fault::Miss(Miss::Pages)));
}

#[test]
fn a_driver_that_feeds_too_little_or_too_much_gets_no_wrong_answer() {
    let file = folder(20, 16);
    let expected = list(&file[..], &mut Known::default()).unwrap();
    for more in [0, 1, 100] {
        let mut memory = [0; 3 * 16];
        let view = View::<3>::new(&mut memory, file.len() as u64);
        let mut restart = Restart::new(view, Known::default(), 1000, list);
        let mut turn = 0;
        while let ReadStep::Read { offset, need, want } = restart.poll() {
            turn += 1;
            let (at, want) = (usize::try_from(offset).unwrap(), usize::try_from(want).unwrap());
            let len = if turn % 3 == 0 { need.saturating_sub(1) } else { want + more };
            restart.feed(&file[at..file.len().min(at + len)]).unwrap();
        }
        assert_eq!(restart.poll(), ReadStep::Done(expected));
    }
}

#[test]
fn every_source_gives_what_stands_there() {
    let file: Vec<u8> = (0..=255).collect();
    for (offset, need, want) in
        [(0, 0, 0), (0, 1, 1), (3, 2, 9), (256, 0, 0), (250, 6, 0), (0, 8, 8)]
    {
        let all = file[..].some(offset, need, want).unwrap();
        let parse = |view: &View<'_, 1>, (): &mut ()| -> Result<u64, Fault<()>> {
            let some = view.some(offset, need, want)?;
            assert!(need <= some.len() && all.starts_with(some));
            Ok(view.file_len())
        };
        assert_eq!(over_pages(&file, 8, 10, parse).0, Ok(256));
    }
    for (offset, need) in [(257, 0), (256, 1), (250, 7), (u64::MAX, 1), (u64::MAX, 0), (0, 257)] {
        let ended = Miss::Ended { offset, len: need as u64 };
        assert_eq!(file[..].some(offset, need, 0), Err(ended));
        let parse = |view: &View<'_, 1>, (): &mut ()| -> Result<u8, Fault<()>> {
            Ok(view.some(offset, need, 0)?.len() as u8)
        };
        assert_eq!(over_pages(&file, 8, 10, parse).0, Err(Fault::Miss(ended)));
    }
}

#[cfg(feature = "async")]
#[test]
fn a_store_that_is_waited_for_gives_what_another_gives() {
    use core::task::{Context, Poll, Waker};
    use striae_core::store::Ready;
    let file = folder(20, 16);
    let mut memory = [0; 3 * 16];
    let view = View::<3>::new(&mut memory, file.len() as u64);
    let mut restart = Restart::new(view, Known::default(), 1000, list);
    let store = Ready(&file[..]);
    let found = core::pin::pin!(restart.read_from_async(&store));
    let found = found.poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(found, Poll::Ready(Ok(list(&file[..], &mut Known::default()).unwrap())));
}
