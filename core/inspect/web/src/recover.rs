//! `recover`: what is left of a file, written to new files.

use crate::file::{Named, Shelf, Store, Wrong, text_of};
use crate::format::{Format, Set};
use crate::json::{Json, list, row};
use crate::sion::part_of;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use striae_core::gsd::{Slot, Writer};
use striae_core::integrity::crc32c;
use striae_core::store::WriteAt;
use striae_hoomd::shown::Shown;
use striae_inspect::certainty::Tally;
use striae_inspect::finding::first_damage;
use striae_inspect::gsd::verify::Depth;
use striae_inspect::sion::recover::{OfSet, RecoveredTask, Refused, Unwritten, copy};
use striae_inspect::size::Demand;
use striae_inspect::{blob, cdf, gsd, sion};

/// The most bytes of a new file, which is in memory until it is saved.
const MOST: u64 = 1 << 30;

/// The most chunks of a frame of a new GSD file.
const SLOTS: usize = 1 << 14;

/// The name of the new file.
pub(crate) fn name_of(file: &str) -> String {
    format!("recovered-{file}")
}

pub(crate) fn recover<S: Store, O: Shelf>(
    (all, file): (&[Named<S>], &Named<S>),
    format: Format,
    shelf: &mut O,
) -> Result<Json, Wrong> {
    match format {
        Format::Sion => of_sion((all, file), shelf),
        Format::Gsd => of_gsd(file, shelf),
        Format::Cdf => of_cdf(file, shelf),
        Format::Ffrecord => Err(not(file, "every sample has a place of its own: save it")),
        Format::Map => of_map(file, shelf),
        Format::Blob => Err(not(file, "striae recover does it, in a folder")),
    }
}

fn not<S>(file: &Named<S>, why: &str) -> Wrong {
    Wrong::new(&file.name, format!("this page does not recover such files: {why}"))
}

/// Refuses a file that is too large for what exists of the old one, or for memory.
fn admit(name: &str, demand: &Demand) -> Result<(), Wrong> {
    let (size, limit) = (demand.size, demand.limit());
    if size > limit {
        let text =
            format!("would have {size} bytes; at most {limit} are written for such an input");
        return Err(Wrong::new(name, text));
    }
    if size > MOST {
        let text = format!("would have {size} bytes, too many for a page: use striae recover");
        return Err(Wrong::new(name, text));
    }
    Ok(())
}

fn told(tally: &Tally) -> Json {
    let counts = row()
        .with("exact", tally.exact)
        .with("as found", tally.as_found)
        .with("guess", tally.guesses)
        .with("lost", tally.lost);
    let data = row().with("bytes", tally.coverage.bytes).with("checked", tally.coverage.checked);
    row()
        .with("word", tally.word().as_str())
        .with("sound", tally.is_sound())
        .with("counts", counts)
        .with("data", data)
}

/// The commit of the whole set that the files are of, if one is known.
fn set_commit(of_set: &OfSet) -> Option<Json> {
    match of_set {
        OfSet::Same { number, brought } => {
            Some(row().with("number", *number).with("brought", list(brought.iter().copied())))
        }
        OfSet::Apart { newest, without } => {
            let older =
                |(file, number): &(u32, u32)| row().with("file", *file).with("number", *number);
            Some(row().with("newest", *newest).with("without", list(without.iter().map(older))))
        }
        OfSet::Others { files } => Some(row().with("of_another_set", list(files.iter().copied()))),
        _ => None,
    }
}

