//! The judge of `striae verify` and `striae recover`: what it makes of a header, whole, torn or
//! damaged (`spec/gsd.md#recovery`, *The header*).

use crate::edges_gsd::created;
use striae_core::gsd::raw::Image;
use striae_core::gsd::verdict::{Damage, Judge};
use striae_core::gsd::{Attributes, Basis, ChunkType, State};
use striae_core::step::{ReadMachine, ReadStep};
use striae_kit::gsd_files::{Entry, committed_file, image as bytes_of_image, with};
use zerocopy::{FromBytes, IntoBytes};

/// The judgement of a file, after few reads.
fn deep(file: &[u8]) -> Judge<true> {
    let mut judge = Judge::new(&image(file), file.len() as u64);
    for _ in 0..16 {
        let ReadStep::Read { offset, need, want } = judge.poll() else { return judge };
        assert!(need <= Judge::<true>::WINDOW);
        let window = file[offset as usize..].iter().take(want as usize);
        let window: Vec<_> = window.take(Judge::<true>::WINDOW).copied().collect();
        assert!(window.len() >= need, "read behind the end");
        let Ok(()) = judge.feed(&window);
    }
    panic!("no judgement after 16 reads");
}

fn image(file: &[u8]) -> Image {
    Image::read_from_bytes(&bytes_of_image(file)).unwrap()
}

/// A file as it is created, and after each of some commits of a frame: its shadows are at 512.
fn history(about: &Attributes<'_>, commits: usize) -> Vec<Vec<u8>> {
    let mut file = created(about);
    let mut files = vec![file.store().0.clone()];
    let id = file.name(b"a").unwrap();
    for _ in 0..commits {
        file.write_chunk(id, ChunkType::U8, 1, &[7; 8]).unwrap();
        file.end_frame().unwrap();
        file.commit().unwrap();
        files.push(file.store().0.clone());
    }
    files
}

/// Those of five commits: the number of each is its index.
fn five() -> Vec<Vec<u8>> {
    history(&Attributes::DEFAULT, 5)
}

/// Files of which a commit is whole, with its number: with shadows at 512, and at 256.
fn sound() -> Vec<(Vec<u8>, u32)> {
    let entry = |frame, id| Entry { n: 0, ..Entry::empty(frame, id) };
    let old = committed_file(2, &[entry(0, 0), entry(1, 0), entry(2, 1)]);
    let mut files: Vec<_> = five().into_iter().zip(0..).skip(1).collect();
    files.push((old, 2));
    files
}

/// The header was damaged, and it should be that of `right`.
fn assert_mended(judge: &Judge<true>, damage: Damage, right: &[u8], case: &str) {
    assert_eq!((judge.damage(), judge.basis()), (Some(damage), Basis::Damaged), "{case}");
    let right = image(right);
    assert_eq!(judge.image().as_bytes(), right.as_bytes(), "{case}");
    assert_eq!(judge.restored().unwrap().as_bytes(), right.as_bytes(), "{case}");
    assert!(matches!(judge.state(), State::Committed(_)), "{case}");
    let sequence = judge.record().unwrap().sequence;
    assert_eq!((sequence, judge.torn()), (right.commit.sequence.get(), None), "{case}");
}

/// "With the header lost, the place is 512 or 256."
#[test]
fn shadows_are_found_where_they_are_wherever_a_damaged_header_says() {
    for (file, number) in sound() {
        let len = file.len() as u64;
        let real = image(&file).commit.shadow.get();
        let places = [0, 255, 256, 257, 511, 512, 513, 768, 1024, len - 512, len, u64::MAX];
        for place in places.into_iter().filter(|&place| place != real) {
            let damaged = with(&file, 176 + 32, &place.to_le_bytes());
            let case = format!("{place} of commit {number}");
            assert_mended(&deep(&damaged), Damage::Shadow, &file, &case);
        }
    }
}
