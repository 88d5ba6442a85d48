//! Every prefix of a file.

use super::*;

/// What is cut if only the first `len` bytes of `file` are there; `None` if it reads as unclosed.
fn cut_at(file: &Specimen, len: u64) -> Option<Error> {
    let n = file.ntasks;
    let head: [(FieldId, u64, u64); 9] = [
        (Ident::magic, 0, 4),
        (Ident::endianness, 4, 4),
        (Ident::version, 8, 4),
        (Ident::patchlevel, 12, 4),
        (Ident::fileformat_version, 16, 4),
        (Meta1::fsblksize, 20, 4),
        (Meta1::ntasks, 24, 4),
        (Meta1::nfiles, 28, 4),
        (Meta1::filenumber, 32, 4),
    ];
    let mut fields: Vec<_> = head.map(|(field, at, size)| (field, at, size, 1)).into();
    if file.version == 2 {
        for (field, v2) in
            fields[5..].iter_mut().zip([Meta1V2::fsblksize, Meta1V2::ntasks, Meta1V2::nfiles])
        {
            field.0 = v2;
        }
        fields.pop();
        fields.push((Meta1V2::filenameprefix, 32, 1024, 1));
    } else {
        fields.push((Meta1::flag1, 36, 8, 1));
        fields.push((Meta1::flag2, 44, 8, 1));
        fields.push((Meta1::filenameprefix, 52, 1024, 1));
    }
    fields.push((GlobalrankEntry::globalrank, file.tables(), 8, n));
    fields.push((ChunksizeEntry::chunksize, file.tables() + 8 * n, 8, n));
    let cut = |&(field, offset, size, count): &(FieldId, u64, u64, u64)| {
        (len < offset + size * count).then_some(Error::Cut { field, offset, count, file_len: len })
    };
    if let Some(error) = fields.iter().find_map(cut) {
        return Some(error);
    }
    if len < file.commit() + 12 {
        return None;
    }
    if len < file.varheader {
        let value = i64::try_from(file.varheader).unwrap();
        let field = CommitFields::start_of_varheader;
        let max = i64::try_from(len).unwrap();
        return Some(Error::TooLarge { field, offset: file.commit() + 4, value, max });
    }
    let blocksizes = file.varheader + 8 * n;
    let mut fields = vec![
        (BlockcountEntry::blockcount, file.varheader, 8, n),
        (BlocksizeEntry::blocksize, blocksizes, 8, n * file.maxchunks),
    ];
    if let Some(entries) = file.mapping {
        fields.push((MappingSize::mapping_size, file.meta2_end(), 4, 1));
        fields.push((MappingEntry::filenumber, file.meta2_end() + 4, 8, entries));
    }
    Some(fields.iter().find_map(cut).unwrap_or(Error::NoKeyval)) // NoKeyval: nothing is cut
}

#[test]
fn every_prefix_of_a_file_names_the_field_that_is_cut() {
    for file in specimens() {
        let whole = file.whole();
        for len in 0..file.bytes.len() {
            let read = read_within_budget(&file.bytes[..len]);
            let expected = cut_at(&file, u64::try_from(len).unwrap());
            let (name, len) = (file.name, len);
            match (read, expected) {
                (Ok(summary), None) => assert!(!summary.closed, "{name} cut at {len}"),
                (Err(error), Some(expected)) => assert_eq!(error, expected, "{name} cut at {len}"),
                (Ok(summary), Some(Error::NoKeyval)) => assert_eq!(summary, whole, "{name} {len}"),
                (Ok(summary), Some(expected)) => {
                    // only the mapping is cut
                    assert_eq!(summary.mapping, Err(expected), "{name} cut at {len}");
                    assert_eq!(summary.tasks, whole.tasks, "{name} cut at {len}");
                }
                (Err(error), None) => panic!("{name} cut at {len}: {error}"),
            }
        }
    }
}

#[test]
fn an_unclosed_file_keeps_its_tasks_until_the_tables_are_cut() {
    for name in ["s19_unclosed_flushed", "s21_unclosed_keyval"] {
        let bytes = golden(name);
        let whole = read_within_budget(&bytes).unwrap();
        let tables_end = 1076 + 16 * whole.tasks.as_ref().unwrap().len();
        for len in 0..bytes.len() {
            match read_within_budget(&bytes[..len]) {
                Ok(summary) => assert!(len >= tables_end && summary == whole, "{name} {len}"),
                Err(error) => {
                    assert!(matches!(error, Error::Cut { .. }) && len < tables_end, "{error}");
                }
            }
        }
    }
}

#[test]
fn cut_data_is_refused_for_the_task_that_loses_bytes() {
    // META2 moved behind META1, so that the data can be cut: task 2 of s02 ends last, at 7356
    let mut file = specimens().swap_remove(0);
    let meta2 = file.bytes.split_off(7680);
    file.bytes[1136..][..96].copy_from_slice(&meta2[..96]);
    let bytes = file.with_i64(1128, 1136);
    let whole = read_within_budget(&bytes).unwrap();
    assert_eq!(whole.stream(2).unwrap().len(), 2424);
    assert_eq!(whole.stream(2), specimens()[0].whole().stream(2));
    assert_eq!(first_error(&bytes[..7356]), None);
    let field = BlocksizeEntry::blocksize;
    let offset = 1136 + 24 + 2 * 24 + 16;
    let cut = Error::TooLarge { field, offset, value: 700, max: 699 };
    assert_eq!(first_error(&bytes[..7355]), Some(cut));
    let gone = Error::TooLarge { field, offset, value: 700, max: 0 };
    assert_eq!(first_error(&bytes[..6000]), Some(gone));
    let rest = read_within_budget(&bytes[..7355]).unwrap();
    assert_eq!((rest.stream(0), rest.stream(1)), (whole.stream(0), whole.stream(1)));
    assert_eq!(rest.stream(2), None);
}