fn of_sion<S: Store, O: Shelf>(
    (all, file): (&[Named<S>], &Named<S>),
    shelf: &mut O,
) -> Result<Json, Wrong> {
    let recovery = sion::recover::Recovery::of(&file.store, crc32c);
    let mut recovery = recovery.map_err(Wrong::of(&file.name))?;
    let set = Set::sion(all, file);
    let mut files = vec![file];
    for number in 1..recovery.first().map_or(1, |meta1| set.files_of(meta1)) {
        let none = || Wrong::new(&set.name(number), "is not here, and the set has it");
        let other = set.file(number).ok_or_else(none)?;
        recovery.add(&other.store, crc32c).map_err(Wrong::of(&other.name))?;
        files.push(other);
    }
    if files.len() > 1 {
        recovery.check_set().map_err(|error| Wrong::new(&file.name, error))?;
    }
    let open = |number: usize| files.get(number).map(|one| &one.store);
    let none = || Wrong::new(&file.name, "has no such file");
    let name = |number: usize| files.get(number).map_or(file.name.as_str(), |one| &one.name);
    recovery.bring_together(
        |number| open(number).ok_or_else(none),
        |number, error| Wrong::of(name(number))(error),
    )?;
    for (number, one) in files.iter().enumerate() {
        recovery.examine(number, &one.store).map_err(|error| match error {
            Refused::TooManyChunks { blockcount, limit } => {
                let text = format!("a task has {blockcount} chunks, and at most {limit} are kept");
                Wrong::new(&one.name, text)
            }
            Refused::Failed(error) => Wrong::of(&one.name)(error),
        })?;
    }
    admit(&file.name, &recovery.demand())?;
    let mapping = recovery.mapping();
    for (number, one) in files.iter().enumerate() {
        let mut new = shelf.create(&name_of(&one.name));
        let mut copier = |to: &mut O::File, span, at, _| copy(&one.store, to, span, at);
        recovery.write((number, &mapping), &one.store, &mut new, crc32c, &mut copier).map_err(
            |error| match error {
                Unwritten::Read(error) => Wrong::of(&one.name)(error),
                Unwritten::Write(error) => Wrong::of("the new file")(error),
            },
        )?;
    }
    let task = |task: RecoveredTask| {
        row()
            .with("task", task.task)
            .with("file", task.file)
            .with("globalrank", task.globalrank)
            .with("chunks", task.recovered.blockcount)
            .with("bytes", task.recovered.bytes)
            .with("word", task.certainty().word().as_str())
            .with("why", task.certainty().why().to_string())
    };
    let names = files.iter().enumerate().filter(|(number, _)| recovery.is_placed_anew(*number));
    let anew: Vec<Json> = names.map(|(_, one)| one.name.as_str().into()).collect();
    let part = recovery.part_of_set().map(|part| part_of(part, &file.name));
    Ok(told(&recovery.tally())
        .with("files", files.len())
        .with_some("placed_anew", Some(anew).filter(|anew| !anew.is_empty()))
        .with_some("part_of_set", part)
        .with_some("set_commit", set_commit(recovery.of_set()))
        .with("tasks", list(recovery.tasks().map(task))))
}

fn of_gsd<S: Store, O: Shelf>(file: &Named<S>, shelf: &mut O) -> Result<Json, Wrong> {
    let recovery = gsd::recover::Recovery::examine(&file.store).map_err(Wrong::of(&file.name))?;
    let size = file.store.size().map_err(|error| Wrong::new(&file.name, error))?;
    admit(&file.name, &recovery.demand(size))?;
    let unwritten = |error: &dyn fmt::Display| Wrong::new("the new file", error);
    let mut new = shelf.create(&name_of(&file.name));
    let mut writer = Writer::create(&mut new, &recovery.attributes(), vec![Slot::EMPTY; SLOTS])
        .map_err(|error| unwritten(&error))?;
    let output = gsd::recover::IntoWriter::new(&file.store, &mut writer);
    let mut output = output.map_err(|error| Wrong::new(&file.name, error))?;
    recovery.save(&file.store, &mut output).map_err(|error| match error {
        Unwritten::Read(error) | Unwritten::Write(Unwritten::Read(error)) => {
            Wrong::of(&file.name)(error)
        }
        Unwritten::Write(Unwritten::Write(error)) => unwritten(&error),
    })?;
    drop(output);
    writer.close().map_err(|error| unwritten(&error))?;
    drop(writer);
    // What the judgement has overlooked is not offered.
    let damage = first_damage(|each| gsd::verify::verify(&new, Depth::Structure, each));
    if let Some(damage) = damage.map_err(|error| unwritten(&error))? {
        return Err(unwritten(&damage));
    }
    let runs = recovery.runs().map(|run| {
        row()
            .with("from", run.frames.start)
            .with("to", run.frames.end)
            .with_some("first", run.first)
            .with("word", run.certainty.word().as_str())
            .with("why", run.certainty.why().to_string())
    });
    let runs: Vec<Json> = runs.collect();
    let invented = recovery.invented();
    let invented = invented.map(|(id, name)| row().with("id", id).with("name", shown(name)));
    let invented: Vec<Json> = invented.collect();
    Ok(told(&recovery.tally())
        .with("frames", recovery.frames())
        .with_some("lost_entries", recovery.lost_entries())
        .with_some("forbidden", recovery.forbidden().map(ToString::to_string))
        .with("invented", invented)
        .with("runs", runs))
}

