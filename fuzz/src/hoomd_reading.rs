//! The body of `hoomd_read`: what is read of any bytes is what the specification says of them,
//! takes no more memory than the file accounts for, and can be written and read again.

use crate::gsd_linear::seal;
use crate::hoomd_plain::{Plain, PlainTrajectory, field, quantity, values};
use core::convert::Infallible;
use std::collections::BTreeSet;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Attributes, Chunk, Slot};
use striae_core::step::DriveError;
use striae_core::zerocopy::FromBytes;
use striae_hoomd::fallback::Need;
use striae_hoomd::schema::{self, FIELDS, Group};
use striae_hoomd::{
    Error, Fault, File, Frame, FrameData, Precision, Source, Start, Trajectory, Values, Writer,
};
use striae_kit::growing::Growing;
use striae_kit::gsd_everything::Counted;

/// Frames that are read.
const FRAMES: usize = 12;

/// Members of a group that are read: more of them are the default, which takes no place in a file.
const MEMBERS: u32 = 1 << 10;

/// Members and frames that are believed whatever the length of the file.
const BELIEVED: u64 = 1 << 20;

type Opened<'a> = File<&'a Counted<'a>>;
type Failed = DriveError<Infallible, Fault>;

/// The input is a GSD file of the schema hoomd. It is read as it is, and with right checksums in
/// its commit record and its shadows.
pub fn hoomd_read(data: &[u8]) {
    read(data);
    if data.get(176..).is_some_and(|record| record.starts_with(b"striae\0\x01")) {
        let mut sealed = data.to_vec();
        seal(&mut sealed);
        read(&sealed);
    }
}

fn read(bytes: &[u8]) {
    let store = Counted::new(bytes);
    let trajectory = match Trajectory::<Opened<'_>>::open(&store) {
        Ok(trajectory) => trajectory,
        Err(error) => return drop(text_of(&error)),
    };
    let (plain, in_order) = (plain(bytes, &trajectory), is_in_order(bytes, &trajectory));
    let mut frames = Vec::new();
    for number in picked(&trajectory) {
        let frame = match trajectory.frame(number) {
            Ok(frame) => frame,
            Err(error) => {
                text_of(&error);
                continue;
            }
        };
        check_state(&frame, bytes.len());
        if !is_small(&frame, bytes.len()) {
            continue;
        }
        match same_twice(&trajectory, &frame, in_order) {
            Ok(data) => {
                check_memory(&data, bytes.len());
                check_plain(plain.as_ref(), &frame, &data);
                if in_order && is_writable(&data) {
                    frames.push(data); // else frames may lack what they have of frame 0
                }
            }
            Err(error) => drop(text_of(&error)),
        }
    }
    check_logs(plain.as_ref(), &trajectory, bytes.len());
    write_again(&frames, Precision::Double);
    write_again(&frames, Precision::Single);
}

/// The text of an error, which blames the file.
fn text_of(error: &Failed) -> String {
    let DriveError::Format(fault) = error else { panic!("not the file's fault: {error:?}") };
    match fault {
        Fault::Hoomd(error) => assert!(!error.blames_caller(), "{error}"),
        Fault::Gsd(error) | Fault::Chunk { error, .. } => {
            assert!(!error.blames_caller(), "{error}");
        }
        Fault::NotText { .. } => {}
        Fault::Memory => panic!("memory for what the file does not account for"),
    }
    let text = error.to_string();
    assert!(!text.is_empty()); // of several lines if a name of the file is
    text
}

/// A list of all chunks, if it is in order, so that a search must find all of it.
fn plain<'a>(
    bytes: &'a [u8],
    trajectory: &'a Trajectory<Opened<'_>>,
) -> Option<PlainTrajectory<'a>> {
    let reader = trajectory.file().reader();
    let chunks: Option<Vec<Chunk>> = reader.chunks(vec![0; 4096]).map(Result::ok).collect();
    let is_sorted = reader.head().header.version.is_sorted();
    let chunks = chunks.filter(|chunks| match is_sorted {
        true => chunks.is_sorted_by_key(|chunk| (chunk.frame, chunk.id)),
        false => chunks.is_sorted_by_key(|chunk| chunk.frame),
    })?;
    let names = trajectory.file().names().unwrap();
    let names: Vec<_> = names.iter().map(|name| name.as_bytes()).collect();
    let are_all_there = names.len() == usize::try_from(reader.head().names).unwrap();
    let is_last = !is_sorted;
    are_all_there.then_some(PlainTrajectory { bytes, names, chunks, is_last })
}

