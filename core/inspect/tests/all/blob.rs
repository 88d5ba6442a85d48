//! What the header of a subfile says of the canonical file.

use crate::requests::golden;
use striae_inspect::blob::subfile::Head;
use striae_kit::hosts::stride;

/// Bytes that no name has, that begin or end none, that are allowed, and those of large numbers.
const BYTES: [u8; 6] = [b'/', b' ', b'-', b'D', 0x7f, 0x80];

/// A step that 3 does not divide, so that a slow host tries all of them, too.
const STRIDE: usize = stride(20);

#[test]
fn there_can_be_a_canonical_file_where_there_is_a_plan_of_it() {
    let (mut allowed, mut refused) = (0, 0);
    // Other subfiles of a set have the same names.
    for (path, mut bytes) in golden("blob", "blob_h1.nc.0000") {
        if !bytes.starts_with(b"CDF") {
            continue;
        }
        let header_len = Head::read(&&bytes[..]).unwrap().header.head().header_len;
        for at in (12..usize::try_from(header_len).unwrap()).step_by(STRIDE) {
            let old = bytes[at];
            for &byte in BYTES.iter().skip(at % 3).step_by(3) {
                bytes[at] = byte;
                let Ok(head) = Head::read(&&bytes[..]) else { continue };
                let definition = head.definition();
                let (plan, check) = (definition.plan().map(drop), definition.check(1));
                assert_eq!(check, plan, "{path:?}: {byte} at {at}");
                if check.is_ok() { allowed += 1 } else { refused += 1 }
            }
            bytes[at] = old;
        }
        let head = Head::read(&&bytes[..]).unwrap();
        assert!(head.definition().check(u64::MAX >> 1).is_ok());
        assert!(head.definition().check(u64::MAX - 1).is_err(), "more records than a file has");
    }
    let least = 1000 / STRIDE;
    assert!(allowed > least && refused > least, "{allowed}, {refused}");
}
