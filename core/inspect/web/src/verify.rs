//! What `verify` says.

use crate::file::{Named, Store, Wrong};
use crate::format::{Format, Set, subfile};
use crate::json::{Json, row};
use crate::sion::part_of;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use striae_inspect::blob::verify::Options;
use striae_inspect::finding::{Coverage, Facts, Found, Value};
use striae_inspect::gsd::verify::Depth;
use striae_inspect::{blob, cdf, ffrecord, gsd, sion};

/// The findings up to a limit.
struct Findings {
    rows: Vec<Json>,
    limit: u64,
}

impl Findings {
    fn add(&mut self, file: &str, what: &impl Found) {
        let Some(left) = self.limit.checked_sub(1) else { return };
        self.limit = left;
        let facts: Facts = what.facts();
        let mut found = row()
            .with("severity", what.severity().to_string())
            .with("kind", facts.kind)
            .with("file", file);
        facts.each(|name, value| {
            if let Json::Row(values) = &mut found {
                values.push(match value {
                    Value::Integer(number) => (name, number.into()),
                    Value::Text(text) => (name, text.into()),
                });
            }
        });
        self.rows.push(found.with("finding", what.to_string()));
    }
}

/// The counts that all summaries have.
struct Counts {
    numbers: Json,
    data: Coverage,
    part: Option<Json>,
    damage: u64,
    notes: u64,
}

macro_rules! counts {
    ($sum:ident, $numbers:expr) => {
        Counts {
            numbers: $numbers,
            data: $sum.data,
            part: None,
            damage: $sum.damage,
            notes: $sum.notes,
        }
    };
}

pub(crate) fn verify<S: Store>(
    (all, file): (&[Named<S>], &Named<S>),
    format: Format,
    limit: u64,
) -> Result<Json, Wrong> {
    let mut findings = Findings { rows: Vec::new(), limit };
    if format == Format::Blob {
        crate::blob::must_have_number(file)?;
    }
    let wrong = |error: S::Error| Wrong::new(&file.name, error);
    let (name, store) = (file.name.as_str(), &file.store);
    let counts = match format {
        Format::Sion => of_sion((all, file), &mut findings),
        Format::Gsd => {
            let sum =
                gsd::verify::verify(store, Depth::Data, &mut |what| findings.add(name, &what));
            sum.map(|sum| counts!(sum, of_gsd(&sum)))
        }
        Format::Ffrecord => {
            let sum = ffrecord::verify(store, &mut |what| findings.add(name, &what));
            let numbers = |sum: &ffrecord::Summary| {
                row().with("samples", sum.samples).with("checked", sum.checked)
            };
            sum.map(|sum| counts!(sum, numbers(&sum)))
        }
        Format::Cdf => of_cdf(file, &mut findings),
        Format::Blob => of_blob((all, file), &mut findings),
        Format::Map => of_map(file, &mut findings),
    };
    let Counts { numbers, data, part, damage, notes } = counts.map_err(wrong)?;
    Ok(row()
        .with("path", name)
        .with("sound", damage == 0)
        .with("verdict", data.verdict(damage))
        .with("format", format.name())
        .and(numbers)
        .with("data_bytes", data.bytes)
        .with("checked_bytes", data.checked)
        .with_some("part_of_set", part)
        .with("damage", damage)
        .with("notes", notes)
        .with("findings", findings.rows))
}

fn of_sion<S: Store>(
    (all, file): (&[Named<S>], &Named<S>),
    findings: &mut Findings,
) -> Result<Counts, S::Error> {
    let set = Set::sion(all, file);
    let sum = sion::verify(&set, &mut |number, what| findings.add(&set.name(number), &what))?;
    let numbers = row().with("files", sum.files).with("tasks", sum.tasks);
    let part = sum.part_of_set.map(|part| part_of(part, &file.name));
    Ok(Counts { part, ..counts!(sum, numbers.with_some("set_commit", sum.set_commit)) })
}

fn of_gsd(sum: &gsd::verify::Summary) -> Json {
    row()
        .with("gsd_version", sum.version.map(|version| version.to_string()))
        .with("state", sum.basis.map(|basis| basis.to_string()))
        .with("frames", sum.frames)
        .with("chunks", sum.chunks)
        .with("checked", sum.checked)
        .with("names", sum.names)
}

/// A netCDF file, and its contents if it is a map.
fn of_cdf<S: Store>(file: &Named<S>, findings: &mut Findings) -> Result<Counts, S::Error> {
    let sum = cdf::verify(&file.store, &mut |what| findings.add(&file.name, &what))?;
    let numbers = row()
        .with("version", sum.version.map(|version| version.number()))
        .with("variables", sum.variables)
        .with("numrecs", sum.numrecs);
    let mut counts = counts!(sum, numbers);
    if blob::map::is_netcdf(&file.store).unwrap_or(false) {
        let of_map = blob::map::verify(&file.store, &mut |what| findings.add(&file.name, &what))?;
        counts.damage = counts.damage.saturating_add(of_map.damage);
        counts.notes = counts.notes.saturating_add(of_map.notes);
    }
    Ok(counts)
}

fn of_map<S: Store>(file: &Named<S>, findings: &mut Findings) -> Result<Counts, S::Error> {
    let sum = blob::map::verify(&file.store, &mut |what| findings.add(&file.name, &what))?;
    let numbers = row()
        .with("decompositions", sum.decompositions)
        .with("ranks", sum.nprocs)
        .with("requests", sum.requests);
    Ok(counts!(sum, numbers))
}

/// One subfile alone, as the program checks the file that it is given.
fn of_blob<S: Store>(
    (all, file): (&[Named<S>], &Named<S>),
    findings: &mut Findings,
) -> Result<Counts, S::Error> {
    let set = Set::blob(all, file);
    let only = subfile(&file.name).map(|(_, number)| number);
    let options = Options { only, ..Options::default() };
    let names: Vec<(u32, String)> =
        set.files().iter().map(|(number, file)| (*number, file.name.clone())).collect();
    let sum = blob::verify(&set, options, &mut |number, what| {
        let name = names.iter().find(|(other, _)| *other == number);
        let name = name.map_or_else(|| set.name(number), |(_, name)| name.clone());
        findings.add(&name, &what);
    })?;
    let numbers = row()
        .with("container", sum.container.map(blob::Container::name))
        .with("subfiles", sum.subfiles)
        .with("of", sum.nsubfiles)
        .with("blobs", sum.blobs)
        .with("decompositions", sum.decompositions)
        .with("requests", sum.requests)
        .with("variables", sum.variables)
        .with("numrecs", sum.numrecs);
    Ok(counts!(sum, numbers))
}
