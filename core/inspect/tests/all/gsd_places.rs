//! Headers whose record and shadows are sound and whose blocks are at wrong places.

use striae_core::gsd::raw::{self, Shadow};
use striae_core::gsd::{Attributes, ChunkType, Error, Slot, Writer};
use striae_core::integrity::crc32c;
use striae_core::step::DriveError;
use striae_inspect::finding::{Found as _, Severity};
use striae_inspect::gsd::verify::{Depth, verify};
use striae_kit::growing::Growing;
use zerocopy::{FromBytes, IntoBytes};

fn written() -> Vec<u8> {
    let memory = vec![Slot::EMPTY; 8];
    let about = Attributes { checksums: true, ..Attributes::default() };
    let mut writer = Writer::create(Growing::default(), &about, memory).unwrap();
    let id = writer.name(b"one").unwrap();
    for frame in 0_u8..3 {
        writer.write_chunk(id, ChunkType::U8, 1, &[frame + 1; 30]).unwrap();
        writer.end_frame().unwrap();
        writer.commit().unwrap();
    }
    writer.close().unwrap();
    writer.into_store().0
}

/// Offsets of the numbers that say where blocks are: start and length of the index, start and
/// length of the names, all of the index, the end of the data, the shadows.
const FIELDS: [usize; 7] = [8, 16, 24, 32, 192, 200, 208];

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Makes the record and both shadows those of the header's fields, if there is room for them.
fn seal(bytes: &mut [u8]) {
    let image = raw::Header::read_from_bytes(&bytes[..256]).unwrap().image();
    bytes[252..256].copy_from_slice(&image.commit_crc(crc32c).to_le_bytes());
    let image = raw::Header::read_from_bytes(&bytes[..256]).unwrap().image();
    let (shadow, both) = (Shadow::of(&image, &image, 0, crc32c), number(bytes, 208));
    for sequence in 0..2 {
        let at = Shadow::offset_of(both, sequence);
        let place = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at..)?.get_mut(..256));
        if let Some(place) = place {
            place.copy_from_slice(shadow.as_bytes());
        }
    }
}

#[test]
fn a_file_whose_blocks_a_writer_refuses_is_not_sound() {
    let good = written();
    let (mut overlaps, mut outsides) = (0, 0);
    let known: Vec<u64> = FIELDS.iter().map(|&at| number(&good, at)).collect();
    let end = good.len() as u64;
    let mut values = vec![0, 1, 64, 128, 256, 512, 1024, end];
    values.extend(&known);
    values.extend(known.iter().map(|value| value + 64));
    values.extend(known.iter().map(|value| value.saturating_sub(64)));
    values.sort_unstable();
    values.dedup();
    for (number, &first) in FIELDS.iter().enumerate() {
        for &second in &FIELDS[number..] {
            for &one in &values {
                for &other in &values {
                    let mut bytes = good.clone();
                    bytes[second..second + 8].copy_from_slice(&other.to_le_bytes());
                    bytes[first..first + 8].copy_from_slice(&one.to_le_bytes());
                    seal(&mut bytes);
                    let mut damage = 0;
                    verify(&bytes.as_slice(), Depth::Data, &mut |finding| {
                        damage += u64::from(finding.severity() == Severity::Damage);
                    })
                    .unwrap();
                    let opened = Writer::open(Growing(bytes), vec![Slot::EMPTY; 8]);
                    let Err(DriveError::Format(error)) = opened.map(drop) else { continue };
                    overlaps += u64::from(matches!(error, Error::Overlap { .. }));
                    outsides += u64::from(matches!(error, Error::Outside { .. }));
                    let place = format!("{first} {one}, {second} {other}");
                    assert!(damage > 0, "{place} is called sound and not opened: {error}");
                }
            }
        }
    }
    assert!(overlaps > 100 && outsides > 100, "{overlaps} {outsides}");
}
