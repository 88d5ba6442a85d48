//! The body of `gsd_open`: what is read of any bytes is what a plain reading of them finds.

use crate::gsd_linear::{Entry, Eyes, Linear, Proof, proofs, seal, seal_ahead, seal_shadow};
use striae_core::gsd::{Chunk, Error, State};
use striae_kit::gsd_everything::{Summary, read_everything};

/// The input is a GSD file. It is read as it is, and with right checksums in its commit record and
/// its shadows, which mutations seldom find.
pub fn gsd_open(data: &[u8]) {
    compare(data);
    if data.get(176..).is_some_and(|record| record.starts_with(b"striae\0\x01")) {
        let mut sealed = data.to_vec();
        seal_shadow(&mut sealed);
        compare(&sealed);
        seal(&mut sealed);
        compare(&sealed);
        seal_ahead(&mut sealed);
        compare(&sealed);
    }
}

fn compare(bytes: &[u8]) {
    let found = read_everything(bytes);
    let (proofs, may_refuse) = proofs(bytes);
    let expected = proofs.iter().map(|&proof| Linear::read(bytes, Eyes::Striae, proof));
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let is_refused = may_refuse || expected.into_iter().any(|it| it.is_err());
            assert!(is_refused, "a file was refused: {error}");
            return;
        }
    };
    let is_committed = found.head.state.record().is_some();
    // Where several may be right, it is that whose commit was read.
    let commit = found.head.image.commit.commit_crc.get().to_le_bytes();
    let is_it = |proof: &Proof| match proof {
        Proof::Count => !is_committed,
        Proof::Record(image) => image[116..] == commit,
    };
    let expected = proofs.iter().zip(expected).filter(|(proof, _)| is_it(proof));
    let mut expected: Vec<_> = expected.map(|(_, expected)| expected).collect();
    if proofs.len() > 1 {
        expected.retain(|it| it.as_ref().is_ok_and(|it| it.is_committed == is_committed));
    }
    match &expected[..] {
        [Ok(expected), ..] => compare_to(&found, expected),
        other => panic!("{other:?}, but the file was opened"),
    }
}

fn compare_to(found: &Summary, expected: &Linear<'_>) {
    compare_head(found, expected);
    match &found.names {
        Ok(names) => assert_eq!(*names, expected.names),
        Err(error) => {
            assert!(matches!(error, Error::NotTerminated { .. }), "{error}");
            assert!(u32::try_from(expected.names.len()).unwrap() < expected.names_count);
        }
    }
    let listed = expected.listed();
    assert_eq!(found.chunks.len(), listed.len());
    for (found, entry) in found.chunks.iter().zip(listed) {
        match (found, expected.is_chunk(entry)) {
            (Ok(chunk), Some(true)) => assert!(is_same(chunk, entry), "{chunk:?} {entry:?}"),
            (Err(_), Some(false) | None) => {}
            _ => panic!("{found:?} is in the list, {entry:?} in the file"),
        }
    }
}

fn compare_head(found: &Summary, expected: &Linear<'_>) {
    let head = &found.head;
    assert_eq!(head.state.record().is_some(), expected.is_committed, "{:?}", head.state);
    assert_eq!(head.state.record().is_some_and(|record| record.checksums), expected.checksums);
    assert_eq!((head.header.version.major, head.header.version.minor), expected.layer);
    assert_eq!(head.entries, u64::try_from(expected.entries.len()).unwrap());
    assert_eq!((head.names, head.frames), (expected.names_count, expected.frames));
    assert_eq!((head.header.index.location, head.header.index.slots), expected.index);
    assert_eq!((head.header.names.location, head.header.names.units), expected.name_list);
    if let State::Torn(record) | State::Ahead(record) = head.state {
        assert_eq!(head.image.commit.entries.get(), record.entries);
    }
}

fn is_same(chunk: &Chunk, entry: &Entry) -> bool {
    let Entry { frame, n, location, m, id, kind, .. } = *entry;
    (chunk.frame, chunk.id, chunk.n, chunk.m) == (frame, id, n, m)
        && chunk.kind.number() == kind
        && i64::try_from(chunk.span.offset()) == Ok(location)
}
