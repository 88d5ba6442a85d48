//! What is damaged so that recover helps says so, whatever the verb.

use super::*;

const CLOSED: &str = "; striae recover makes a closed copy\n";
const LEFT: &str = "; striae recover saves what is left\n";

/// What `ls` says of these bytes, and whether `recover` makes a file of them.
fn outcome(bytes: &[u8], name: &str) -> (String, bool) {
    let folder = Folder::new();
    let path = folder.write(name, bytes);
    let assert = striae(&["ls", &path]).assert();
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    let out = folder.path(&format!("out_{name}"));
    let assert = striae(&["recover", &path, &out]).assert();
    let output = assert.get_output();
    let recovered = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!recovered.contains("striae recover"), "of recover itself: {recovered}");
    (stderr, output.status.code() != Some(2))
}

#[test]
fn wherever_a_set_is_cut_behind_meta1_recover_is_named() {
    let bytes = golden_set("s02_three_unequal_noncontig").files[0].clone();
    let first = 1076 + 3 * 16 + 12; // META1 ends here
    for len in (52..bytes.len()).step_by(97).chain(bytes.len() - 90..bytes.len()) {
        let (said, helps) = outcome(&bytes[..len], "a.sion");
        if said.is_empty() {
            continue; // what is cut off there nobody needs
        }
        assert_eq!(said.ends_with(CLOSED), len >= first, "{len}: {said}");
        assert_eq!(helps, len >= first, "{len}: {said}");
    }
}

#[test]
fn wherever_meta2_is_damaged_recover_is_named() {
    let set = golden_set("s02_three_unequal_noncontig");
    let bytes = set.files[0].clone();
    let meta2 = usize::try_from(set.expected["meta"]["start_of_varheader"].as_u64().unwrap());
    let meta2 = meta2.unwrap();
    let fields = 1076 + 3 * 16; // the commit fields
    let mut told = 0;
    for at in (fields..fields + 12).chain(meta2..bytes.len()) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x80;
        let (said, helps) = outcome(&bad, "a.sion");
        assert!(said.is_empty() || said.ends_with(CLOSED), "{at}: {said}");
        assert!(said.is_empty() || helps, "{at}: {said}");
        told += u32::from(!said.is_empty());
    }
    assert!(told > 30, "{told}");
    // META1 is what recover needs itself.
    let mut bad = bytes;
    bad[27] ^= 0x80; // ntasks is negative
    let (said, helps) = outcome(&bad, "a.sion");
    assert!(!said.contains("recover") && !helps, "{said}");
}

#[test]
fn wherever_a_gsd_file_is_damaged_recover_is_named() {
    let path = format!("{}/../tests/golden/gsd/v20_hoomd14.gsd", env!("CARGO_MANIFEST_DIR"));
    let bytes = fs::read(path).unwrap();
    for len in (300..bytes.len()).step_by(2001) {
        let (said, _) = outcome(&bytes[..len], "a.gsd");
        assert!(said.is_empty() || said.ends_with(LEFT), "{len}: {said}");
    }
    for at in (0..64).chain((256..bytes.len()).step_by(701)) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x80;
        let (said, _) = outcome(&bad, "a.gsd");
        assert!(said.is_empty() || said.ends_with(LEFT), "{at}: {said}");
    }
    let (said, helps) = outcome(&bytes[..100], "a.gsd");
    assert!(!said.contains("recover") && !helps, "{said}");
}
