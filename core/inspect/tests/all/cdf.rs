//! Classic netCDF files.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Encode, Plan, Type, VarDef, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::blob::map::{is_netcdf as is_netcdf_map, is_text};
use striae_inspect::cdf::recover::{Certainty, Doubt, Records, Recovery};
use striae_inspect::cdf::{FindingKind, Header, OwnedValues, dump, verify};
use striae_inspect::certainty::Word;
use striae_inspect::dump::Line;
use striae_inspect::finding::Found as _;
use striae_inspect::subject::Subject;
use striae_kit::cdf_verifying::cdf_verify;
use striae_kit::hosts::stride;
use striae_kit::map_making::made_of_map;

/// Names and contents of the golden files.
fn golden() -> Vec<(String, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cdf");
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "nc"));
    let read = |path: PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    };
    let files: Vec<_> = files.map(read).collect();
    assert!(files.len() > 20);
    files
}

fn golden_file(name: &str) -> Vec<u8> {
    golden().into_iter().find(|(other, _)| other == name).unwrap().1
}

fn kinds(data: &[u8]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    verify(&data, &mut |what: FindingKind| kinds.push(what.facts().kind)).unwrap();
    kinds
}

fn saved(data: &[u8]) -> (Recovery, Vec<u8>) {
    let recovery = Recovery::examine(data).unwrap();
    let mut new = vec![0; usize::try_from(recovery.bytes()).unwrap()];
    recovery.save(data, &mut &mut new[..], &mut |_| ()).unwrap();
    (recovery, new)
}

#[test]
fn golden_files_are_sound_and_only_the_empty_ones_are_too_long() {
    for (name, data) in golden() {
        let expected: &[&str] = if name.ends_with("_empty") { &["tail"] } else { &[] };
        assert_eq!(kinds(&data), expected, "{name}");
        cdf_verify(&data);
    }
}

#[test]
fn any_prefix_obeys_the_laws() {
    for (_, data) in golden() {
        let head = Header::read(&data[..]).unwrap().head().header_len;
        let most = data.len().min(usize::try_from(head).unwrap() + 600);
        for len in (0..most).step_by(stride(7)) {
            cdf_verify(&data[..len]);
        }
    }
}

#[test]
fn any_wrong_bit_of_a_header_obeys_the_laws() {
    for (name, data) in golden() {
        if name.contains("alltypes") {
            continue; // long, and of the same parts
        }
        let head = Header::read(&data[..]).unwrap().head().header_len;
        // On a slow host a bit of every byte, each of the eight in turn.
        for bit in (0..usize::try_from(head).unwrap() * 8).step_by(stride(7)) {
            let mut wrong = data.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            cdf_verify(&wrong);
        }
    }
}

#[test]
fn each_rule_has_its_finding() {
    let data = golden_file("cdf1_pn_default");
    let header = Header::read(&data[..]).unwrap();
    let changed = |at: u64, bytes: &[u8]| {
        let (mut new, at) = (data.clone(), usize::try_from(at).unwrap());
        new[at..at + bytes.len()].copy_from_slice(bytes);
        kinds(&new)
    };
    assert_eq!(changed(0, b"XDF"), ["not_cdf"]);
    assert_eq!(changed(8, &[0, 0, 0, 11]), ["tag"]);
    assert_eq!(changed(4, &[0xff; 4]), ["streaming"]);
    assert_eq!(changed(4, &[0, 0, 0, 4]), ["too_large"]);
    assert_eq!(changed(4, &[0, 0, 0, 2]), ["tail"]);
    let mut at = 20; // after the start, the start of the list, and the length of the name
    let mut padded = 0;
    for dim in header.dims() {
        let len = dim.name.len() as u64;
        if !len.is_multiple_of(4) {
            assert_eq!(changed(at + len, b"x"), ["padding"]);
            padded += 1;
        }
        at += len.next_multiple_of(4) + 8;
    }
    assert!(padded > 0);
    let at = 20;
    assert_eq!(changed(at, b"/"), ["name"]);
    assert_eq!(changed(at, &[0xff]), ["not_utf8"]);
    let longer = [&data[..], &[0; 100]].concat();
    assert_eq!(kinds(&longer), ["tail"]);
    assert_eq!(kinds(&data[..data.len() - 40]), ["too_large"]);
    for variable in header.variables() {
        let begin_at = variable_begin(header.bytes(), variable.begin());
        let vsize_at = begin_at - 4;
        assert_eq!(changed(vsize_at, &[0, 0, 1, 1]), ["wrong_vsize"]);
        assert!(changed(begin_at, &[0; 4]).contains(&"too_small"));
        assert_eq!(changed(vsize_at - 4, &[0, 0, 0, 7]), ["no_type"]);
    }
    let last = header.variables().filter(|variable| variable.is_record()).last().unwrap();
    let begin = u32::try_from(last.begin()).unwrap() + 12;
    let at = variable_begin(header.bytes(), last.begin());
    assert_eq!(changed(at, &begin.to_be_bytes()), ["too_large", "overlap"]);
}

