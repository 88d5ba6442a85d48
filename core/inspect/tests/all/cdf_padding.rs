//! netCDF files in which a variable begins in the padding of another one.

use striae_inspect::cdf::recover::Recovery;
use striae_inspect::cdf::{FindingKind, verify};
use striae_inspect::certainty::Word;
use striae_inspect::finding::{Found as _, Severity};

/// CDF-1: variables with their dimensions, 0 for the record dimension, their types and `begin`s.
fn of_begins(variables: &[(&[u32], u32, u32)], numrecs: u32) -> Vec<u8> {
    let mut bytes = b"CDF\x01".to_vec();
    let mut ints = |all: &[u32]| all.iter().for_each(|int| bytes.extend(int.to_be_bytes()));
    let letter = |at: u32| u32::from_be_bytes([b'a' + at as u8, 0, 0, 0]);
    // numrecs; two dimensions, t of length 0 and x of length 2; no attributes
    ints(&[numrecs, 10, 2, 1, letter(19), 0, 1, letter(23), 2, 0, 0]);
    ints(&[11, variables.len() as u32]);
    for (at, (dims, nc_type, begin)) in (0..).zip(variables) {
        let width = [0, 1, 1, 2, 4][*nc_type as usize];
        let len: u32 =
            dims.iter().map(|dim| 2 * dim).filter(|len| *len > 0).product::<u32>() * width;
        ints(&[1, letter(at), dims.len() as u32]);
        ints(dims);
        ints(&[0, 0, *nc_type, len.next_multiple_of(4), *begin]);
    }
    bytes.resize(220, 0);
    bytes
}

/// The kinds of damage, and the variables that recover calls a guess.
fn of_padding(variables: &[(&[u32], u32, u32)], numrecs: u32) -> (Vec<&'static str>, Vec<bool>) {
    let has_records = variables.iter().any(|(dims, ..)| dims.contains(&0));
    let bytes = of_begins(variables, if has_records { numrecs } else { 0 });
    let mut found = Vec::new();
    verify(&&bytes[..], &mut |finding: FindingKind| {
        if finding.severity() == Severity::Damage {
            found.push(finding.facts().kind);
        }
    })
    .unwrap();
    let recovery = Recovery::examine(&&bytes[..]).unwrap();
    let words = recovery.variables().map(|(_, word)| word.word() == Word::Guess);
    (found, words.collect())
}

/// What netCDF-C, PnetCDF and ncvalidator refuse, and what they take: tried with each file.
#[test]
fn a_variable_that_begins_in_the_padding_before_it_is_damage() {
    let (x, t, byte, short): (&[u32], &[u32], _, _) = (&[1], &[0], 1, 3);
    let taken: [&[_]; 4] = [
        &[(x, byte, 200), (&[], short, 204)],
        &[(x, byte, 200), (t, short, 204)],
        &[(t, byte, 200), (t, short, 204)],
        &[(x, byte, 200), (t, byte, 204)], // records without padding
    ];
    for variables in taken {
        assert_eq!(of_padding(variables, 1).0, [""; 0], "{variables:?}");
    }
    let refused: [&[_]; 3] = [
        &[(x, byte, 200), (&[], short, 202)],
        &[(x, byte, 200), (t, short, 202)],
        &[(t, byte, 200), (t, short, 202)],
    ];
    for variables in refused {
        let (found, guesses) = of_padding(variables, 1);
        assert_eq!((found, guesses), (vec!["padding_overlap"], vec![true; 2]), "{variables:?}");
    }
    let three: &[_] = &[(x, byte, 200), (&[], byte, 204), (&[], byte, 206), (t, byte, 212)];
    assert_eq!(of_padding(three, 2), (vec!["padding_overlap"], vec![false, true, true, false]));
}