fn shown(name: &[u8]) -> String {
    Shown::new(name).to_string()
}

fn of_cdf<S: Store, O: Shelf>(file: &Named<S>, shelf: &mut O) -> Result<Json, Wrong> {
    let recovery = cdf::recover::Recovery::examine(&file.store).map_err(Wrong::of(&file.name))?;
    admit(&file.name, &recovery.demand())?;
    let mut new = shelf.create(&name_of(&file.name));
    recovery.save(&file.store, &mut new, &mut |_| {}).map_err(|error| match error {
        Unwritten::Read(error) => Wrong::new(&file.name, text_of(&error)),
        Unwritten::Write(error) => Wrong::new("the new file", error),
    })?;
    let damage = blob::map::damage_of_netcdf(&new).map_err(Wrong::of("the new file"))?;
    if let Some(damage) = damage {
        return Err(Wrong::new(&file.name, format!("is a damaged map: {damage}")));
    }
    let variables = recovery.variables().map(|(variable, certainty)| {
        row()
            .with("name", variable.name())
            .with("word", certainty.word().as_str())
            .with("why", certainty.why().to_string())
    });
    let variables: Vec<Json> = variables.collect();
    let mut damage: Vec<String> =
        recovery.contradictions().iter().map(ToString::to_string).collect();
    damage.extend(recovery.rest().map(|rest| {
        let (len, offset) = (rest.len(), rest.offset());
        format!(
            "{len} bytes at offset {offset} belong to no variable or record that the header \
             counts, and are not saved"
        )
    }));
    let records = recovery.of_records().map(|certainty| {
        row()
            .with("saved", recovery.records().saved)
            .with_some("claimed", recovery.records().claimed)
            .with("word", certainty.word().as_str())
            .with("why", certainty.why().to_string())
    });
    Ok(told(&recovery.tally())
        .with("bytes", recovery.bytes())
        .with("damage", damage)
        .with("lost_variables", recovery.lost_variables())
        .with_some("records", records)
        .with("variables", variables))
}

fn of_map<S: Store, O: Shelf>(file: &Named<S>, shelf: &mut O) -> Result<Json, Wrong> {
    let recovery = blob::map::recover::Recovery::examine(&file.store);
    let recovery = recovery.map_err(Wrong::of(&file.name))?;
    let text = recovery.text();
    let mut new = shelf.create(&name_of(&file.name));
    new.write_all_at(0, text.as_bytes()).map_err(|error| Wrong::new("the new file", error))?;
    let rank = |found: &blob::map::recover::Found| {
        row()
            .with("rank", found.rank)
            .with("line", found.line)
            .with("word", found.certainty.word().as_str())
            .with("why", found.certainty.why().to_string())
    };
    Ok(told(&recovery.tally())
        .with("nprocs", recovery.map().nprocs())
        .with("ranks", list(recovery.found().iter().map(rank))))
}