/// The first frames and the last ones.
fn picked(trajectory: &Trajectory<Opened<'_>>) -> BTreeSet<u64> {
    let frames = trajectory.frames(..);
    assert_eq!(frames.size_hint().0, usize::try_from(trajectory.len()).unwrap_or(usize::MAX));
    let last = (0..trajectory.len()).rev().take(FRAMES / 3);
    (0..trajectory.len()).take(FRAMES).chain(last).collect()
}

/// State is as its chunks are: no more than they have.
fn check_state(frame: &Frame<'_, Opened<'_>>, len: usize) {
    let Ok(names) = frame.state_names() else { return };
    for name in names.into_iter().take(64) {
        match frame.state(name.as_bytes()) {
            Ok(state) => assert!(state.is_none_or(|state| state.values.len() <= len)),
            Err(error) => drop(text_of(&error)),
        }
    }
}

/// Whether a frame has so few members that all of it can be read here. Of others the limit is
/// checked.
fn is_small(frame: &Frame<'_, Opened<'_>>, len: usize) -> bool {
    let most = u64::try_from(len).unwrap().max(BELIEVED);
    let counts = [
        (Group::Particles, frame.particles().n()),
        (Group::Bonds, frame.bonds().n()),
        (Group::Angles, frame.angles().n()),
        (Group::Dihedrals, frame.dihedrals().n()),
        (Group::Impropers, frame.impropers().n()),
        (Group::Constraints, frame.constraints().n()),
        (Group::Pairs, frame.pairs().n()),
    ];
    if let Some((_, Ok(n))) = counts.first() {
        match frame.particles().typeid() {
            Ok(typeid) => {
                assert_eq!(u32::try_from(typeid.len()), Ok(*n));
                assert!(u64::from(*n) <= most, "{n} particles in a file of {len} bytes");
            }
            Err(error) => drop(text_of(&error)),
        }
    }
    counts.iter().all(|(_, count)| count.as_ref().map_or(true, |&count| count <= MEMBERS))
}

/// Whether each search of the index ends at the same entry: those that are used come first, and are
/// in the order of its layer.
fn is_in_order(bytes: &[u8], trajectory: &Trajectory<Opened<'_>>) -> bool {
    let head = trajectory.file().reader().head();
    let rest = &bytes[usize::try_from(head.index().location).unwrap()..];
    let slots = usize::try_from(head.index().slots).unwrap_or(usize::MAX).min(rest.len() / 32);
    let (slots, _) = <[IndexEntry]>::ref_from_prefix_with_elems(rest, slots).unwrap();
    let entries = slots.iter().rposition(IndexEntry::is_used).map_or(&[][..], |at| &slots[..=at]);
    let is_sorted = match head.header.version.is_sorted() {
        true => entries.is_sorted_by_key(|entry| (entry.frame.get(), entry.id.get())),
        false => entries.is_sorted_by_key(|entry| entry.frame.get()),
    };
    is_sorted && entries.iter().all(IndexEntry::is_used)
}

/// What a frame has, read twice, once by what knows nothing of frame 0 yet. In an index that is not
/// in order a search may find another entry.
fn same_twice(
    trajectory: &Trajectory<Opened<'_>>,
    frame: &Frame<'_, Opened<'_>>,
    in_order: bool,
) -> Result<FrameData, Failed> {
    let data = frame.read();
    let fresh = Trajectory::new(trajectory.file().clone()).unwrap();
    let again = fresh.frame(frame.number()).unwrap().read();
    match (&data, &again) {
        _ if !in_order => {}
        (Ok(data), Ok(again)) => assert_same(data, again),
        (Err(error), Err(again)) => assert_eq!(text_of(error), text_of(again)),
        other => panic!("{other:?}"),
    }
    data
}

