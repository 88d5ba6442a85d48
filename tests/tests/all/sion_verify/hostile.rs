//! Any bytes are verified: nothing panics, and what can be found is.

use super::*;

/// Bits of s02 that no reader can know to be wrong, by field, and why.
fn undetectable() -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        // 1007 becomes 1006, 1005, 1003 or 1023; all other bits leave 1000 to 1999.
        ("version", 4),
        ("patchlevel", 32),
        // 5 becomes 4, in which the same bytes mean the same.
        ("fileformat_version", 1),
        // 512 becomes 768 or 1536: 1136 rounds up to 1536 in either case.
        ("fsblksize", 2),
        // Each bit of the 32 letters, none of which has a single bit, and the NUL behind them: the
        // name is longer by a letter then.
        ("filenameprefix", 33 * 8),
        // Any value, but 10 and 42 differ in one bit: both flips give a rank twice.
        ("globalrank", 3 * 64 - 2),
        // Tasks 0 and 1 have 1; 3 is at most maxchunks, and the chunks more are empty.
        ("blockcount", 2),
        // 350 of 512 becomes another number below 512 by bits 0 to 8; 0 of 512 takes bits 0 to 9;
        // 1024 of 1024 becomes 0; 700 of 1024, twice, becomes another number below 1024 by bits 0
        // to 9.
        ("blocksize", 9 + 10 + 1 + 10 + 10),
    ])
}

/// The field of s02 that the byte at `offset` belongs to.
fn field_of_s02(offset: u64) -> &'static str {
    let fixed = Meta1::FIELDS.iter().chain(Ident::FIELDS).rev().filter(|f| f.name != "ident");
    let is_at = |field: &&striae_core::field::Field| {
        let start = u64::from(field.offset);
        (start..start + u64::from(field.size)).contains(&offset)
    };
    match offset {
        0..1076 if offset < 20 => Ident::FIELDS.iter().find(is_at).unwrap().name,
        0..1076 => fixed.into_iter().find(is_at).unwrap().name,
        1076..1100 => "globalrank",
        1100..1124 => "chunksize",
        1124..1128 => "maxchunks",
        1128..1136 => "start_of_varheader",
        7680..7704 => "blockcount",
        7704..7776 => "blocksize",
        _ => "mapping_size",
    }
}

#[test]
fn every_flipped_bit_of_metadata_is_found_unless_it_makes_another_sound_file() {
    let copy = Copy::of(S02);
    let bytes = fs::read(copy.path()).unwrap();
    let mut unseen = BTreeMap::new();
    for offset in (0..1136).chain(7680..7780) {
        let byte = bytes[usize::try_from(offset).unwrap()];
        for bit in 0..8 {
            copy.put(0, offset, &[byte ^ (1 << bit)]);
            let findings = copy.found();
            let mut lines = 0;
            let _refused_or_not = dump(&copy.path(), &mut |_| {
                lines += 1;
                Ok(())
            });
            assert!(lines >= 5, "byte {offset} bit {bit}"); // all of Ident, whatever it says
            if findings.is_empty() {
                *unseen.entry(field_of_s02(offset)).or_insert(0) += 1;
            }
        }
        copy.put(0, offset, &[byte]);
    }
    assert_eq!(unseen, undetectable());
    assert_eq!(unseen.values().sum::<usize>(), 535);
}

/// In a set, too, nothing panics, and each flip of a mapping is found.
#[test]
fn every_flipped_bit_of_a_mapping_is_found() {
    let copy = Copy::of(M05);
    let bytes = fs::read(copy.path()).unwrap();
    for offset in 3632..3700 {
        let byte = bytes[usize::try_from(offset).unwrap()];
        for bit in 0..8 {
            copy.put(0, offset, &[byte ^ (1 << bit)]);
            assert_ne!(copy.found(), [], "byte {offset} bit {bit}");
        }
        copy.put(0, offset, &[byte]);
    }
}

