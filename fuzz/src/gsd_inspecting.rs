//! The bodies of `gsd_verify` and `gsd_recover`: what a file is called is what it is.

use crate::bounded::Bounded;
use crate::gsd_linear::{seal, seal_ahead, seal_shadow};
use crate::mapping::{check_dump, check_map};
use core::cell::Cell;
use core::convert::Infallible;
use std::collections::BTreeMap;
use striae_core::gsd::{Slot, Writer, checksums};
use striae_core::store::ReadAt;
use striae_inspect::finding::{Found, Severity};
use striae_inspect::gsd::FindingKind;
use striae_inspect::gsd::recover::{Certainty, IntoWriter, Recovery};
use striae_inspect::gsd::verify::{Depth, verify};
use striae_inspect::subject::Subject;
use striae_kit::gsd_everything::{Summary, read_everything};

/// Times that each byte of a file may be read to inspect it, and bytes besides.
const WORK: (u64, u64) = (96, 1 << 22);

/// A file in memory that panics if it is read too often, or outside.
struct Watched<'a> {
    bytes: &'a [u8],
    left: Cell<u64>,
}

impl<'a> Watched<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let len = u64::try_from(bytes.len()).unwrap();
        Self { bytes, left: Cell::new(len * WORK.0 + WORK.1) }
    }
}

impl ReadAt for Watched<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let end = offset.checked_add(u64::try_from(buf.len()).unwrap());
        assert!(end.is_some_and(|end| end <= self.size().unwrap()), "{} at {offset}", buf.len());
        let work = u64::try_from(buf.len()).unwrap() + 16;
        self.left.set(self.left.get().checked_sub(work).expect("read too often"));
        Ok(self.bytes.read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(u64::try_from(self.bytes.len()).unwrap())
    }
}

impl Subject for Watched<'_> {}

/// Does it with a file as it is, and with right checksums in its commit record and its shadows.
fn each_sealing(data: &[u8], check: fn(&[u8])) {
    check(data);
    if data.get(176..).is_some_and(|record| record.starts_with(b"striae\0\x01")) {
        let mut sealed = data.to_vec();
        for seal in [seal_shadow, seal, seal_ahead] {
            seal(&mut sealed);
            check(&sealed);
        }
    }
}

/// The input is a GSD file. Called sound, it can be read in all ways, and holds what was said.
pub fn gsd_verify(data: &[u8]) {
    each_sealing(data, |bytes| {
        let _damage = verified(bytes);
        check_map(striae_inspect::gsd::map(&bytes));
        check_dump(bytes, |each| striae_inspect::gsd::dump(&bytes, each).is_ok());
    });
}

/// What verifying finds that counts as damage.
fn verified(bytes: &[u8]) -> Vec<FindingKind> {
    let mut damage = Vec::new();
    let subject = Watched::new(bytes);
    let summary = verify(&subject, Depth::Data, &mut |finding| {
        let (text, facts) = (finding.to_string(), finding.facts());
        assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
        assert!(!text.contains("a field"), "a field without a name: {text}");
        assert!(!matches!(facts.kind, "" | "wrong"), "{finding:?}");
        if finding.severity() == Severity::Damage {
            damage.push(finding);
        }
    });
    let Ok(summary) = summary;
    assert_eq!(summary.damage, u64::try_from(damage.len()).unwrap());
    assert!(summary.data.checked <= summary.data.bytes);
    if damage.is_empty() {
        let read = read_everything(bytes).expect("it was called sound");
        assert_eq!(summary.frames, read.head.frames);
        assert_eq!(summary.names, read.head.names);
        assert_eq!(summary.version, Some(read.head.header.version));
        assert_eq!(summary.chunks, u64::try_from(read.chunks.len()).unwrap());
        assert!(read.chunks.iter().all(Result::is_ok), "{:?}", read.chunks);
        assert!(read.names.is_ok(), "{:?}", read.names);
    }
    damage
}

