//! The judge of `striae verify` and `striae recover`: what it makes of a header, whole, torn or
//! damaged (`spec/gsd.md#recovery`, *The header*).

use crate::edges_gsd::created;
use striae_core::gsd::Reader;
use striae_core::gsd::raw::{Image, Shadow};
use striae_core::gsd::verdict::{Damage, Judge};
use striae_core::gsd::{Attributes, Basis, ChunkType, Error, State};
use striae_core::step::{DriveError, ReadMachine, ReadStep};
use striae_kit::gsd_files::{
    Entry, committed_file, crc32c, image as bytes_of_image, signed, with, with_image,
};
use zerocopy::{FromBytes, IntoBytes};

/// Offset of the record's magic in an image; the versions of schema and layer are before it.
const MAGIC: usize = 40;

/// The judgement of a file, after few reads.
fn deep(file: &[u8]) -> Judge<true> {
    let mut judge = Judge::new(&image(file), file.len() as u64);
    for _ in 0..16 {
        let ReadStep::Read { offset, need, want } = judge.poll() else { return judge };
        assert!(need <= Judge::<true>::WINDOW);
        let window = file[offset as usize..].iter().take(want as usize);
        let window: Vec<_> = window.take(Judge::<true>::WINDOW).copied().collect();
        assert!(window.len() >= need, "read after the end");
        let Ok(()) = judge.feed(&window);
    }
    panic!("no judgement after 16 reads");
}

fn image(file: &[u8]) -> Image {
    Image::read_from_bytes(&bytes_of_image(file)).unwrap()
}