/// The offset of the field with this begin, in CDF-1.
fn variable_begin(header: &[u8], begin: u64) -> u64 {
    let wanted = u32::try_from(begin).unwrap().to_be_bytes();
    let found = header.chunks_exact(4).rposition(|part| part == wanted);
    4 * found.unwrap() as u64
}

#[test]
fn lost_numbers_of_records_are_found_again() {
    for (name, data) in golden() {
        let header = Header::read(&data[..]).unwrap();
        let records = header.numrecs();
        if header.whole_records() != records || records == 0 {
            continue;
        }
        let len = header.version().non_neg_len();
        for lost in
            [vec![0xff; usize::try_from(len).unwrap()], vec![0; usize::try_from(len).unwrap()]]
        {
            let mut wrong = data.clone();
            wrong[4..4 + lost.len()].copy_from_slice(&lost);
            let (recovery, new) = saved(&wrong);
            let claimed = Some(0).filter(|_| lost[0] == 0);
            assert_eq!(recovery.records(), Records { claimed, saved: records }, "{name}");
            assert_eq!(recovery.tally().is_sound(), claimed.is_none());
            assert_eq!(new[..64], data[..64], "{name}");
        }
        let mut wrong = data.clone();
        wrong[7] ^= 0x40; // of the number in CDF-1 and CDF-2, and a part of it in CDF-5
        let (recovery, _) = saved(&wrong);
        assert_eq!(recovery.records().saved, records, "{name}");
        assert!(!recovery.tally().is_sound());
    }
}

#[test]
fn records_that_the_header_does_not_count_are_named() {
    let mut files = 0;
    for (name, mut data) in golden() {
        let header = Header::read(&data[..]).unwrap();
        let records = header.numrecs();
        let begins = header.variables().filter(|one| one.is_record()).map(|one| one.begin());
        let (Some(first), 1..) = (begins.min(), records) else { continue };
        assert_eq!(saved(&data).0.rest(), None, "{name}");
        let last = first + (records - 1) * header.head().recsize;
        let last_bytes = &data[usize::try_from(last).unwrap()..];
        let Some(used) = last_bytes.iter().position(|&byte| byte != 0) else { continue };
        // Of 0 records a part of one, for a whole one is saved then.
        if records == 1 && header.head().recsize > used as u64 + 1 {
            data.truncate(usize::try_from(last).unwrap() + used + 1);
        }
        data[3 + usize::try_from(header.version().non_neg_len()).unwrap()] = records as u8 - 1;
        let recovery = saved(&data).0;
        assert_eq!(recovery.rest().map(|rest| rest.offset()), Some(last), "{name}");
        assert!(!recovery.tally().is_sound(), "{name}");
        files += 1;
    }
    assert!(files > 5, "{files}");
}

#[test]
fn variables_before_a_cut_of_the_header_are_saved() {
    for (name, data) in golden() {
        let header = Header::read(&data[..]).unwrap();
        let mut most = 0;
        for len in 0..usize::try_from(header.head().header_len).unwrap() {
            let Ok(recovery) = Recovery::examine(&data[..len]) else { continue };
            assert!(!recovery.tally().is_sound(), "{name} {len}");
            let kept = recovery.header().variables().len();
            assert!(kept >= most, "{name} {len}");
            most = kept;
            let names = header.variables().map(|variable| variable.name());
            for (variable, name) in recovery.header().variables().zip(names) {
                assert_eq!(variable.name(), name);
            }
        }
        let all = header.variables().len();
        assert_eq!(most, all.saturating_sub(1), "{name}");
    }
}