fn assert_same(data: &FrameData, again: &FrameData) {
    assert_eq!(values(data), values(again));
    assert_eq!(data.log.len(), again.log.len());
    for (one, other) in data.log.iter().zip(&again.log) {
        assert_eq!((&one.0, quantity(&one.1)), (&other.0, quantity(&other.1)));
        if !matches!(one.1.values, Values::Text(_)) {
            // how many NULs stood behind a text is not known
            assert_eq!((one.1.n, one.1.m), (other.1.n, other.1.m));
        }
    }
}

/// No more than the file has, and the defaults of the members that it claims.
fn check_memory(data: &FrameData, len: usize) {
    let counts = [
        (Group::Particles, data.particles.n),
        (Group::Bonds, data.bonds.n),
        (Group::Angles, data.angles.n),
        (Group::Dihedrals, data.dihedrals.n),
        (Group::Impropers, data.impropers.n),
        (Group::Constraints, data.constraints.n),
        (Group::Pairs, data.pairs.n),
    ];
    let count = |group| counts.iter().find(|(it, _)| *it == group).map_or(0, |(_, n)| *n);
    let default = |field: &'static schema::Field| {
        Need::Default(field, field.rows.group().map_or(1, count).into()).bytes()
    };
    let fields = FIELDS.iter().filter(|field| field.until.is_none());
    let most = u64::try_from(len).unwrap() + fields.map(default).sum::<u64>();
    let all = values(data).into_iter().map(|(name, value)| (field(&name).kind, value));
    let logs = data.log.iter().map(|(_, it)| match &it.values {
        Values::Text(texts) => texts.iter().map(String::len).sum(),
        values => values.len() * usize::try_from(values.kind().size().get()).unwrap(),
    });
    let bytes = all.map(|(kind, value)| match value {
        Plain::Bits(bits) => bits.len() * usize::try_from(kind.types()[0].size().get()).unwrap(),
        Plain::Texts(texts) => texts.iter().map(String::len).sum(),
    });
    let bytes = u64::try_from(bytes.chain(logs).sum::<usize>()).unwrap();
    assert!(bytes <= most, "{bytes} bytes of a file of {len}");
}

/// A frame has what the specification says.
fn check_plain(
    plain: Option<&PlainTrajectory<'_>>,
    frame: &Frame<'_, Opened<'_>>,
    data: &FrameData,
) {
    let Some(plain) = plain else { return };
    for (name, found) in values(data) {
        assert_eq!(found, plain.value(frame.number(), field(&name)), "{name}");
    }
    for (name, found) in &data.log {
        // A name that is no text is told as another one.
        let name = [b"log/", name.as_bytes()].concat();
        if let Some(chunk) = plain.own(frame.number(), &name).or_else(|| plain.own(0, &name)) {
            check_log(plain, chunk, &quantity(found));
        }
    }
}

fn check_log(plain: &PlainTrajectory<'_>, chunk: &Chunk, found: &Plain) {
    match found {
        Plain::Bits(bits) => assert_eq!(*bits, plain.numbers(chunk)),
        Plain::Texts(texts) => {
            let text = std::str::from_utf8(plain.bytes(chunk)).unwrap();
            assert_eq!(texts[..], [text.trim_end_matches('\0')]);
        }
    }
}

