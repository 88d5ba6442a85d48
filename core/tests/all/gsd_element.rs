//! Rows of numbers are logged as chunks of their type, in the byte order of files.

use striae_core::gsd::{Attributes, ChunkType, Element, Logger, Reader};

fn logged<T: Element, const M: usize>(rows: &[[T; M]]) -> (ChunkType, u64, u32, Vec<u8>) {
    let mut card = vec![0xFF; 1 << 14];
    let mut log =
        Logger::<_, 2>::open_or_create(card.as_mut_slice(), &Attributes::default()).unwrap();
    let id = log.name("rows").unwrap();
    log.write(id, rows).unwrap();
    log.end_frame().unwrap();
    let mut window = [0; 256];
    let file = Reader::open(card.as_slice(), &mut window).unwrap();
    let chunk = file.find(0, id, &mut window).unwrap().unwrap();
    let n = file.read(chunk.span, &mut window).unwrap();
    (chunk.kind, chunk.n, chunk.m, window[..n].to_vec())
}

#[test]
fn the_type_of_the_rows_is_the_type_of_the_chunk() {
    let bytes = vec![0x02, 0x01, 0x04, 0x03, 0x06, 0x05];
    assert_eq!(logged(&[[0x0102_u16], [0x0304], [0x0506]]), (ChunkType::U16, 3, 1, bytes.clone()));
    assert_eq!(logged(&[[0x0102_i16, 0x0304, 0x0506]]), (ChunkType::I16, 1, 3, bytes));
    let bytes = [0.5_f32, -1.0].into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(logged(&[[0.5_f32, -1.0]]), (ChunkType::F32, 1, 2, bytes));
    let bytes = 1e300_f64.to_le_bytes().to_vec();
    assert_eq!(logged(&[[1e300_f64]]), (ChunkType::F64, 1, 1, bytes));
    assert_eq!(logged::<u8, 4>(&[]), (ChunkType::U8, 0, 4, vec![]));
    let kinds = [i8::KIND, u32::KIND, i32::KIND, u64::KIND, i64::KIND];
    let expected = [ChunkType::I8, ChunkType::U32, ChunkType::I32, ChunkType::U64, ChunkType::I64];
    assert_eq!(kinds, expected);
}
