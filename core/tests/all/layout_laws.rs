//! Laws of spans and of the layout, on random files; their writer shares no code with striae's.

use core::num::NonZeroU64;
use embedded_io::{Seek, SeekFrom};
use proptest::collection::vec;
use proptest::prelude::*;
use striae_core::endian::ByteOrder;
use striae_core::sion::position::{Ends, Lengths};
use striae_core::sion::{Opened, Physical, ReadError, Stream};
use striae_core::span::{Span, round_up};
use striae_core::store::ReadAt;
use striae_kit::everything::{parse_records, read_within_budget};
use striae_kit::sion_file::{SionFile, SionTask};

/// How full each chunk of a task is, in parts of 255.
type Shape = (i64, u64, Vec<u8>);

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let chunksize = prop_oneof![0u64..=40, 0u64..=600, 0u64..=5000];
    let fill = prop_oneof![Just(0u8), Just(255), any::<u8>()];
    let task = (any::<i64>(), chunksize, vec(fill, 1..5));
    prop_oneof![vec(task.clone(), 1..=4), vec(task, 1..=40)]
}

prop_compose! {
    fn files()(
        shapes in shapes(),
        version in 2..=5,
        big_endian in any::<bool>(),
        fsblksize in prop_oneof![1u32..=20, 1u32..=5000],
        is_keyval in any::<bool>(),
        unused in prop_oneof![Just(0), Just(-1), any::<i64>()],
        gap in 0u64..100,
        seed in any::<u64>(),
    ) -> SionFile {
        let flag1 = if is_keyval { 51 << 32 } else { 50 << 32 };
        let made = SionFile::default();
        let mut file = SionFile { version, big_endian, fsblksize, flag1, unused, gap, ..made };
        let mut noise = noise(seed);
        file.tasks = shapes.into_iter().map(|(globalrank, chunksize, fills)| {
            let unit = if version < 4 { u64::from(fsblksize) } else { 1 };
            let room = usize::try_from(chunksize.div_ceil(unit) * unit).unwrap();
            let lens = fills.into_iter().map(|fill| room * usize::from(fill) / 255);
            let chunks = lens.map(|len| noise.by_ref().take(len).collect()).collect();
            SionTask { globalrank, chunksize, chunks }
        }).collect();
        file
    }
}

/// Bytes of a linear congruential generator.
fn noise(mut state: u64) -> impl Iterator<Item = u8> {
    core::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
}

fn closed(bytes: &[u8]) -> Physical<&[u8]> {
    match Physical::open(bytes, &mut [0; 1076]).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("not closed"),
    }
}

fn ends(task: &SionTask) -> Ends<Vec<u64>> {
    let lens = task.chunks.iter().map(|chunk| u64::try_from(chunk.len()).unwrap());
    let ends = lens.scan(0, |end, len| {
        *end += len;
        Some(*end)
    });
    Ends::new(ends.collect()).unwrap()
}

/// Reads and seeks as told, on a stream and on its bytes in memory.
fn same_as_memory<S, L>(mut stream: Stream<S, L>, bytes: &[u8], moves: &[(u8, i64, usize)])
where
    S: ReadAt<Error: core::fmt::Debug>,
    L: Lengths<ReadError<S>>,
{
    let len = i64::try_from(bytes.len()).unwrap();
    let mut at = 0i64;
    for &(how, by, size) in moves {
        let by = by % (len + 3);
        let (to, target) = match how % 4 {
            0 => (SeekFrom::Start(by.unsigned_abs()), by.abs()),
            1 => (SeekFrom::End(by), len + by),
            2 => (SeekFrom::Current(by), at + by),
            _ => (SeekFrom::Current(0), at),
        };
        match u64::try_from(target) {
            Ok(position) => {
                assert_eq!(stream.seek(to).unwrap(), position);
                at = target;
            }
            Err(_) => {
                stream.seek(to).unwrap_err();
                assert_eq!(stream.position(), at.unsigned_abs(), "a refused seek moves nothing");
            }
        }
        let rest = bytes.get(usize::try_from(at).unwrap()..).unwrap_or_default();
        let mut buf = vec![0; size];
        let n = stream.read(&mut buf).unwrap();
        assert!(n <= size && (n > 0 || size == 0 || rest.is_empty()));
        assert_eq!(buf[..n], rest[..n]);
        at += i64::try_from(n).unwrap();
        let all = stream.read_all(&mut buf);
        let rest = &rest[n..];
        match rest.get(..size) {
            Some(expected) => {
                all.unwrap();
                assert_eq!(buf, expected);
                at += i64::try_from(size).unwrap();
            }
            None => {
                assert!(all.is_err(), "behind the end");
                at += i64::try_from(rest.len()).unwrap();
            }
        }
        assert_eq!(stream.position(), at.unsigned_abs());
    }
}

