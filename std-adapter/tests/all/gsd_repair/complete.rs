//! What is called complete is all there: nothing that is left behind is called so.

use super::*;
use recover::{Tally, Whole, recover_and_compare, stride};
use striae::Verify;
use striae::gsd::recover::Recover;
use striae::gsd::verify::{FindingKind, Severity};
use striae::gsd::{File, Stale};
use striae_core::gsd::Version;
use striae_kit::gsd_stock::{Chunk, Stock};

/// A file that gsd has appended this many frames to, one at a time.
fn appended_to(file: &[u8], frames: u64) -> Vec<u8> {
    let mut stock = Stock::open(file, 1);
    let first = Whole::new(file.to_vec()).frames.len() as u64;
    for frame in first..first + frames {
        stock.flush(&[Chunk { frame, name: b"step", bytes: b"12345678" }], None);
        stock.states.clear();
    }
    stock.file
}

/// Files of gsd and of ours, and of ours that gsd has appended to.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    let golden = |name: &str| fs::read(golden_dir().join(name)).unwrap();
    let v1 = Version { major: 1, minor: 0 };
    let bare = Shape { checksums: false, ..Shape::default() };
    let made = |shape| Made::new(shape).bytes;
    vec![
        ("of gsd", golden("v21_hoomd_varying_N.gsd")),
        ("of gsd, its index moved", golden("v21_realloc_500_flush.gsd")),
        ("of gsd, layer 1", golden("v10_names_200_appended_by_501.gsd")),
        ("committed", made(bare)),
        ("sealed", made(Shape::default())),
        ("appended", appended_to(&made(bare), 1)),
        ("appended, many frames", appended_to(&made(bare), 300)),
        ("appended, sealed", appended_to(&made(Shape { frames: 20, ..Shape::default() }), 1)),
        ("appended, aligned", appended_to(&made(Shape { align: 512, ..bare }), 1)),
        ("appended, layer 1", appended_to(&made(Shape { layer: v1, ..bare }), 1)),
        ("appended, small", appended_to(&made(Shape { checksums: false, ..Shape::small() }), 1)),
    ]
}

/// What damage `verify` finds, but for a header that was torn, of which a shadow has all.
fn damage(path: &Path) -> Vec<String> {
    let mut damage = Vec::new();
    let mut each = |finding: striae::gsd::verify::Finding| {
        let is_torn = matches!(finding.what, FindingKind::Torn { .. });
        if finding.severity == Severity::Damage && !is_torn {
            damage.push(finding.to_string());
        }
    };
    Verify::new().gsd(path, &mut each).unwrap();
    damage
}

#[test]
fn what_recover_calls_complete_is_all_there_whatever_bit_of_the_header_is_wrong() {
    for (name, bytes) in files() {
        let whole = Whole::new(bytes);
        let (mut complete, mut nothing) = (0, 0);
        for bit in (0..256 * 8).step_by(stride(2048, 60)) {
            let mut bytes = whole.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (_dir, path) = file_of(&bytes);
            let at = format!("{name}: bit {} of byte {}", bit % 8, bit / 8);
            let Ok(recovery) = Recover::new().examine(&path) else {
                nothing += 1;
                continue;
            };
            if !recovery.is_complete() {
                assert!(!recovery.is_exact(), "{at}");
                continue;
            }
            complete += 1;
            assert_eq!(damage(&path), Vec::<String>::new(), "{at}");
            if whole.bytes[176..182] != *b"striae" {
                continue; // nothing tells of another name list, or a shorter index
            }
            let mut tally = Tally::default();
            let runs = recover_and_compare(&whole, &bytes, &mut tally);
            assert_eq!((tally.whole, tally.wrong), (1, 0), "{at}: {runs:?}");
        }
        println!("{name}: {complete} complete, {nothing} without anything to recover");
    }
}

/// Nobody needs it any more, so a reader that does not refuse the file loses nothing.
#[test]
fn a_wrong_bit_in_a_stale_record_costs_no_frame() {
    for (name, bytes) in files() {
        if !name.starts_with("appended") {
            continue;
        }
        let whole = Whole::new(bytes);
        let mut tally = Tally::default();
        for bit in (176 * 8..256 * 8).step_by(stride(640, 30)) {
            let mut bytes = whole.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let runs = recover_and_compare(&whole, &bytes, &mut tally);
            let at = format!("{name}: bit {} of byte {}", bit % 8, bit / 8);
            assert_eq!((tally.whole, tally.wrong), (tally.files, 0), "{at}: {runs:?}");
        }
    }
}

/// Without a shadow nobody knows whether a stale record is as it was.
#[test]
fn an_alignment_that_no_writer_gives_is_not_taken_from_a_stale_record() {
    let mut bytes = appended_to(&Made::new(Shape::default()).bytes, 1);
    bytes[512..1024].fill(0);
    for align in [0, 9, 30, 31, 40, 63, 64, 255] {
        bytes[176 + 72] = align;
        let (dir, path) = file_of(&bytes);
        let file = File::open(&path).unwrap();
        let given = Stale::of(file.head()).map(|stale| stale.align);
        assert_eq!(given, Some(if align <= 30 { 1 << align } else { 1 }), "{align}");
        if align == 30 {
            continue; // the new file would have a hole of a GiB
        }
        let out = dir.path().join("out.gsd");
        Recover::new().examine(&path).unwrap().write(&out, &|_| {}).unwrap();
        assert_eq!(made::frames_of(&out).unwrap().len(), 4);
    }
}