/// The input is a GSD file. What is recovered of it verifies; frames that are exact or as found are
/// those of the file; recovered again, it is the same.
pub fn gsd_recover(data: &[u8]) {
    each_sealing(data, |bytes| {
        let subject = Watched::new(bytes);
        let Ok(recovery) = Recovery::examine(&subject) else {
            assert!(read_everything(bytes).is_err(), "a file that opens has something to save");
            return;
        };
        if recovery.bytes() > 1 << 20 || recovery.frames() > 1 << 10 {
            return; // chunks that share bytes
        }
        let len = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap();
        let demand = recovery.demand(len(bytes));
        if !demand.is_fair() {
            return; // an alignment that only the file asks for
        }
        let Some(new) = saved(&recovery, bytes) else { return };
        assert!(len(&new) <= demand.size, "{} bytes, at most {demand:?}", new.len());
        assert_eq!(verified(&new), [], "what was recovered is damaged");
        compare(&recovery, bytes, &new);
        let again = Recovery::examine(&Watched::new(&new)).expect("it was just written");
        assert!(again.is_complete(), "{:?}", again.runs().collect::<Vec<_>>());
        // Chunks of a frame may have stood in another order than their names.
        let same = saved(&again, &new).expect("it has room");
        let [new, same] = [&new, &same].map(|bytes| (read_everything(bytes).unwrap(), bytes));
        assert_eq!(new.0.head.frames, same.0.head.frames);
        for frame in 0..new.0.head.frames.min(64) {
            assert_eq!(frame_of(&new.0, new.1, frame), frame_of(&same.0, same.1, frame));
        }
    });
}

/// The new file; `None` if it is too long.
fn saved(recovery: &Recovery, bytes: &[u8]) -> Option<Vec<u8>> {
    let (subject, memory) = (Watched::new(bytes), vec![Slot::EMPTY; 1 << 12]);
    let store = Bounded::new(&[], 1 << 22).work(1 << 18, 1 << 26);
    let mut writer = Writer::create(store, &recovery.attributes(), memory).ok()?;
    let Ok(mut output) = IntoWriter::new(&subject, &mut writer);
    recovery.save(&subject, &mut output).ok()?;
    writer.close().ok()?;
    Some(writer.into_store().bytes)
}

/// The chunks of a frame by their names, as rows, columns and bytes. Of two of a name readers of
/// layer 1 find the last.
fn frame_of(read: &Summary, bytes: &[u8], frame: u64) -> BTreeMap<Vec<u8>, Rows> {
    let names = read.names.as_ref().unwrap();
    let chunks = read.chunks.iter().flatten().filter(|chunk| chunk.frame == frame);
    let chunks = chunks.filter_map(|chunk| {
        let places = [chunk.span.offset(), chunk.span.end()];
        let [start, end] = places.map(|at| usize::try_from(at).unwrap());
        let name = names.get(usize::from(chunk.id))?;
        let rows = (chunk.kind.number(), chunk.n, chunk.m, bytes[start..end].to_vec());
        Some((name.clone(), rows))
    });
    chunks.filter(|(name, _)| name != checksums::NAME).collect()
}

/// Type, rows, columns and bytes of a chunk.
type Rows = (u8, u64, u32, Vec<u8>);

/// Where index and names are sound, frames that are exact or as found are in both files with the
/// same chunks. Where they are not, readers may see something else.
fn compare(recovery: &Recovery, old: &[u8], new: &[u8]) {
    let after = read_everything(new).unwrap();
    assert!(after.head.frames <= recovery.frames());
    let is_of_data = |finding: &FindingKind| {
        matches!(finding, FindingKind::Chunk { .. } | FindingKind::ChunkLost { .. })
    };
    if !verified(old).iter().all(is_of_data) {
        return;
    }
    let before = read_everything(old).expect("only data are damaged");
    let is_same = |frame: u64, first: u64, certainty: Certainty| {
        let (was, is) = (frame_of(&before, old, frame), frame_of(&after, new, first));
        assert_eq!(was, is, "frame {frame}, now {first}, of {}: {certainty}", before.head.frames);
    };
    for run in recovery.runs() {
        let Some(first) = run.first else { continue };
        if matches!(run.certainty, Certainty::Exact | Certainty::AsFound(_)) {
            let frames = run.frames.clone().zip(first..);
            frames.for_each(|(frame, number)| is_same(frame, number, run.certainty));
        }
    }
}