#[test]
fn a_header_in_little_endian_is_that_of_the_big_endian_one() {
    let definition = Definition {
        dims: &[DimDef::record("time"), DimDef { name: "x", length: 3 }],
        attrs: &[AttrDef::new("title", "text"), AttrDef::new("n", &[1_i16, -2])],
        vars: &[
            (VarDef { name: "T", nc_type: Type::Float, dimids: &[0, 1] }, &[]),
            (VarDef { name: "u", nc_type: Type::Int64, dimids: &[1] }, &[]),
        ],
    };
    let plan = Plan::new(&definition, Version::Cdf5, Alignment::COMPACT).unwrap();
    let (mut bytes, mut window) = (vec![0; plan.header_len() as usize], [0; 512]);
    let encode = Encode::new(&definition, &plan, 2, &mut window).unwrap();
    encode.embedded(ByteOrder::Little).run(&mut &mut bytes[..]).unwrap();
    let header = Header::parse(&bytes, ByteOrder::Little).unwrap();
    assert_eq!((header.numrecs(), header.order()), (2, ByteOrder::Little));
    let shapes: Vec<_> = header.variables().map(|variable| variable.shape().to_vec()).collect();
    assert_eq!(shapes, [vec![2, 3], vec![3]]);
    assert_eq!(header.attribute("n").unwrap().values(), OwnedValues::Short(vec![1, -2]));
    assert_eq!(header.variable("T").unwrap().len(), 24);
    assert!(Header::parse(&bytes, ByteOrder::Big).is_err());
}

/// The offsets of the numbers that say how large a file is, and their lengths: the number of
/// records, the lengths of dimensions, and every `begin`.
fn claims(data: &[u8]) -> Vec<(usize, usize)> {
    let mut claims = Vec::new();
    dump(&data, &mut |line| {
        if let Line::Field { name, offset, len, .. } = line {
            let field = name.split('[').next().unwrap();
            if ["header.numrecs", "dim.length", "var.begin"].contains(&field) {
                claims.push((usize::try_from(offset).unwrap(), usize::try_from(len).unwrap()));
            }
        }
        Ok(())
    })
    .unwrap();
    claims
}

/// Files whose header claims more than it has, in each number on its own.
fn claiming(data: &[u8], each: &mut dyn FnMut(&[u8])) {
    const VALUES: [u64; 9] =
        [0, 1, 1000, 1 << 20, 400 << 20, 0x7fff_fffc, 0xffff_fff0, 1 << 40, (1 << 62) + 4];
    for (at, len) in claims(data) {
        for value in VALUES {
            let mut wrong = data.to_vec();
            wrong[at..at + len].copy_from_slice(&value.to_be_bytes()[8 - len..]);
            each(&wrong);
        }
    }
}

/// A file that counts how often it is read, and how many bytes.
struct Counted<'a>(&'a [u8], Cell<(u64, u64)>);

impl ReadAt for Counted<'_> {
    type Error = striae_core::store::FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let read = self.0.read_at(offset, buf)?;
        let (calls, bytes) = self.1.get();
        self.1.set((calls + 1, bytes + u64::try_from(read).unwrap()));
        Ok(read)
    }

    fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }
}

impl Subject for Counted<'_> {}