proptest! {
    #![proptest_config(crate::config(160))]

    #[test]
    fn every_file_reads_as_it_was_written(file in files()) {
        let (bytes, places) = (file.bytes(), file.places());
        let summary = read_within_budget(&bytes).unwrap();
        let tasks = summary.tasks.unwrap();
        prop_assert_eq!(tasks.len(), file.tasks.len());
        for (local, (read, written)) in tasks.into_iter().zip(&file.tasks).enumerate() {
            let read = read.unwrap();
            let (task, stream) = (read.listed.task, written.stream());
            prop_assert_eq!(task.globalrank, written.globalrank);
            prop_assert_eq!(task.chunks.start, places.starts[local]);
            prop_assert_eq!(task.chunks.chunksize, places.sizes[local]);
            prop_assert_eq!(task.blockcount, u64::try_from(written.chunks.len()).unwrap());
            let order = if file.big_endian { ByteOrder::Big } else { ByteOrder::Little };
            let is_keyval = file.version == 5 && file.flag1 == 51 << 32;
            prop_assert_eq!(read.records.is_some(), is_keyval);
            let records = read.records.map(|(records, _)| records);
            prop_assert!(records.is_none_or(|found| found == parse_records(&stream, order).0));
            prop_assert_eq!(read.stream, stream);
        }
    }

    #[test]
    fn chunks_overlap_neither_each_other_nor_the_metadata(file in files()) {
        let (bytes, places) = (file.bytes(), file.places());
        let opened = closed(&bytes);
        let mut chunks = Vec::new();
        for task in opened.tasks(vec![0; 4096]).unwrap() {
            let task = task.unwrap().task;
            chunks.extend((0..places.maxchunks).map(|chunk| task.chunks.chunk(chunk).unwrap()));
        }
        chunks.sort_by_key(|chunk| (chunk.offset(), chunk.len()));
        prop_assert!(chunks.windows(2).all(|pair| pair[0].end() <= pair[1].offset()));
        prop_assert!(chunks.windows(2).all(|pair| !pair[0].overlaps(pair[1])));
        let layout = opened.meta1().layout();
        let tables = [layout.globalranks(), layout.chunksizes()];
        let meta1 = [layout.fixed(), tables[0], tables[1], layout.commit_fields()];
        prop_assert!(meta1.windows(2).all(|pair| pair[0].end() == pair[1].offset()));
        let meta2 = opened.meta2();
        let meta2 = Span::new(meta2.start(), meta2.end() - meta2.start()).unwrap();
        prop_assert_eq!((meta2.offset(), meta2.end()), (places.varheader, places.meta2_end));
        for chunk in chunks {
            prop_assert!(chunk.offset() >= layout.meta1_end() && !chunk.overlaps(meta2));
            prop_assert!(meta1.iter().all(|table| !chunk.overlaps(*table)));
        }
        // chunks of a block follow each other, and blocks do, without a gap
        let used: u64 = places.maxchunks * places.globalskip;
        prop_assert_eq!(places.first + used + file.gap, meta2.offset());
    }

    #[test]
    fn positions_spans_and_pointers_are_inverse(file in files(), picks in vec(any::<u16>(), 8)) {
        let (bytes, places) = (file.bytes(), file.places());
        let opened = closed(&bytes);
        for (local, written) in (0..).zip(&file.tasks) {
            let task = opened.task(local, &mut [0; 64]).unwrap();
            let len = u64::try_from(written.stream().len()).unwrap();
            let mut walk = opened.stream(task);
            let mut ends = Stream::new(*opened.store(), task.chunks, ends(written));
            for pick in picks.iter().map(|&pick| u64::from(pick) * len / 65535) {
                walk.seek_to(pick);
                ends.seek_to(pick);
                let location = walk.location().unwrap();
                prop_assert_eq!(location, ends.location().unwrap());
                let Some((chunk, offset)) = location else { prop_assert_eq!(len, 0); continue };
                prop_assert_eq!(walk.position_of(chunk, offset).unwrap(), pick);
                prop_assert_eq!(ends.position_of(chunk, offset).unwrap(), pick);
                let span = walk.next_span(u64::MAX).unwrap();
                prop_assert_eq!(span, ends.next_span(u64::MAX).unwrap());
                let Some(span) = span else { prop_assert_eq!(pick, len); continue };
                // by the definition of the layout
                let index = usize::try_from(local).unwrap();
                let block = chunk * places.globalskip;
                prop_assert_eq!(span.offset(), places.starts[index] + block + offset);
                let rest = &written.chunks[usize::try_from(chunk).unwrap()];
                prop_assert_eq!(span.len(), u64::try_from(rest.len()).unwrap() - offset);
                prop_assert_eq!(walk.position(), pick + span.len());
                walk.seek_to(pick);
                prop_assert_eq!(walk.next_span(1).unwrap(), span.part(0, 1));
                prop_assert_eq!(walk.position(), pick + 1);
            }
        }
    }

    #[test]
    fn any_reads_and_seeks_give_the_bytes_that_were_written(
        file in files(),
        moves in vec((any::<u8>(), any::<i64>(), 0usize..700), 1..40),
    ) {
        let bytes = file.bytes();
        let opened = closed(&bytes);
        for (local, written) in (0..).zip(&file.tasks) {
            let task = opened.task(local, &mut [0; 64]).unwrap();
            let stream = written.stream();
            same_as_memory(opened.stream(task), &stream, &moves);
            let in_memory = Stream::new(*opened.store(), task.chunks, ends(written));
            same_as_memory(in_memory, &stream, &moves);
        }
    }

    #[test]
    fn a_list_with_any_window_is_its_tasks_one_by_one(file in files(), window in 40usize..3000) {
        let bytes = file.bytes();
        let opened = closed(&bytes);
        let listed = opened.tasks(vec![0; window]).unwrap();
        for (local, listed) in (0..).zip(listed.map(Result::unwrap)) {
            let found = opened.task(local, &mut vec![0; window]).unwrap();
            let mut same = listed.task;
            same.chunks.globalskip = same.chunks.globalskip.filter(|_| same.blockcount > 1);
            prop_assert_eq!(found, same);
            let lens = opened.chunk_lens(found, vec![0; window]).map(Result::unwrap);
            prop_assert_eq!(lens.sum::<u64>(), listed.bytes);
        }
        prop_assert_eq!(opened.tasks(vec![0; window]).unwrap().count(), file.tasks.len());
    }

    #[test]
    fn a_damaged_byte_of_the_metadata_costs_no_more_than_it_says(
        file in files(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        in_meta1 in any::<bool>(),
    ) {
        let (mut bytes, places) = (file.bytes(), file.places());
        let whole = read_within_budget(&bytes).unwrap();
        let (from, to) =
            if in_meta1 { (0, places.commit + 12) } else { (places.varheader, places.meta2_end) };
        let at = from + u64::try_from(at.index(usize::try_from(to - from).unwrap())).unwrap();
        bytes[usize::try_from(at).unwrap()] = value;
        let read = read_within_budget(&bytes);
        if !in_meta1 {
            let read = read.unwrap();
            let ntasks = u64::try_from(file.tasks.len()).unwrap();
            let hit = (at - places.varheader) / 8 % ntasks;
            for other in (0..file.tasks.len()).filter(|&task| u64::try_from(task) != Ok(hit)) {
                prop_assert_eq!(read.stream(other), whole.stream(other));
            }
        }
    }
}

fn span() -> impl Strategy<Value = Span> {
    let near = prop_oneof![0u64..300, u64::MAX - 300..=u64::MAX, any::<u64>()];
    (near.clone(), near).prop_filter_map("no span", |(offset, len)| Span::new(offset, len))
}

proptest! {
    #![proptest_config(crate::config(512))]

    #[test]
    fn a_span_is_its_offset_and_length(offset in any::<u64>(), len in any::<u64>()) {
        match Span::new(offset, len) {
            Some(span) => {
                prop_assert_eq!((span.offset(), span.len()), (offset, len));
                prop_assert_eq!(span.end(), offset + len);
                prop_assert_eq!(span.is_empty(), len == 0);
                prop_assert!(span.fits(span.end()));
                prop_assert!(span.end() == 0 || !span.fits(span.end() - 1));
            }
            None => prop_assert!(offset.checked_add(len).is_none()),
        }
    }

    #[test]
    fn a_table_is_its_entries(offset in any::<u64>(), count in any::<u32>(), entry in 0u64..64) {
        let table = Span::of_table(offset, count.into(), entry);
        prop_assert_eq!(table, Span::new(offset, u64::from(count) * entry));
        if let (Some(table), Some(last)) = (table, count.checked_sub(1)) {
            let last = table.part(u64::from(last) * entry, entry).unwrap();
            prop_assert_eq!(last.end(), table.end());
        }
    }

    #[test]
    fn a_part_of_a_part_is_a_part(
        span in span(),
        a in 0u64..400,
        b in 0u64..400,
        len in 0u64..400,
    ) {
        let inner = span.part(a, span.len().saturating_sub(a));
        let by_two = inner.and_then(|inner| inner.part(b, len));
        let by_one = span.part(a + b, len);
        prop_assert_eq!(by_two.is_some(), by_one.is_some());
        prop_assert_eq!(by_two, by_one);
        if let Some(part) = by_one {
            prop_assert!(part.offset() >= span.offset() && part.end() <= span.end());
            prop_assert!(part.is_empty() || part.overlaps(span));
        }
        prop_assert_eq!(span.part(0, span.len()), Some(span));
        prop_assert_eq!(span.part(span.len(), 0).unwrap().offset(), span.end());
    }

    #[test]
    fn overlapping_is_mutual_and_means_a_shared_byte(a in span(), b in span()) {
        prop_assert_eq!(a.overlaps(b), b.overlaps(a));
        prop_assert_eq!(a.overlaps(a), !a.is_empty());
        let first = a.offset().max(b.offset());
        let holds = |span: Span| span.offset() <= first && first < span.end();
        prop_assert_eq!(a.overlaps(b), holds(a) && holds(b));
    }

    #[test]
    fn rounding_up_gives_the_next_multiple(value in any::<u64>(), unit in 1u64..=u64::MAX) {
        for unit in [unit, unit % 5000 + 1] {
            match round_up(value, NonZeroU64::new(unit).unwrap()) {
                Some(rounded) => {
                    prop_assert!(rounded >= value && rounded - value < unit);
                    prop_assert_eq!(rounded % unit, 0);
                }
                None => prop_assert!(value.checked_next_multiple_of(unit).is_none()),
            }
        }
    }
}
