//! The verbs for sets of blob files.

mod info;
mod list;
mod pack;
mod recover;

use crate::args::Can::Do;
use crate::args::{
    CatArgs, ConvertArgs, Direct, ExtractArgs, MapArgs, NO_APPEND, NO_LOG, Outcome, Row,
};
use crate::failure::{Failure, Sound, complain};
use crate::progress::with_bar;
use crate::{cdf, dump, map, printable, verify};
use std::io;
use std::path::Path;
use striae::blob::{Convert, Decomposition, Extract, OpenOptions, Set};
use striae::map::of_file;
use striae::{Error, Format};

/// The most lines about missing subfiles.
const LINES: usize = 10;

/// The verbs for sets of blob files.
pub(crate) const ROW: Row = Row {
    info: Do(info::info),
    ls: Do(list::ls),
    dump: Do(|args| dump::dump(args, striae::blob::dump::dump)),
    cat: Do(cat),
    extract: Do(extract),
    convert: Do(convert),
    recover: Do(recover::recover),
    verify: Do(|args| verify::verify(args, verify::BLOB)),
    map: Do(map),
    log: NO_LOG,
    append: NO_APPEND,
    pack: Do(pack::pack),
};

fn map(args: &MapArgs) -> Outcome {
    let path = &args.file.path;
    let drawn = map::map_all(args, Format::Blob, &|size| {
        let paths = striae::blob::subfiles_of(path)?;
        paths.iter().map(|path| of_file(path, Format::Blob, size)).collect()
    });
    if path.is_file() {
        return drawn;
    }
    // What is wrong with the subfiles that are there is said of each.
    match open(path, Direct::default(), true) {
        Ok(set) if set.missing_count() > 0 => {
            report_missing(&set, "");
            drawn.map(|_| Sound::No)
        }
        _ => drawn,
    }
}

/// Opens a set; it is compared with its seal, except with `--no-seal`.
fn open(path: &Path, direct: Direct, no_seal: bool) -> Result<Set, Error> {
    OpenOptions::new().direct(direct.options()).checked(!no_seal).open(path)
}

/// Opens all subfiles, and names those that are missing or damaged.
fn report_all(set: &Set) -> Result<Sound, Error> {
    for (number, _) in set.subfiles() {
        set.blobs(number)?;
    }
    Ok(report(set, &|_| String::new()))
}

/// Names the subfiles that are missing or damaged, and says which values were filled for them.
fn report_filled(set: &Set) -> Sound {
    let is_decomposed = set.decompositions_read().next().is_some();
    let sound = report(set, &|values| match values {
        None if is_decomposed => "; its elements are filled".to_owned(),
        None | Some(0) => String::new(),
        Some(n) => format!("; {} filled", printable::count(n, "value")),
    });
    let path = printable::printable_path(set.path());
    for (id, one) in set.decompositions_read() {
        let Decomposition { nelems, covered, overlaps, outside, .. } = one;
        if overlaps > 0 || outside > 0 {
            let (twice, outside) = (printable::count(overlaps, "element"), outside);
            complain(&format!(
                "{path}: D{id}: {twice} in several blobs, of which the first counts, and {outside} \
                 outside of the array; striae verify says where"
            ));
        }
        // Of a set that is whole, these are holes.
        if let Some(filled @ 1..) = nelems.checked_sub(covered).filter(|_| !set.is_whole()) {
            complain(&format!(
                "{path}: D{id}: no subfile that can be read has {filled} of {nelems} elements of \
                 each variable"
            ));
        }
    }
    sound
}

/// Names the subfiles that are missing or damaged. `and` says what this number of values means.
fn report(set: &Set, and: &dyn Fn(Option<u64>) -> String) -> Sound {
    report_missing(set, &and(None));
    for lost in set.lost() {
        complain(&format!("{}{}", lost.error, and(lost.values)));
    }
    if let Some(blobs) = set.wrong_blobs() {
        let (path, nprocs) = (printable::printable_path(set.path()), set.nprocs());
        complain(&format!("{path}: has {blobs} blobs, but {nprocs} processes wrote the set"));
    }
    if set.is_whole() { Sound::Yes } else { Sound::No }
}

/// Names the subfiles that are missing, and adds a text to each.
fn report_missing(set: &Set, and: &str) {
    let mut count = 0_usize;
    for number in set.missing().take(LINES) {
        let path = printable::printable_path(&set.subfile_path(number));
        complain(&format!("{path}: is missing{and}"));
        count = count.saturating_add(1);
    }
    if count == LINES {
        let path = printable::printable_path(set.path());
        complain(&format!("{path}: {} subfiles are missing", set.missing_count()));
    }
}

fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let set = open(&args.file.path, args.direct, args.values.no_seal)?;
    let mut parts = Vec::new();
    cdf::selected((set.path(), set.header(), Format::Blob), args.address.clone(), |variable| {
        parts.push((variable, cdf::cat::bytes(args, variable)?));
        Ok(())
    })?;
    set.admit(&args.max_size.output(), parts)?;
    let done =
        cdf::selected((set.path(), set.header(), Format::Blob), args.address.clone(), |variable| {
            let fill = set.fill_from(variable, args.values.fill.text())?;
            cdf::cat::write(args, variable, |region, each| {
                set.read_pieces(variable, region, Some(fill), each)
            })
        });
    // Who has read some of it and no more wants to know what was filled, too.
    match done {
        Err(Failure::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(report_filled(&set))
}

fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let set = open(&args.file.path, args.direct, args.values.no_seal)?;
    let extract = Extract::new().output(args.output()).select(args.addresses.clone());
    let extract = extract.fill(args.values.fill.text());
    let bytes = extract.bytes(&set)?;
    with_bar(bytes, |progress| extract.run(&set, &args.dir, &|bytes| progress(bytes)))?;
    Ok(report_filled(&set))
}

fn convert(args: &ConvertArgs) -> Result<Sound, Failure> {
    let layout = &args.layout;
    let how = OpenOptions::new().direct(layout.direct()).checked(!args.no_seal);
    let set = how.open(&args.file.path)?;
    let convert = Convert::new().output(layout.output()).fill(args.fill.text());
    let bytes = set.header().variables().map(|variable| variable.len());
    let bytes = bytes.fold(0, u64::saturating_add);
    with_bar(bytes, |progress| convert.run(&set, &args.out, progress))?;
    Ok(report_filled(&set))
}
