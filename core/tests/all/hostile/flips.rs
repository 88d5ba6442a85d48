//! Every single bit of the metadata, flipped.

use super::*;
use striae_kit::hosts::stride;

/// Which tasks' streams the metadata at an offset belong to.
#[derive(Debug, PartialEq, Eq)]
enum Touches {
    All,
    One(u64),
    None,
}

fn touches(file: &Specimen, at: u64, bit: u8) -> Touches {
    let tables = file.tables();
    let chunksizes = tables + 8 * file.ntasks;
    match at {
        4 if bit == 0 => Touches::All,
        4..8 | 12..16 => Touches::None,
        0..28 => Touches::All,
        _ if at < chunksizes => Touches::None, // nfiles to globalrank: no stream depends on them
        _ if at < file.commit() + 12 => Touches::All,
        _ if at >= file.meta2_end() => Touches::None,
        _ => Touches::One((at - file.varheader) / 8 % file.ntasks),
    }
}

#[test]
fn a_flipped_bit_of_the_metadata_touches_only_what_it_says() {
    for (number, file) in specimens().into_iter().enumerate() {
        let whole = file.whole();
        let streams = |summary: &Summary, but: &Touches| -> Vec<_> {
            let others = (0..file.ntasks).filter(|&task| *but != Touches::One(task));
            let stream = |task| summary.stream(usize::try_from(task).unwrap()).map(<[u8]>::to_vec);
            others.map(stream).collect()
        };
        for at in (0..file.commit() + 12).chain(file.varheader..file.len()).step_by(stride(3)) {
            // The prefix is 1024 times the same: every bit of it in one file, some in the others.
            let is_sampled = number > 0 && (52..1056).contains(&at);
            for bit in (0..8).filter(|&bit| !is_sampled || at % 80 == 9 * u64::from(bit)) {
                let flipped = file.bytes[usize::try_from(at).unwrap()] ^ (1 << bit);
                let touches = touches(&file, at, bit);
                let read = read_within_budget(&file.with(at, &[flipped]));
                match (read, &touches) {
                    (_, Touches::All) => {}
                    (Err(error), _) => {
                        assert!((28..36).contains(&at), "{} {at}: {error}", file.name)
                    }
                    (Ok(read), touches) => {
                        let (left, right) = (streams(&read, touches), streams(&whole, touches));
                        assert_eq!(left, right, "{} byte {at} bit {bit}", file.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_a_record_header_spares_the_records_before_it() {
    for file in specimens().into_iter().filter(|file| file.maxchunks == 7) {
        let whole = file.whole();
        for (task, summary) in (0..2).zip(whole.tasks.as_ref().unwrap()) {
            let (records, _) = summary.as_ref().unwrap().records.as_ref().unwrap();
            assert!(records.len() >= 4);
            for (number, record) in records.iter().enumerate() {
                for position in record.position - 16..record.position {
                    // both tasks have chunks of 512 bytes and fill them
                    let at = 1536 + 512 * task + 1024 * (position / 512) + position % 512;
                    for bit in 0..8 {
                        let flipped = file.bytes[usize::try_from(at).unwrap()] ^ (1 << bit);
                        let read = read_within_budget(&file.with(at, &[flipped])).unwrap();
                        let tasks = read.tasks.as_ref().unwrap();
                        let local = usize::try_from(task).unwrap();
                        let read = tasks[local].as_ref().unwrap().records.as_ref().unwrap();
                        assert_eq!(read.0[..number], records[..number]);
                        assert_ne!(read.0.get(number), records.get(number));
                        assert_eq!(tasks[1 - local], whole.tasks.as_ref().unwrap()[1 - local]);
                    }
                }
            }
        }
    }
}