#[test]
fn no_field_at_its_extremes_makes_it_panic_or_run_on() {
    let names = [S02, M05, "s17_keyval_straddle.sion", "p01_mapped_np2_6tasks_2files.sion"];
    for name in names {
        let copy = Copy::of(name);
        let bytes = fs::read(copy.path()).unwrap();
        let mut places = Vec::new();
        let collect = &mut |line| {
            if let Line::Field { offset, len, .. } = line {
                places.push((usize::try_from(offset).unwrap(), usize::try_from(len).unwrap()));
            }
            Ok(())
        };
        dump(&copy.path(), collect).unwrap();
        let is_integer = |(_, len): &(usize, usize)| *len <= 8;
        for (offset, len) in places.into_iter().filter(is_integer) {
            let sign = |byte: u8| [vec![!byte; len - 1], vec![byte]].concat();
            let one = [vec![1], vec![0; len - 1]].concat();
            for value in [vec![0; len], vec![255; len], one, sign(127), sign(128), sign(0)] {
                copy.put(0, offset as u64, &value);
                let _findings = copy.found();
                let _refused_or_not = dump(&copy.path(), &mut |_| Ok(()));
            }
            copy.put(0, offset as u64, &bytes[offset..offset + len]);
        }
        assert_eq!(copy.found(), []); // all was put back
    }
}

/// Bytes of no meaning behind a right start get further than bytes of no meaning at all.
#[test]
fn no_bytes_make_it_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    for name in [S02, M05, "s17_keyval_straddle.sion"] {
        let copy = Copy::of(name);
        let bytes = fs::read(copy.path()).unwrap();
        let tables: Vec<_> =
            (0..52).chain(1076..1200).chain(bytes.len() - 160..bytes.len()).collect();
        for _ in 0..1000 {
            let mut bytes = bytes.clone();
            for _ in 0..=random(4) {
                bytes[tables[random(tables.len())]] = u8::try_from(random(256)).unwrap();
            }
            copy.put(0, 0, &bytes);
            let _findings = copy.found();
            let _refused_or_not = dump(&copy.path(), &mut |_| Ok(()));
        }
    }
}

#[test]
fn every_prefix_of_a_file_is_damaged_until_only_what_nobody_reads_is_cut() {
    for name in [S02, "s16_keyval_simple.sion", "m11_np4_buddy.sion"] {
        let copy = Copy::of(name);
        let whole = fs::metadata(copy.path()).unwrap().len();
        for len in (0..whole).rev() {
            let findings = copy.cut(0, len).found();
            let is_serial = name.starts_with('s');
            let is_read = if is_serial { len < whole - 4 } else { len < whole };
            let worst = findings.iter().map(|finding| finding.severity).max();
            let expected = if is_read { Severity::Damage } else { Severity::Note };
            assert_eq!(worst, Some(expected), "{name} cut to {len}: {:?}", copy.lines());
        }
    }
}

/// Tables of so many tasks that global ranks are not compared, and hardly a byte on the disk.
#[test]
fn a_sparse_file_of_very_many_tasks_is_checked_entry_by_entry() {
    let copy = Copy::of(S02);
    let ntasks = MAX_COMPARED_RANKS + 1;
    let start = 1088 + 16 * ntasks;
    copy.cut(0, 1076).put(0, 20, &i32_le(1)).put(0, 24, &i32_le(ntasks.try_into().unwrap()));
    copy.put(0, 1076 + 16 * ntasks, &i32_le(1)).put(0, 1080 + 16 * ntasks, &i64_le(start as i64));
    copy.cut(0, start + 16 * ntasks + 4);
    let (mut wrong, mut other) = (0, Vec::new());
    let summary = Verify::new().sion(copy.path(), &mut |finding| match finding.what {
        FindingKind::Wrong(Error::TooSmall { field: BlockcountEntry::blockcount, .. }) => {
            wrong += 1
        }
        what => other.push(what),
    });
    assert_eq!(summary.unwrap().tasks, ntasks);
    assert_eq!(wrong, ntasks); // each blockcount is 0
    assert_eq!(other, [FindingKind::TooManyTasks { ntasks, limit: MAX_COMPARED_RANKS }]);
}
