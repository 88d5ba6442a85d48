//! The body of `cdf_verify`: what is found in any bytes, and what is saved of them.

use crate::map_making::made_of_map;
use striae_core::cdf::{Layout, Reader, Region};
use striae_inspect::blob::map::is_netcdf;
use striae_inspect::cdf::recover::{Certainty, Recovery};
use striae_inspect::cdf::{FindingKind, Header, dump, verify};
use striae_inspect::certainty::Word;
use striae_inspect::finding::{Found, Severity};

/// New files that are longer are not made.
const MOST: u64 = 1 << 18;

/// The input is a netCDF file.
pub fn cdf_verify(data: &[u8]) {
    if is_netcdf(&data).unwrap() {
        made_of_map(data);
    }
    let header = Header::read(data);
    let mut lengths = vec![0; data.len() / 8 + 1];
    let opened = Reader::open(data, &mut lengths, &mut vec![0; data.len() + 32]);
    match (&header, &opened) {
        (Ok(header), Ok(file)) => compare(header, file),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        (one, other) => panic!("{one:?}, {:?}", other.as_ref().map(Reader::head)),
    }
    let mut lines = 0_u64;
    let dumped = dump(&data, &mut |_| {
        lines += 1;
        Ok(())
    });
    assert!(dumped.is_ok() || header.is_err());
    assert!(lines <= u64::try_from(data.len()).unwrap() + 2, "a line is of a byte or more");
    let is_sound = check(data);
    if is_sound {
        let header = header.as_ref().unwrap();
        header.variables().for_each(|variable| check_region(header, variable));
    }
    let Ok(recovery) = Recovery::examine(data) else {
        assert!(!is_sound);
        return;
    };
    let tally = recovery.tally();
    assert!(!tally.is_sound() || is_sound, "{recovery:?}");
    assert!(tally.is_contradicted || is_sound);
    assert!(!matches!(tally.word(), Word::Exact) || tally.coverage.bytes == 0);
    // The bound is known before a byte is written.
    let demand = recovery.demand();
    assert_eq!((demand.size, demand.existing), (recovery.bytes(), data.len() as u64));
    assert!(demand.own <= 2 * data.len() as u64 && demand.is_fair(), "{demand:?}");
    if recovery.bytes() <= MOST {
        check_saved(data, &recovery);
    }
}

/// Whether verify finds no damage; its sum is that of its findings.
fn check(data: &[u8]) -> bool {
    let (mut damage, mut notes) = (0, 0);
    let summary = verify(&data, &mut |what: FindingKind| {
        let count = if what.severity() == Severity::Damage { &mut damage } else { &mut notes };
        *count += 1;
        assert!(!what.facts().kind.is_empty());
        assert!(!what.to_string().is_empty());
    });
    let summary = summary.unwrap();
    assert_eq!((summary.damage, summary.notes), (damage, notes));
    summary.is_sound()
}

/// Both readers find the same variables.
fn compare(header: &Header, file: &Reader<'_, &[u8]>) {
    assert_eq!(header.head(), file.head());
    let mut variables = header.variables();
    for variable in file.variables(vec![0; header.bytes().len() + 32]) {
        let (one, other) = (variables.next().unwrap(), variable.unwrap());
        assert_eq!((one.layout(), one.varid()), (other.layout, other.var.varid));
        let mut shape = vec![0; one.shape().len()];
        assert_eq!(one.shape(), file.shape(&other, &mut shape, &mut [0; 16]).unwrap());
    }
    assert_eq!(variables.count(), 0);
}

/// All values of a variable are in the file.
fn check_region(header: &Header, variable: striae_inspect::cdf::Variable<'_>) {
    let start = vec![0; variable.shape().len()];
    let region = Region { start: &start, count: variable.shape(), stride: None };
    let slab = header.head().slab(variable.layout(), variable.shape(), region).unwrap();
    assert_eq!(slab.len(), variable.len());
}

/// A new file is sound, whatever the damaged one is. It has the values of the damaged one, and is
/// saved again as it is.
fn check_saved(data: &[u8], recovery: &Recovery) {
    let saved = save(data, recovery);
    let mut found = Vec::new();
    verify(&&saved[..], &mut |what| found.push(what.to_string())).unwrap();
    assert!(check(&saved), "{recovery:?} {found:?}");
    let again = Recovery::examine(&saved[..]).unwrap();
    assert_eq!(again.records().saved, recovery.records().saved);
    assert!(again.tally().is_sound(), "{again:?}");
    assert!(save(&saved, &again) == saved, "{again:?}");
    check_values(data, &saved, recovery);
}

/// Values that are as found are those that a reader of the damaged file sees.
fn check_values(data: &[u8], saved: &[u8], recovery: &Recovery) {
    let new = Header::read(saved).unwrap();
    let records = recovery.records().saved;
    let kept = recovery.variables().filter(|(_, certainty)| match certainty {
        Certainty::Lost(loss) => loss.is_filled(),
        _ => true,
    });
    let mut variables = new.variables();
    for (old, certainty) in kept {
        let new = variables.next().unwrap();
        assert_eq!((old.name(), old.nc_type()), (new.name(), new.nc_type()));
        if !matches!(certainty, Certainty::AsFound(_)) {
            continue;
        }
        let (old, new) = (old.layout(), new.layout());
        let numbers = if old.recsize.is_some() { 0..records } else { 0..1 };
        for number in numbers {
            let place = |layout: Layout| layout.record(number).unwrap_or(layout.first);
            let [from, to] = [old, new]
                .map(place)
                .map(|span| [span.offset(), span.end()].map(|at| usize::try_from(at).unwrap()));
            assert_eq!(data[from[0]..from[1]], saved[to[0]..to[1]]);
        }
    }
    assert_eq!(variables.count(), 0);
}

/// The new file, for a few reads and writes: their number does not depend on what headers claim.
fn save(data: &[u8], recovery: &Recovery) -> Vec<u8> {
    let mut new = vec![0; usize::try_from(recovery.bytes()).unwrap()];
    recovery.save(data, &mut &mut new[..], &mut |_| ()).unwrap();
    new
}
