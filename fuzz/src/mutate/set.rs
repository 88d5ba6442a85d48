//! Sets of up to four files, as `sion_set` has them.

use super::{Format, Random, changed, crossed as crossed_file};
use crate::split_set;

/// The files of an input as it counts them, and as an input again.
fn joined(first: u8, files: &[Vec<u8>]) -> Vec<u8> {
    let count = files.len().saturating_sub(1).min(3);
    let mut made = vec![(first & !3) | u8::try_from(count).unwrap_or(3)];
    for file in &files[..count] {
        let len = u16::try_from(file.len()).unwrap_or(u16::MAX);
        made.extend(len.to_le_bytes());
    }
    for file in &files[..count] {
        made.extend(&file[..file.len().min(usize::from(u16::MAX))]);
    }
    made.extend(files.get(count).into_iter().flatten());
    made
}

fn files(data: &[u8]) -> Option<(u8, Vec<Vec<u8>>)> {
    let files = split_set(data)?.into_iter().map(<[u8]>::to_vec).collect();
    Some((*data.first()?, files))
}

fn format_of(file: &[u8], formats: &[&'static Format]) -> Option<&'static Format> {
    formats.iter().copied().find(|format| file.starts_with(format.magic))
}

/// A file changes, or files change places, or one is there twice or not at all.
pub(super) fn mutated(data: &[u8], formats: &[&'static Format], random: &mut Random) -> Vec<u8> {
    let Some((first, mut files)) = files(data) else { return data.to_vec() };
    let (one, other) = (random.below(files.len()), random.below(files.len()));
    match random.below(8) {
        0 => files.swap(one, other),
        1 => files[one] = files[other].clone(),
        2 if files.len() < 4 => files.insert(one, files[other].clone()),
        3 if files.len() > 1 => drop(files.remove(one)),
        _ => {
            if let Some(format) = format_of(&files[one], formats) {
                files[one] = changed(format, std::mem::take(&mut files[one]), random);
            }
        }
    }
    joined(first, &files)
}

/// One set with a file of the other, or with a file that has a block of the other's.
pub(super) fn crossed(
    one: &[u8],
    other: &[u8],
    formats: &[&'static Format],
    random: &mut Random,
) -> Vec<u8> {
    let (Some((first, mut files)), Some((_, others))) = (files(one), files(other)) else {
        return one.to_vec();
    };
    let (to, from) = (random.below(files.len()), random.below(others.len()));
    match format_of(&files[to], formats) {
        Some(format) if random.is_one_in(2) => {
            files[to] = crossed_file(format, std::mem::take(&mut files[to]), &others[from], random);
        }
        _ => files[to].clone_from(&others[from]),
    }
    joined(first, &files)
}

/// The set with the right checksums in its files.
pub(super) fn mended(data: &[u8], formats: &[&'static Format]) -> Vec<u8> {
    let Some((first, mut files)) = files(data) else { return data.to_vec() };
    for file in &mut files {
        if let Some(format) = format_of(file, formats) {
            (format.mend)(file);
        }
    }
    joined(first, &files)
}
