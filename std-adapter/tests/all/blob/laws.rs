//! What recover and convert promise, on sets with a wrong bit.

use super::belong::{ALL, SUBFILES, damage, make, subfile};
use super::made::Made;
use std::num::NonZeroUsize;
use std::path::Path;
use striae::blob::recover::Recover;
use striae::blob::{Convert, OpenOptions};
use striae::{Output, Verify};
use striae_inspect::size::{FACTOR, ROOM};

/// Recovers and converts a set: returns whether it was called sound.
fn check(set: &Path, text: &str) -> bool {
    let (out, found) = (set.with_file_name("out.nc"), damage(set));
    let output = Output::new().force(true).threads(NonZeroUsize::MIN);
    let sound = |text: &str| {
        let mut wrong = Vec::new();
        let each = &mut |finding: striae::cdf::verify::Finding| wrong.push(finding.to_string());
        assert!(Verify::new().cdf(&out, each).unwrap().is_sound(), "{text}: {wrong:?}");
        assert!(out.metadata().unwrap().len() <= FACTOR * (1 << 15) + ROOM, "{text}");
        std::fs::remove_file(&out).unwrap();
    };
    let mut is_sound = false;
    if let Ok(recovery) = Recover::new().output(output).examine(set) {
        is_sound = recovery.is_complete();
        assert!(!is_sound || found.is_empty(), "{text}: recover says sound, verify {found:?}");
        match recovery.write(&out, &|_| ()) {
            Ok(()) => sound(text),
            Err(_) => assert!(!out.exists(), "{text}"),
        }
    }
    let open = OpenOptions::new().checked(true).threads(NonZeroUsize::MIN);
    if let Ok(opened) = open.open(set) {
        match Convert::new().output(output).run(&opened, &out, &|_| ()) {
            Ok(_) => sound(text),
            Err(_) => assert!(!out.exists(), "{text}"),
        }
    }
    is_sound
}

/// A bit in every 13th byte of two subfiles of 5 kinds of sets: some 3000 cases.
#[test]
fn what_is_recovered_verifies_and_is_sound_only_if_the_set_verifies() {
    let (mut cases, mut sound) = (0, 0);
    for kind in 0..=ALL.len() {
        let dir = crate::in_memory();
        let set = match ALL.get(kind) {
            Some(how) => make(dir.path(), *how, 1),
            None => {
                let subfiles = vec![vec![vec![(0, 8)]], vec![vec![(8, 4)], vec![(12, 4)]]];
                Made { rows: 2, columns: 8, numrecs: 2, subfiles }.write(dir.path());
                dir.path().join("set.nc")
            }
        };
        assert!(check(&set, "undamaged"), "{kind}");
        for number in [0, 1].into_iter().filter(|number| *number < SUBFILES) {
            let bytes = std::fs::read(subfile(&set, number)).unwrap();
            for at in (0..bytes.len()).step_by(13) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at / 13 % 8);
                std::fs::write(subfile(&set, number), &damaged).unwrap();
                cases += 1;
                sound += u32::from(check(&set, &format!("{kind}: subfile {number}, byte {at}")));
            }
            std::fs::write(subfile(&set, number), &bytes).unwrap();
        }
    }
    assert!(cases > 1000 && sound > 0, "{cases}, {sound}");
}
