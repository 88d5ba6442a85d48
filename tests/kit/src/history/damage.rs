//! Each kind of damage that leaves all of META1 but the commit fields as it was.

use super::{Dice, Facts, History};
use std::collections::BTreeSet;
use std::ops::Range;

const SECTOR: usize = 512;

/// A damaged file.
#[derive(Debug, Clone)]
pub struct Damaged {
    pub kind: &'static str,
    pub how: String,
    pub bytes: Vec<u8>,
    /// The bytes that were changed; empty for a cut.
    pub place: Range<usize>,
}

/// Tells `each` of the file as it is, and of many that are damaged.
pub fn damages(history: &History, dice: &mut Dice, each: &mut dyn FnMut(&Damaged)) {
    let whole = &history.bytes;
    let place = 0..0;
    let how = String::new();
    each(&Damaged { kind: "none", how, bytes: whole.clone(), place });
    let facts = Facts::of(whole);
    fields(history, &facts, dice, each);
    cuts(history, &facts, dice, each);
    sectors(whole, &facts, each);
    if facts.start > 0 {
        let meta2_end = facts.meta2_end().min(whole.len());
        values(whole, "META2", facts.start..meta2_end, dice, each);
        values(whole, "behind META2", meta2_end..whole.len(), dice, each);
        entries(whole, &facts, each);
    }
}

fn change(whole: &[u8], kind: &'static str, at: usize, new: &[u8], each: &mut dyn FnMut(&Damaged)) {
    let place = at..at + new.len();
    if whole.get(place.clone()).is_some_and(|old| old != new) {
        let mut bytes = whole.to_vec();
        bytes[place.clone()].copy_from_slice(new);
        let what = if new.len() > 12 { format!("{} zeros", new.len()) } else { format!("{new:?}") };
        each(&Damaged { kind, how: format!("{what} at {at}"), bytes, place });
    }
}

/// Each bit of the commit fields, and bytes that lead to where META2 once was; all zeros.
fn fields(history: &History, facts: &Facts, dice: &mut Dice, each: &mut dyn FnMut(&Damaged)) {
    let whole = &history.bytes;
    for at in facts.fields..facts.fields + 12 {
        for bit in 0..8 {
            change(whole, "bit of the commit fields", at, &[whole[at] ^ 1 << bit], each);
        }
        let mut values = BTreeSet::from([0, 1, 2, 3, 255, dice.number() as u8]);
        let le = facts.order == striae_core::endian::ByteOrder::Little;
        for (start, _) in &history.places {
            let bytes = if le { start.to_le_bytes() } else { start.to_be_bytes() };
            values.extend(at.checked_sub(facts.fields + 4).map(|index| bytes[index]));
        }
        for value in values {
            change(whole, "byte of the commit fields", at, &[value], each);
        }
    }
    change(whole, "zeros for maxchunks", facts.fields, &[0; 4], each);
    change(whole, "zeros for start_of_varheader", facts.fields + 4, &[0; 8], each);
    change(whole, "zeros for the commit fields", facts.fields, &[0; 12], each);
}

/// A bit and a byte of some of these, or of all if they are few.
fn values(
    whole: &[u8],
    kind: &'static str,
    place: Range<usize>,
    dice: &mut Dice,
    each: &mut dyn FnMut(&Damaged),
) {
    let step = (place.len() / 48).max(1);
    for at in place.step_by(step) {
        change(whole, kind, at, &[whole[at] ^ 1 << dice.below(8)], each);
        change(whole, kind, at, &[dice.one_of(&[0, 1, 2, 255])], each);
    }
}

/// Whole entries of META2.
fn entries(whole: &[u8], facts: &Facts, each: &mut dyn FnMut(&Damaged)) {
    let place = facts.start..facts.meta2_end().min(whole.len());
    let step = (place.len() / 8 / 24).max(1);
    for at in place.step_by(8 * step) {
        change(whole, "entry of META2", at, &[255; 8], each);
    }
}

fn cuts(history: &History, facts: &Facts, dice: &mut Dice, each: &mut dyn FnMut(&Damaged)) {
    let whole = &history.bytes;
    let mut lens = BTreeSet::new();
    for (start, end) in &history.places {
        let (start, end) = (*start as usize, *end as usize);
        lens.extend([start, start + 8, start + (end - start) / 2, end - 1, end, end + 1]);
    }
    lens.extend((0..4).map(|_| dice.below(whole.len())));
    lens.extend([whole.len() - 1, (whole.len() - 1) / SECTOR * SECTOR]);
    for len in lens {
        if (facts.fields..whole.len()).contains(&len) {
            let (how, bytes) = (format!("at {len}"), whole[..len].to_vec());
            each(&Damaged { kind: "cut", how, bytes, place: 0..0 });
            let at = len / SECTOR * SECTOR; // storage loses sectors
            if at > facts.fields {
                change(whole, "zeros to the end", at, &vec![0; whole.len() - at], each);
            }
        }
    }
}

/// Sectors that read as zeros: that of the commit fields, and those from META2 on.
fn sectors(whole: &[u8], facts: &Facts, each: &mut dyn FnMut(&Damaged)) {
    let first = facts.fields / SECTOR * SECTOR;
    let last = (facts.fields + 11) / SECTOR * SECTOR;
    let behind = (facts.start / SECTOR * SECTOR..whole.len()).step_by(SECTOR).take(40);
    let behind = behind.filter(|_| facts.start > 0);
    for at in BTreeSet::from([first, last]).into_iter().chain(behind) {
        let len = SECTOR.min(whole.len() - at);
        change(whole, "zeroed sector", at, &vec![0; len], each);
    }
}
