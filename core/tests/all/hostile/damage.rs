//! Damage that SIONlib 1.7.6 does not survive, or does not notice.

use super::*;

fn assert_refused(bytes: &[u8], error: Error, text: &str) {
    assert_eq!(first_error(bytes), Some(error));
    assert_eq!(error.to_string(), text);
}

#[test]
fn headers_that_crash_sionlib_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    assert_refused(
        &file.with_i32(20, 0), // SIGFPE
        Error::TooSmall { field: Meta1::fsblksize, offset: 20, value: 0, min: 1 },
        "META1.fsblksize at offset 20 is 0, must be at least 1",
    );
    assert_refused(
        &file.with_i64(7680, 1_000_000), // SIGSEGV
        Error::TooLarge {
            field: BlockcountEntry::blockcount,
            offset: 7680,
            value: 1_000_000,
            max: 3,
        },
        "META2.blockcount at offset 7680 is 1000000, must be at most 3",
    );
    assert_refused(
        &file.with_i32(24, i32::MAX), // more than 20 s
        Error::Cut {
            field: GlobalrankEntry::globalrank,
            offset: 1076,
            count: 2_147_483_647,
            file_len: 7780,
        },
        "META1.globalrank at offset 1076 needs 2147483647 times 8 bytes, but the file ends at 7780",
    );
    assert_refused(
        &file.with_i32(1124, i32::MAX), // more than 20 s
        Error::Cut {
            field: BlocksizeEntry::blocksize,
            offset: 7704,
            count: 6_442_450_941,
            file_len: 7780,
        },
        "META2.blocksize at offset 7704 needs 6442450941 times 8 bytes, but the file ends at 7780",
    );
    assert_refused(
        &file.with_i64(1100, -512), // sionsplit does not end
        Error::TooSmall { field: ChunksizeEntry::chunksize, offset: 1100, value: -512, min: 0 },
        "META1.chunksize at offset 1100 is -512, must be at least 0",
    );
}

#[test]
fn headers_that_sionlib_believes_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    let (field, value) = (CommitFields::start_of_varheader, 1 << 60);
    assert_refused(
        &file.with_i64(1128, value), // all sizes 0
        Error::TooLarge { field, offset: 1128, value, max: 7780 },
        "META1.start_of_varheader at offset 1128 is 1152921504606846976, must be at most 7780",
    );
    let field = BlocksizeEntry::blocksize;
    assert_refused(
        &file.with_i64(7704, -9),
        Error::TooSmall { field, offset: 7704, value: -9, min: 0 },
        "META2.blocksize at offset 7704 is -9, must be at least 0",
    );
    assert_refused(
        &file.with_i64(7704, 1 << 50),
        Error::TooLarge { field, offset: 7704, value: 1 << 50, max: 512 },
        "META2.blocksize at offset 7704 is 1125899906842624, must be at most 512",
    );
    // nfiles 3, filenumber 1: one file of a set that is not there
    let bytes = file.with_i32(28, 3);
    let Opened::Closed(alone) = open(&bytes) else { panic!("not closed") };
    let error = Reader::of_set([alone]).unwrap_err();
    assert_eq!(error, Error::SetOf { given: 1, nfiles: 3 });
    assert_eq!(error.to_string(), "1 physical files given, the set has 3");
    assert_eq!(read_within_budget(&bytes), Ok(file.whole()));
}

#[test]
fn other_files_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    for version in [1, 6, 9, 0, -1] {
        assert_refused(
            &file.with_i32(16, version),
            Error::FormatVersion { fileformat_version: version },
            &format!("META1.fileformat_version at offset 16 is {version}, must be 2, 3, 4 or 5"),
        );
    }
    assert_refused(
        &file.with_i32(8, 2000),
        Error::Sionlib2 { version: 2000 },
        "META1.version at offset 8 is 2000: the file was written by SIONlib 2 in another layout, \
         must be at most 1999",
    );
    assert_refused(
        &[0; 4096],
        Error::NotSion { magic: [0; 4] },
        r#"META1.magic at offset 0 is "\x00\x00\x00\x00", must be "sion""#,
    );
    assert_refused(
        b"SION",
        Error::NotSion { magic: *b"SION" },
        r#"META1.magic at offset 0 is "SION", must be "sion""#,
    );
    // SIONlib swaps by the first byte; a big-endian version in a file that says little is 5 << 24
    let swapped = file.with_i32(16, 0x0500_0000);
    let error = Error::FormatVersion { fileformat_version: 0x0500_0000 };
    assert_eq!(first_error(&swapped), Some(error));
}

#[test]
fn an_empty_file_and_a_bare_magic_are_cut() {
    let cut = |field, offset, file_len| Error::Cut { field, offset, count: 1, file_len };
    let text = "META1.magic at offset 0 needs 4 bytes, but the file ends at 0";
    assert_refused(b"", cut(Ident::magic, 0, 0), text);
    let text = "META1.magic at offset 0 needs 4 bytes, but the file ends at 3";
    assert_refused(b"sio", cut(Ident::magic, 0, 3), text);
    assert_refused(
        b"six",
        Error::NotSion { magic: *b"six\0" },
        r#"META1.magic at offset 0 is "six\x00", must be "sion""#,
    );
    let text = "META1.endianness at offset 4 needs 4 bytes, but the file ends at 4";
    assert_refused(b"sion", cut(Ident::endianness, 4, 4), text);
}

#[test]
fn a_meta2_of_zeros_is_not_taken_for_empty_streams() {
    // SIONlib writes the commit fields before META2, so a crash in between leaves a hole there
    let file = specimens().swap_remove(0);
    let bytes = file.with(7680, &[0; 96]);
    let field = BlockcountEntry::blockcount;
    assert_refused(
        &bytes,
        Error::TooSmall { field, offset: 7680, value: 0, min: 1 },
        "META2.blockcount at offset 7680 is 0, must be at least 1",
    );
}
