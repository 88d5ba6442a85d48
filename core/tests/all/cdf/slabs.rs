//! Runs of bytes of a region are those of its values, one after another.

use striae_core::cdf::layout::{RecordSize, padded};
use striae_core::cdf::{Error, Layout, Region, Slab};
use striae_core::span::Span;

/// The offset of each value of a region, the slow way.
fn offsets(layout: Layout, shape: &[u64], region: Region<'_>) -> Vec<u64> {
    let mut indices = vec![vec![]];
    for dim in 0..shape.len() {
        let stride = region.stride.map_or(1, |stride| stride[dim]);
        let values = (0..region.count[dim]).map(|n| region.start[dim] + n * stride);
        let values: Vec<_> = values.collect();
        let longer = |index: &Vec<u64>, value: &u64| [&index[..], &[*value]].concat();
        indices = indices
            .iter()
            .flat_map(|index| values.iter().map(move |value| longer(index, value)))
            .collect();
    }
    let offset = |index: &Vec<u64>| {
        let (mut weight, mut offset) = (layout.value_len, layout.first.offset());
        for dim in (0..shape.len()).rev() {
            let records = layout.recsize.filter(|_| dim == 0);
            offset += index[dim] * records.unwrap_or(weight);
            weight *= shape[dim];
        }
        offset
    };
    indices.iter().map(offset).collect()
}

fn check(layout: Layout, shape: &[u64], region: Region<'_>) {
    let slab = Slab::new(layout, shape, region).unwrap();
    let found: Vec<_> = slab.runs().collect();
    assert_eq!(found.len() as u64, slab.count());
    let values = found.iter().flat_map(|run| {
        assert_eq!(run.len() % layout.value_len, 0);
        assert!(!run.is_empty() && run.end() <= slab.end());
        (0..run.len() / layout.value_len).map(|n| run.offset() + n * layout.value_len)
    });
    let values: Vec<_> = values.collect();
    let expected = offsets(layout, shape, region);
    assert_eq!(values, expected, "{shape:?} {region:?}");
    assert_eq!(slab.len(), expected.len() as u64 * layout.value_len);
    assert_eq!(slab.is_empty(), expected.is_empty());
    if let Some(last) = expected.last() {
        assert_eq!(slab.end(), last + layout.value_len);
    }
}

/// All (start, count, stride) that a dimension of this length has.
fn parts(length: u64) -> Vec<[u64; 3]> {
    let mut parts = vec![];
    for start in 0..=length {
        for count in 0..=length - start {
            for stride in 1..=3 {
                if count == 0 || start + (count - 1) * stride < length {
                    parts.push([start, count, stride]);
                }
            }
        }
    }
    parts
}

#[test]
fn every_region_of_small_arrays_is_its_values_in_order() {
    for recsize in [None, Some(24), Some(40)] {
        let first = Span::new(1000, 24).unwrap();
        let layout = Layout { first, recsize, value_len: 2 };
        for a in parts(3) {
            for b in parts(3) {
                for c in parts(4) {
                    let [start, count, stride] = [0, 1, 2].map(|n| [a[n], b[n], c[n]]);
                    let region = Region { start: &start, count: &count, stride: Some(&stride) };
                    check(layout, &[3, 3, 4], region);
                }
            }
        }
    }
}

#[test]
fn what_follows_without_a_gap_is_one_run() {
    let first = Span::new(64, 60).unwrap();
    let whole = |recsize, shape| {
        let layout = Layout { first, recsize, value_len: 4 };
        let region = Region { start: &[0, 0, 0], count: shape, stride: None };
        Slab::new(layout, shape, region).unwrap().count()
    };
    assert_eq!(whole(None, &[5, 3, 1]), 1);
    assert_eq!(whole(Some(12), &[5, 3, 1]), 1); // the only record variable
    assert_eq!(whole(Some(16), &[5, 3, 1]), 5);
    let layout = Layout { first, recsize: None, value_len: 4 };
    let rows = Region { start: &[1, 0], count: &[3, 3], stride: None };
    assert_eq!(Slab::new(layout, &[5, 3], rows).unwrap().count(), 1);
    let scalar = Region { start: &[], count: &[], stride: None };
    let scalar = Slab::new(layout, &[], scalar).unwrap();
    assert_eq!((scalar.run(0), scalar.run(1)), (Span::new(64, 4), None));
}

#[test]
fn what_a_variable_does_not_have_is_refused() {
    let layout = Layout { first: Span::new(64, 60).unwrap(), recsize: None, value_len: 4 };
    let new = |start: &[u64], count: &[u64], stride: Option<&[u64]>| {
        Slab::new(layout, &[5, 3], Region { start, count, stride }).map(|slab| slab.count())
    };
    assert_eq!(new(&[0], &[1, 1], None), Err(Error::Rank { ndims: 2, given: 1 }));
    assert_eq!(new(&[0, 0], &[1, 1, 1], None), Err(Error::Rank { ndims: 2, given: 3 }));
    assert_eq!(new(&[0, 0], &[1, 1], Some(&[])), Err(Error::Rank { ndims: 2, given: 0 }));
    let out = |dim, last, length| Err(Error::OutOfShape { dim, last, length });
    assert_eq!(new(&[0, 3], &[1, 1], None), out(1, 3, 3));
    assert_eq!(new(&[4, 0], &[2, 1], None), out(0, 5, 5));
    assert_eq!(new(&[0, 0], &[3, 1], Some(&[3, 1])), out(0, 6, 5));
    assert_eq!(new(&[u64::MAX, 0], &[u64::MAX, 1], None), out(0, u64::MAX, 5));
    assert_eq!(new(&[0, 0], &[1, 1], Some(&[1, 0])), Err(Error::ZeroStride { dim: 1 }));
    assert_eq!(new(&[9, 9], &[0, 1], None), out(1, 9, 3));
    assert_eq!(new(&[9, 0], &[0, 1], None), Ok(0));
}

#[test]
fn an_array_that_no_file_holds_is_refused() {
    let huge = [1 << 40, 1 << 40];
    let layout = Layout { first: Span::new(64, 1).unwrap(), recsize: None, value_len: 8 };
    let region = Region { start: &[(1 << 40) - 1, 0], count: &[1, 1], stride: None };
    assert_eq!(Slab::new(layout, &huge, region), Err(Error::Size { begin: 64 }));
    let records = Layout { recsize: Some(1 << 40), ..layout };
    assert_eq!(records.record(1 << 24), None);
    assert_eq!(records.record(1 << 20), Span::new((1 << 60) + 64, 1));
    assert_eq!(layout.record(0), None);
}

#[test]
fn one_record_variable_is_not_padded_and_several_are() {
    let one = RecordSize::default().with(6).unwrap();
    assert_eq!((RecordSize::default().get(), one.get()), (0, 6));
    assert_eq!(one.with(5).unwrap().get(), 16);
    assert_eq!(one.with(u64::MAX), None);
    assert_eq!(one.with(u64::MAX - 7), None);
    assert_eq!([0, 1, 4, 5].map(padded), [Some(0), Some(4), Some(4), Some(8)]);
    assert_eq!(padded(u64::MAX - 2), None);
}