/// A file as it is created, and after each of some commits of a frame of 1 to 3 chunks: its shadows
/// are at 512.
fn history(about: &Attributes<'_>, commits: usize) -> Vec<Vec<u8>> {
    let mut file = created(about);
    let mut files = vec![file.store().0.clone()];
    let ids = [b"a", b"b", b"c"].map(|name| file.name(name).unwrap());
    for number in 0..commits {
        for id in ids.into_iter().take(1 + number % 3) {
            file.write_chunk(id, ChunkType::U8, 1, &[7; 8]).unwrap();
        }
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

#[test]
fn an_image_has_its_record_unless_the_checksum_is_wrong() {
    for (file, number) in sound() {
        let record = image(&file).record(file.len() as u64).unwrap().unwrap();
        let shadow = image(&file).commit.shadow.get();
        assert_eq!((record.sequence, record.shadow), (number, shadow));
        let damaged = with(&file, 252, &[file[252] ^ 1]);
        assert_eq!(image(&damaged).record(file.len() as u64), Ok(None));
    }
}

/// The file whose shadows are no shadows.
fn without_shadows(file: &[u8]) -> Vec<u8> {
    let at = image(file).commit.shadow.get() as usize;
    with(file, at, &[0; 512])
}

fn assert_whole(judge: &Judge<true>, basis: Basis, file: &[u8]) {
    assert_eq!(judge.basis(), basis);
    assert_eq!((judge.damage(), judge.restored(), judge.torn()), (None, None, None));
    assert_eq!(judge.image().as_bytes(), image(file).as_bytes());
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

/// The header has a wrong checksum, and nobody knows what it should be.
fn assert_lost(file: &[u8], case: &str) {
    let judge = deep(file);
    let Some(Damage::Error(Error::Checksum { offset: 252, stored, computed, .. })) = judge.damage()
    else {
        panic!("{case}: {:?}", judge.damage());
    };
    assert_eq!(stored.to_le_bytes(), file[252..256], "{case}");
    assert_eq!(computed, crc32c(&[&file[8..40], &file[176..252]]), "{case}");
    assert_eq!((judge.basis(), judge.restored()), (Basis::Damaged, None), "{case}");
    assert_eq!(judge.image().as_bytes(), image(file).as_bytes(), "{case}");
    assert_eq!((judge.state(), judge.record()), (State::Plain, None), "{case}");
}

/// Places of an image where a change is damage: no checksum there covers the versions, and a record
/// without its magic is none.
fn covered() -> impl Iterator<Item = usize> {
    (0..Image::LEN).filter(|at| !(MAGIC - 8..MAGIC + 8).contains(at))
}

/// The file with some bits of a byte of its image changed.
fn flipped(file: &[u8], at: usize, bits: u8) -> Vec<u8> {
    let mut image = bytes_of_image(file);
    image[at] ^= bits;
    with_image(file, &image)
}

/// "Index or name list is behind data_end and larger than the record says."
fn is_moved(file: &[u8]) -> bool {
    let image = image(file);
    let (commit, names_len) = (image.commit, 64 * u128::from(image.namelist_allocated_entries));
    let is_behind = |location: u64| location >= commit.data_end.get();
    (is_behind(image.index_location.get())
        && image.index_allocated_entries.get() > commit.entries.get())
        || (is_behind(image.namelist_location.get())
            && names_len > u128::from(commit.names_len.get()))
}

#[test]
fn nothing_is_wrong_with_a_sound_header() {
    for (file, number) in sound() {
        let judge = deep(&file);
        assert_whole(&judge, Basis::Committed(number), &file);
        assert!(!judge.has_lost_magic());
        assert_eq!(judge.record().unwrap().sequence, number);
    }
}

/// A writer that adopts a file writes the magic last: a front of it, and zeros, is no record yet.
#[test]
fn a_record_of_which_only_the_magic_is_wrong_gets_it_back() {
    for (file, number) in sound() {
        let magic = *b"striae\0\x01";
        for at in 0..8 {
            for value in (0..=255).filter(|&value| value != magic[at]) {
                let mut wrong = magic;
                wrong[at] = value;
                let damaged = with(&file, 176, &wrong);
                let judge = deep(&damaged);
                let is_unfinished = (at, value) == (7, 0);
                assert_eq!(judge.has_lost_magic(), !is_unfinished, "{wrong:?}");
                let (basis, seen) = match is_unfinished {
                    true => (Basis::Plain, &damaged),
                    false => (Basis::Committed(number), &file),
                };
                assert_whole(&judge, basis, seen);
            }
        }
        for front in 0..8 {
            let unfinished = with(&file, 176 + front, &[0; 8][front..]);
            let judge = deep(&unfinished);
            assert!(!judge.has_lost_magic(), "{front}");
            assert_whole(&judge, Basis::Plain, &unfinished);
        }
        // with another wrong byte there is nothing that says it was a record
        let other = flipped(&with(&file, 176, b"S"), MAGIC + 72, 1);
        assert_whole(&deep(&other), Basis::Plain, &other);
    }
}

#[test]
fn a_torn_header_is_told_with_what_gsd_sees_of_it() {
    let files = five();
    for (number, two) in (1_u32..).zip(files.windows(2)) {
        let [old, new] = [&two[0], &two[1]].map(|file| bytes_of_image(file));
        for cut in 0..=Image::LEN {
            let mixed = [&new[..cut], &old[cut..]].concat();
            if mixed == old || mixed == new {
                continue;
            }
            let judge = deep(&with_image(&two[1], &mixed));
            assert_eq!(judge.basis(), Basis::Torn(number), "{cut}");
            assert_eq!(judge.torn(), Some(mixed[..40] == new[..40]), "{cut}");
            assert_eq!((judge.damage(), judge.restored()), (None, None), "{cut}");
            assert_eq!(judge.image().as_bytes(), new, "{cut}");
            assert_eq!(judge.record().unwrap().sequence, number, "{cut}");
        }
    }
}

/// "The image of a shadow from which it differs least."
#[test]
fn a_damaged_header_is_the_image_of_a_shadow_that_it_differs_least_from() {
    let is_mixed = |file: &[u8], damaged: &[u8]| {
        let both = image(file).commit.shadow.get() as usize;
        [both, both + 256].iter().any(|&at| {
            let found = bytes_of_image(damaged);
            let (old, new) = (&file[at + 8..][..120], &file[at + 128..][..120]);
            (0..=120).any(|cut| [&new[..cut], &old[cut..]].concat() == found)
        })
    };
    for (file, _) in sound() {
        for at in covered() {
            for bits in [1, 0x10, 0x80, 0xFF] {
                let damaged = flipped(&file, at, bits);
                if !is_mixed(&file, &damaged) {
                    let case = format!("byte {at}, bits {bits:#x}");
                    assert_mended(&deep(&damaged), Damage::Shadow, &file, &case);
                }
            }
        }
    }
    // Before the header of a commit is written, its shadow is there.
    for two in five().windows(2) {
        let older = with_image(&two[1], &bytes_of_image(&two[0]));
        for at in covered() {
            let damaged = flipped(&older, at, 0x80);
            if !is_mixed(&two[1], &damaged) {
                let case = format!("byte {at} before the header of its commit");
                assert_mended(&deep(&damaged), Damage::Shadow, &two[0], &case);
            }
        }
    }
}

/// If the write of a shadow was lost, an earlier one is still there. The later of the two counts.
#[test]
fn the_later_shadow_counts_however_many_commits_are_between_the_two() {
    let files = five();
    for (older, number) in [(1, 4), (2, 5)] {
        let [earlier, file] = [&files[older], &files[number]];
        let at = 512 + 256 * (older % 2);
        let file = with(file, at, &earlier[at..at + 256]);
        assert_whole(&deep(&file), Basis::Committed(number as u32), &file);
        let damaged = flipped(&file, MAGIC + 72, 1);
        let case = format!("shadows of {older} and {number}");
        assert_mended(&deep(&damaged), Damage::Shadow, &file, &case);
    }
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

/// "The record with one bit corrected, if commit_crc identifies the bit."
#[test]
fn without_a_shadow_one_wrong_bit_is_corrected_and_two_are_not() {
    for (file, _) in sound() {
        let file = without_shadows(&file);
        for at in covered() {
            for bit in 0..8 {
                let damaged = flipped(&file, at, 1 << bit);
                let case = format!("byte {at}, bit {bit}");
                if is_moved(&damaged) {
                    assert_whole(&deep(&damaged), Basis::Appended, &damaged);
                } else {
                    assert_mended(&deep(&damaged), Damage::Bit, &file, &case);
                }
            }
            let damaged = flipped(&file, at, 0x11);
            if !is_moved(&damaged) {
                assert_lost(&damaged, &format!("two bits of byte {at}"));
            }
        }
    }
}

#[test]
fn nothing_after_the_end_of_a_file_is_read() {
    for (file, number) in sound() {
        let damaged = flipped(&without_shadows(&file), MAGIC + 72, 0x11);
        for len in [256, 511, 512, 767, 768, 1023] {
            assert_lost(&damaged[..len], &format!("{len} bytes"));
            // a record of which only the file's length is wrong is right to who reports that
            assert_whole(&deep(&file[..len]), Basis::Committed(number), &file);
        }
        // more slots are shown, and there are no bytes of them
        let entries = image(&file).commit.entries.get();
        let shown = signed(with(&file, 16, &(entries + 3).to_le_bytes()));
        let end = image(&file).index_location.get() + 32 * entries;
        let cut = &shown[..end as usize + 31];
        let cut = without_shadows(cut);
        assert_whole(&deep(&cut), Basis::Committed(number), &cut);
        // shadows are said to be where they cannot be
        for place in [0, 255, file.len() as u64 - 511, u64::MAX] {
            let file = signed(with(&file, 176 + 32, &place.to_le_bytes()));
            assert_whole(&deep(&file), Basis::Committed(number), &file);
        }
    }
}

/// "Unless the later shadow has an `old` of a later commit, which no crash leaves: then that
/// `old`."
#[test]
fn a_header_that_is_older_than_what_its_shadows_replaced_is_damage() {
    let files = five();
    for (number, file) in files.iter().enumerate().skip(1) {
        for (older, before) in files[..number].iter().enumerate() {
            let stale = with_image(file, &bytes_of_image(before));
            let judge = deep(&stale);
            let case = format!("header {older} in file {number}");
            if older + 1 == number {
                assert_whole(&judge, Basis::Committed(older as u32), before);
            } else {
                assert_mended(&judge, Damage::Shadow, &files[number - 1], &case);
            }
        }
    }
}

/// "The number of this commit, modulo 2^32."
#[test]
fn of_two_shadows_the_later_one_counts_when_numbers_begin_again() {
    let files = five();
    for first in [u32::MAX - 3, u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, (1 << 31) - 1] {
        // The images of commits 2 to 4 with other numbers.
        let numbered = |index: usize| {
            let number = first.wrapping_add(index as u32);
            signed(with(&files[2 + index], 176 + 48, &number.to_le_bytes()))
        };
        let images = [0, 1, 2].map(|index| image(&numbered(index)));
        let mut file = numbered(2);
        for two in images.windows(2) {
            let shadow = Shadow::of(&two[0], &two[1], 0, striae_core::integrity::crc32c);
            let at = Shadow::offset_of(512, two[1].commit.sequence.get()) as usize;
            file = with(&file, at, shadow.as_bytes());
        }
        let last = first.wrapping_add(2);
        assert_whole(&deep(&file), Basis::Committed(last), &file);
        let damaged = flipped(&file, MAGIC + 72, 1);
        assert_mended(&deep(&damaged), Damage::Shadow, &file, &format!("damaged {last}"));
        let before = with_image(&file, images[0].as_bytes());
        let right = with_image(&file, images[1].as_bytes());
        assert_mended(&deep(&before), Damage::Shadow, &right, &format!("older than {last}"));
    }
}

/// As gsd appends to a file whose index is full: the block moves to the end of the file.
fn appended(file: &[u8]) -> Vec<u8> {
    let old = image(file);
    let (start, count) = (old.index_location.get() as usize, old.index_allocated_entries.get());
    let slots = 2 * count;
    let moved = with(file, 8, &(file.len() as u64).to_le_bytes());
    let mut bytes = with(&moved, 16, &slots.to_le_bytes());
    bytes.extend_from_slice(&file[start..][..32 * count as usize]);
    bytes.resize(file.len() + 32 * slots as usize, 0);
    bytes
}

/// "The header without its record, if its blocks are where only gsd can have put them after `old`
/// or `new` of a shadow."
#[test]
fn a_wrong_bit_in_a_record_that_gsd_made_stale_leaves_the_rest_of_the_header() {
    for (file, _) in sound() {
        let right = appended(&file);
        assert_whole(&deep(&right), Basis::Appended, &right);
        assert_eq!(deep(&right).record(), None);
        for at in covered().filter(|&at| at >= MAGIC) {
            let damaged = flipped(&right, at, 0x80);
            let judge = deep(&damaged);
            if judge.basis() == Basis::Appended {
                continue; // a record that was half written is none that is damaged
            }
            assert_eq!(judge.damage(), Some(Damage::Shadow), "{at}");
            assert_eq!((judge.state(), judge.record()), (State::Plain, None), "{at}");
            assert_eq!(judge.image().as_bytes(), image(&damaged).as_bytes(), "{at}");
            assert_eq!(judge.restored().unwrap().as_bytes(), image(&right).as_bytes(), "{at}");
        }
    }
}

/// "Neither shadow has that magic and crc": if they cannot be where the record says, it is none
/// that gsd has made stale.
#[test]
fn without_a_shadow_opening_and_the_judge_agree_on_what_gsd_has_appended() {
    for (file, number) in sound() {
        let file = without_shadows(&appended(&file));
        let len = file.len() as u64;
        for place in [0, 255, 256, 512, len - 512, len - 511, u64::MAX] {
            let case = format!("{place} of commit {number}");
            let file = with(&file, 176 + 32, &place.to_le_bytes());
            let opened = Reader::open(&file[..], &mut [0; 256]);
            if (256..=len - 512).contains(&place) {
                assert_eq!(opened.expect(&case).head().state, State::Appended, "{case}");
                assert_whole(&deep(&file), Basis::Appended, &file);
                continue;
            }
            let Err(DriveError::Format(Error::Checksum { offset: 252, .. })) = opened else {
                panic!("{case}: {opened:?}");
            };
            assert_lost(&file, &case);
        }
    }
}

/// "If its crc is right, its `old` is that header, and the bytes have that checksum, then that
/// commit was made."
#[test]
fn a_commit_of_one_sync_is_ahead_of_its_header_or_was_not_made() {
    let about = Attributes { one_sync: true, ..Attributes::DEFAULT };
    let files = history(&about, 5);
    for (number, two) in (1..).zip(files.windows(2)).skip(1) {
        let ahead = with_image(&two[1], &bytes_of_image(&two[0]));
        assert_whole(&deep(&ahead), Basis::Ahead(number), &two[1]);
    }
}