/// Series have the values that frames have.
fn check_logs(plain: Option<&PlainTrajectory<'_>>, all: &Trajectory<Opened<'_>>, len: usize) {
    if all.len() > u64::try_from(len).unwrap().max(BELIEVED) {
        assert!(all.logs().read().is_err(), "{} frames in a file of {len} bytes", all.len());
    }
    for start in [0, all.len().saturating_sub(3)] {
        let series = match all.logs().frames(start..start.saturating_add(6)).read() {
            Ok(series) => series,
            Err(error) => {
                text_of(&error);
                continue;
            }
        };
        let mut names = BTreeSet::new();
        for series in series {
            if !names.insert(series.name.clone()) {
                continue; // names that are no text may look alike
            }
            let stride = match series.frames {
                0 => 0,
                frames => series.quantity.values.len() / usize::try_from(frames).unwrap(),
            };
            let found = quantity(&series.quantity);
            let Some(plain) = plain else { continue };
            for (row, frame) in (start..all.len()).take(6).enumerate() {
                let name = series.name.as_bytes();
                let chunk = plain.own(frame, name).or_else(|| plain.own(0, name));
                let part = row * stride..(row + 1) * stride;
                let part = match &found {
                    Plain::Bits(bits) => Plain::Bits(bits[part].to_vec()),
                    Plain::Texts(texts) => Plain::Texts(texts[part].to_vec()),
                };
                match chunk {
                    Some(chunk) => check_log(plain, chunk, &part),
                    None if name == b"configuration/step" => {
                        assert_eq!(part, Plain::Bits(vec![0]));
                    }
                    None => {} // its name is no text
                }
            }
        }
    }
}

// ---- writing ----

/// Whether a frame can be written, as it can unless its file has two types or quantities of one
/// name.
fn is_writable(data: &FrameData) -> bool {
    match data.check() {
        Ok(()) => true,
        Err(Error::SameType { .. } | Error::SameName { .. }) => false,
        Err(error) => panic!("a frame that was read cannot be written: {error}"),
    }
}

/// What is written of frames that were read has their values.
fn write_again(frames: &[FrameData], precision: Precision) {
    let Some(first) = frames.first() else { return };
    let schema_version = match precision {
        Precision::Single => schema::VERSION_1,
        Precision::Double => schema::VERSION,
    };
    let about = Attributes { schema: schema::NAME, schema_version, ..Attributes::default() };
    let slots = vec![Slot::EMPTY; FIELDS.len() + first.log.len() + 1];
    let file = striae_core::gsd::Writer::create(Growing::default(), &about, slots).unwrap();
    let mut writer = Writer::new(file, Start::new(schema_version, precision).unwrap());
    let mut written = Vec::new();
    for frame in frames {
        let mut frame = frame.clone();
        let is_known = |name: &String| first.log.iter().any(|(other, _)| other == name);
        if !frame.log.iter().all(|(name, _)| is_known(name)) {
            let refused = writer.append(&frame).unwrap_err();
            let is_right =
                matches!(refused, DriveError::Format(Fault::Hoomd(Error::NotInFrame0 { .. })));
            assert!(is_right, "{refused}");
            frame.log.retain(|(name, _)| is_known(name));
        }
        assert_eq!(writer.append(&frame).unwrap(), u64::try_from(written.len()).unwrap());
        written.push(rounded(frame, precision));
    }
    writer.close().unwrap();
    let bytes = writer.into_file().into_store().0;
    let again = Trajectory::<File<&[u8]>>::open(&bytes).unwrap();
    assert_eq!(again.len(), u64::try_from(written.len()).unwrap());
    for (frame, written) in again.frames(..).zip(&written) {
        assert_same(&frame.unwrap().read().unwrap(), written);
    }
}

/// The numbers that a file of this precision has. Those that equal frame 0's, which are rounded
/// themselves, or the default are the same.
fn rounded(mut frame: FrameData, precision: Precision) -> FrameData {
    let particles = &mut frame.particles;
    for floats in [
        &mut particles.mass,
        &mut particles.charge,
        &mut particles.diameter,
        &mut particles.moment_inertia,
        &mut particles.position,
        &mut particles.orientation,
        &mut particles.velocity,
        &mut particles.angmom,
        &mut frame.constraints.value,
    ] {
        *floats = floats.take().map(|floats| floats.into_precision(precision));
    }
    let lengths = striae_hoomd::Floats::F64(frame.configuration.box_.unwrap().to_vec());
    let lengths = lengths.into_precision(precision).into_f64();
    frame.configuration.box_ = lengths.try_into().ok();
    frame
}