#[test]
fn what_is_recovered_is_as_large_as_the_input_justifies_whatever_the_header_claims() {
    let found = [
        &include_bytes!("../../../../tests/golden/cdf_damaged/min1_begin_400M.nc")[..],
        include_bytes!("../../../../tests/golden/cdf_damaged/min5_begin_2e40.nc"),
    ];
    for data in found {
        let (recovery, new) = saved(data);
        assert!(new.len() < data.len() + 8, "{recovery:?}");
        assert_eq!(recovery.tally().word(), Word::Lost);
        assert_eq!(kinds(&new), [""; 0]);
    }
    let mut cases = found.len();
    for (name, data) in golden() {
        claiming(&data, &mut |wrong| {
            let len = u64::try_from(wrong.len()).unwrap();
            let counted = Counted(wrong, Cell::default());
            let Ok(recovery) = Recovery::examine(&counted) else { return };
            assert!(recovery.bytes() <= 16 * len + 2 * len + (1 << 20), "{name}: {recovery:?}");
            let mut new = vec![0; usize::try_from(recovery.bytes()).unwrap()];
            let saved = recovery.save(&counted, &mut &mut new[..], &mut |_| ());
            assert!(saved.is_ok(), "{name}: {recovery:?}");
            let (calls, bytes) = counted.1.get();
            let variables = u64::try_from(recovery.variables().len()).unwrap();
            assert!(calls <= 16 + variables + len / 512, "{name}: {calls} reads");
            assert!(bytes <= 6 * len, "{name}: {bytes} of {len}");
            cases += 1;
        });
    }
    assert!(cases > 1000, "{cases}");
}

#[test]
fn what_is_recovered_is_sound_whatever_the_header_claims() {
    let mut cases = 0;
    for (name, data) in golden() {
        if name.contains("hdralign") {
            continue; // long, and of the same parts
        }
        claiming(&data, &mut |wrong| {
            cdf_verify(wrong);
            cases += 1;
        });
    }
    assert!(cases > 1000, "{cases}");
}

#[test]
fn a_variable_is_not_lost_for_the_place_of_another_one() {
    let data = golden_file("cdf5_pn_default");
    let header = Header::read(&data[..]).unwrap();
    let values = |data: &[u8], variable: &str| {
        let header = Header::read(data).unwrap();
        let variable = header.variable(variable).unwrap();
        let numbers = if variable.is_record() { 0..header.numrecs() } else { 0..1 };
        let record = |number| {
            let layout = variable.layout();
            let span = layout.record(number).unwrap_or(layout.first);
            data[usize::try_from(span.offset()).unwrap()..usize::try_from(span.end()).unwrap()]
                .to_vec()
        };
        numbers.flat_map(record).collect::<Vec<u8>>()
    };
    let begins = claims(&data).into_iter().rev().take(header.variables().len()).rev();
    for ((at, len), wrong_one) in begins.zip(header.variables()) {
        let mut wrong = data.clone();
        wrong[at..at + len].copy_from_slice(&(1_u64 << 40).to_be_bytes());
        let (recovery, new) = saved(&wrong);
        assert!(!recovery.tally().is_sound());
        for variable in header.variables() {
            // The others of a record say where a record variable is.
            if variable.name() != wrong_one.name() || variable.is_record() {
                let name = variable.name();
                assert_eq!(values(&new, name), values(&data, name), "{}", wrong_one.name());
            }
        }
    }
}

#[test]
fn a_header_whose_variables_are_gone_is_no_sound_file() {
    let data = include_bytes!("../../../../tests/golden/cdf_damaged/zeroed_var_list.nc");
    assert_eq!(kinds(data), ["no_records", "tail"]);
    let (recovery, new) = saved(data);
    assert_eq!(recovery.tally().word(), Word::Guess);
    assert!(recovery.rest().is_some());
    assert_eq!((new[4..8].to_vec(), kinds(&new)), (vec![0; 4], vec![]));
}

#[test]
fn records_that_overlap_are_a_guess_and_are_apart_in_the_new_file() {
    let data = golden_file("cdf1_pn_default");
    let header = Header::read(&data[..]).unwrap();
    let last = header.variables().filter(|variable| variable.is_record()).last().unwrap();
    let at = usize::try_from(variable_begin(header.bytes(), last.begin())).unwrap();
    let mut wrong = data.clone();
    let begin = u32::try_from(last.begin()).unwrap() + 12;
    wrong[at..at + 4].copy_from_slice(&begin.to_be_bytes());
    assert!(kinds(&wrong).contains(&"overlap"));
    let (recovery, new) = saved(&wrong);
    let word = recovery.variables().find(|(one, _)| one.name() == last.name()).unwrap().1;
    assert!(matches!(word, Certainty::Guess(Doubt::Begin { found, taken })
        if found == u64::from(begin) && taken == last.begin()));
    assert_eq!(kinds(&new), [""; 0]);
}

