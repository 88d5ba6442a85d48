//! Commits that write their shadow beside the header: damage costs none of them that returned.

use striae_core::gsd::{Attributes, Logger, Reader};

/// Logs of one commit and more.
fn logs() -> impl Iterator<Item = Vec<u8>> {
    (1..=9_u32).map(|frames| {
        let mut card = vec![0xFF; 1 << 15];
        let about = Attributes::default();
        {
            let mut log = Logger::<_, 4>::open_or_create(card.as_mut_slice(), &about).unwrap();
            let id = log.name("t").unwrap();
            for frame in 0..frames {
                log.write(id, &[[frame]]).unwrap();
                log.end_frame().unwrap();
            }
        }
        card
    })
}

/// The frames, or `None` if the file is refused.
fn frames(bytes: &[u8]) -> Option<u64> {
    Reader::open(bytes, &mut [0; 256]).ok().map(|file| file.frames())
}

#[test]
fn a_flipped_bit_loses_no_commit_that_returned() {
    for log in logs() {
        let committed = frames(&log).unwrap();
        let mut healed = 0;
        for at in 0..1024 {
            for bit in 0..8 {
                let mut bytes = log.clone();
                bytes[at] ^= 1 << bit;
                let found = frames(&bytes);
                assert!(found.is_none_or(|found| found >= committed), "{at}.{bit}: {found:?}");
                healed += usize::from((176..256).contains(&at) && found.is_some());
            }
        }
        assert!(healed > 0 || committed.is_multiple_of(2), "{committed}");
    }
}

/// Any bytes in the fields that a commit changes, and a shadow beside them that is damaged.
#[test]
fn a_damaged_sector_loses_no_commit_that_returned() {
    let mut random = 88_u64;
    let mut next = move |end: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 8) as usize % end
    };
    let fields: Vec<usize> = (24..32).chain(184..192).chain(200..208).chain(224..228).collect();
    let fields: Vec<usize> = fields.into_iter().chain(236..240).chain(252..256).collect();
    for log in logs() {
        let committed = frames(&log).unwrap();
        for _ in 0..3000 {
            let mut bytes = log.clone();
            for _ in 0..1 + next(6) {
                bytes[fields[next(fields.len())]] = next(256) as u8;
            }
            bytes[256 + next(256)] ^= 1 << next(8);
            let found = frames(&bytes);
            assert!(found.is_none_or(|found| found >= committed), "{committed}: {found:?}");
        }
    }
}
