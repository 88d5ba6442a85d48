//! Files that say anything: an answer or an error, never a panic, and no endless work.

use super::recover;
use striae_kit::golden_sets::golden_sets;
use striae_kit::hosts::stride;

/// Files that have everything: few tasks, many, key-value records, a mapping, both orders.
const FILES: [&str; 6] = [
    "c01_be_of_s02",
    "s03_eight_mixed",
    "s17_keyval_straddle",
    "s19_unclosed_flushed",
    "s21_unclosed_keyval",
    "m05_np8_3files",
];

fn files() -> impl Iterator<Item = (String, Vec<u8>)> {
    let sets = golden_sets().into_iter().filter(|set| FILES.contains(&&*set.name));
    sets.map(|mut set| (set.name, set.files.swap_remove(0)))
}

/// META1 without the prefix, and what stands behind the last chunk.
fn metadata(name: &str, file: &[u8]) -> Vec<usize> {
    let order = u32::from_le_bytes(file[24..28].try_into().unwrap());
    let ntasks = order.min(order.swap_bytes()) as usize;
    let tables = 1076..1088 + 16 * ntasks;
    let back = if name.contains("unclosed") {
        file.len()..file.len()
    } else {
        file.len() - 120..file.len()
    };
    (0..52).chain(tables).chain(back).collect()
}

#[test]
fn every_flipped_bit_has_an_answer() {
    let (mut answers, mut errors) = (0, 0);
    for (name, file) in files() {
        for at in metadata(&name, &file) {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                match recover(&damaged) {
                    Ok(streams) => {
                        answers += 1;
                        let bytes: u64 = streams.iter().map(|s| s.recovered.bytes).sum();
                        assert!(bytes <= file.len() as u64, "{name}: bit {bit} of {at}");
                    }
                    Err(_) => errors += 1,
                }
            }
        }
    }
    println!("flipped bits: {answers} answers, {errors} errors");
    assert!(answers > 5000 && errors > 500);
}

#[test]
fn extremes_have_an_answer() {
    let (mut answers, mut errors) = (0, 0);
    for (name, file) in files() {
        for at in metadata(&name, &file).into_iter().filter(|at| at % 4 == 0) {
            for value in [0, 1, -1, 2, 255, 1 << 20, i32::MAX - 1, i32::MAX, i32::MIN] {
                let mut damaged = file.clone();
                let end = (at + 4).min(file.len());
                damaged[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                match recover(&damaged) {
                    Ok(_) => answers += 1,
                    Err(_) => errors += 1,
                }
            }
        }
    }
    println!("extremes: {answers} answers, {errors} errors");
    assert!(answers > 1000 && errors > 100);
}

#[test]
fn every_front_of_a_file_has_an_answer() {
    for (name, file) in files() {
        let mut judged = false;
        for len in (0..file.len()).step_by(stride(5)) {
            match recover(&file[..len]) {
                Ok(_) => judged = true,
                Err(_) => assert!(!judged, "{name}: {len}"),
            }
        }
        assert!(judged);
    }
}