#[test]
fn no_reference_program_counts_records_that_no_variable_has() {
    let mut folders =
        vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/blob")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let data = fs::read(&path).unwrap();
            if data.starts_with(b"CDF") {
                assert!(!kinds(&data).contains(&"no_records"), "{path:?}");
                files += 1;
            }
        }
    }
    assert!(files > 10, "{files}");
}

/// The maps among the golden files.
fn maps() -> Vec<(PathBuf, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/map");
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let maps = paths.filter(|path| path.extension().is_some_and(|ending| ending != "md"));
    maps.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn what_is_written_of_a_map_is_sound_or_the_map_is_damaged() {
    let mut cases = 0;
    for (_, data) in maps() {
        for at in (0..data.len()).step_by(7) {
            let mut wrong = data.clone();
            wrong[at] ^= 1 << (at % 8);
            made_of_map(&wrong);
            cases += 1;
        }
    }
    assert!(cases > 1500, "{cases}");
}

#[test]
fn a_map_is_recognized_by_a_bounded_number_of_bytes() {
    let maps = maps();
    for (path, data) in &maps {
        let is_netcdf = path.extension().is_some_and(|ending| ending == "nc");
        assert_eq!(is_netcdf_map(&&data[..]).unwrap(), is_netcdf, "{path:?}");
    }
    // A header of 4 MiB: an attribute of the file is long.
    let (name, values) = ("a", vec![7_i8; 4 << 20]);
    let attrs = [AttrDef::new(name, &values[..])];
    let definition = Definition { dims: &[DimDef::record("t")], attrs: &attrs, vars: &[] };
    let plan = Plan::new(&definition, Version::Cdf5, Alignment::COMPACT).unwrap();
    let (mut bytes, mut window) = (vec![0; plan.header_len() as usize], [0; 512]);
    let encode = Encode::new(&definition, &plan, 0, &mut window).unwrap();
    encode.run(&mut &mut bytes[..]).unwrap();
    let counted = Counted(&bytes, Cell::default());
    assert!(!is_netcdf_map(&counted).unwrap() && !is_text(&counted).unwrap());
    let (calls, read) = counted.1.get();
    assert!(calls <= 2 && read <= (1 << 16) + 8, "{calls} reads of {read} bytes");
}

/// A file that goes on with zeros after its first bytes.
struct Long<'b>(&'b [u8], u64);

impl ReadAt for Long<'_> {
    type Error = core::convert::Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or(&[]);
        let given = rest.len().min(buf.len());
        buf[..given].copy_from_slice(&rest[..given]);
        buf[given..].fill(0);
        let exists = self.1.saturating_sub(offset).min(buf.len() as u64);
        Ok(exists as usize)
    }

    fn size(&self) -> Result<u64, Self::Error> {
        Ok(self.1)
    }
}

#[test]
fn a_header_of_more_than_1_gib_is_refused_before_there_is_memory_for_it() {
    // CDF-5, no records, a list of one dimension, whose name has 2^30 bytes.
    let mut bytes = b"CDF\x05".to_vec();
    bytes.extend(0_u64.to_be_bytes());
    bytes.extend(10_u32.to_be_bytes());
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend((1_u64 << 30).to_be_bytes());
    let error = Header::read(&Long(&bytes, 1 << 40)).unwrap_err();
    let DriveError::BufferTooSmall { need } = error else { panic!("{error:?}") };
    assert!(need > 1 << 30, "{need}");
}

/// A header that is cut in the attributes of a variable: they are not those of the file.
#[test]
fn attributes_of_a_variable_that_is_cut_are_not_those_of_the_file() {
    let word = |word: u32| word.to_be_bytes().to_vec();
    let title = [word(5), b"title\0\0\0".to_vec(), word(2), word(1), b"x\0\0\0".to_vec()].concat();
    let front = [b"CDF\x01".to_vec(), word(0), word(0), word(0), word(12), word(1)].concat();
    let var =
        [word(11), word(1), word(1), b"v\0\0\0".to_vec(), word(0), word(12), word(2)].concat();
    let data = [front, title.clone(), var, title, word(5), b"units\0\0\0".to_vec()].concat();
    assert_eq!(kinds(&data), ["cut"]);
}
