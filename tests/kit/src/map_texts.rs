//! The body of `map_text`: a text map is what a plain reading of it by lines finds, whatever the
//! pieces that it comes in.

use striae_core::blob::map::{Error, Event, Flaw, Grid, Join, Parser, Request, sort_and_merge};

/// A text map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    pub nprocs: u64,
    /// The fastest first.
    pub dims: Vec<u64>,
    pub ranks: Vec<(u64, Vec<u64>)>,
}

/// Reads a map that comes in pieces.
///
/// # Errors
/// Those of the parser.
pub fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Text, Error> {
    let (mut text, mut parser) = (Text::default(), Parser::default());
    let mut ndims = 0;
    let mut take = |event| match event {
        Event::Head { nprocs, ndims: count } => (text.nprocs, ndims) = (nprocs, count),
        Event::Dim { length } => text.dims.push(length),
        Event::Rank { rank, .. } => text.ranks.push((rank, Vec::new())),
        Event::Element { element, .. } => text.ranks.last_mut().unwrap().1.push(element),
    };
    for mut piece in pieces {
        while let Some(event) = parser.feed(&mut piece)? {
            take(event);
        }
    }
    parser.finish()?.into_iter().for_each(take);
    assert_eq!(text.dims.len() as u64, ndims);
    Ok(text)
}

/// Reads a map by lines; `None` if it is wrong.
fn plain(data: &[u8]) -> Option<Text> {
    let words = |line: &str| -> Vec<String> {
        line.split([' ', '\t', '\r']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let number = |word: &String| -> Option<u64> {
        word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
    };
    // Bytes that are not text are a wrong word, wherever they count.
    let data: String =
        data.iter().map(|&byte| if byte < 128 { char::from(byte) } else { '?' }).collect();
    let mut lines = data.split('\n');
    let head = words(lines.next()?);
    let [version, v, npes, p, ndims, n] = &head[..] else { return None };
    if [version, npes, ndims] != ["version", "npes", "ndims"] {
        return None;
    }
    number(v)?;
    let (nprocs, ndims) = (number(p)?, number(n).filter(|&n| n != 0)?);
    let dims = lines.by_ref().map(words).find(|words| !words.is_empty())?;
    let dims: Vec<_> = dims.iter().map(number).collect::<Option<_>>()?;
    if dims.len() as u64 != ndims {
        return None;
    }
    let mut ranks: Vec<(u64, Vec<u64>)> = Vec::new();
    while let Some(line) = lines.next() {
        let line = words(line);
        let Some(first) = line.first() else { continue };
        if first.starts_with("Obtained") {
            break;
        }
        let [rank, count] = &line[..] else { return None };
        let (rank, count) = (number(rank)?, number(count)?);
        if nprocs <= rank || ranks.last().is_some_and(|last| rank <= last.0) {
            return None;
        }
        let elements = match count {
            0 => Vec::new(),
            _ => words(lines.next()?).iter().map(number).collect::<Option<Vec<_>>>()?,
        };
        if elements.len() as u64 != count {
            return None;
        }
        ranks.push((rank, elements));
    }
    Some(Text { nprocs, dims, ranks })
}

/// The input is a text map.
pub fn map_text(data: &[u8]) {
    let whole = parse([data]);
    assert_eq!(whole.as_ref().ok(), plain(data).as_ref(), "{whole:?}");
    for len in [1, 2, 7, 64] {
        assert_eq!(parse(data.chunks(len)), whole, "pieces of {len}");
    }
    match whole {
        Err(error) => {
            assert!(!error.to_string().contains('\n'));
            let Error::Text { line, offset, flaw } = error else { panic!("{error}") };
            let newlines = data.iter().take(offset as usize).filter(|&&byte| byte == b'\n').count();
            assert!(line == newlines as u64 + 1 || flaw == Flaw::Cut, "{error}");
        }
        Ok(text) => joined(&text),
    }
}

/// What is joined has the same elements in the same order, and no request crosses a row.
fn joined(text: &Text) {
    let dims: Vec<_> = text.dims.iter().rev().copied().collect();
    let Some(grid) = Grid::new(&dims) else { return };
    for (_, elements) in &text.ranks {
        let offsets: Vec<_> = elements.iter().filter_map(|&at| grid.offset_of(at)).collect();
        let mut join = Join::new(grid);
        let mut requests: Vec<_> = offsets.iter().filter_map(|&at| join.push(at)).collect();
        requests.extend(join.finish());
        assert!(requests.iter().flat_map(|request| request.offset..request.end()).eq(offsets));
        let row = grid.row().get();
        assert!(requests.iter().all(|one| one.offset / row == (one.end() - 1) / row));
        merged(requests, grid);
    }
}

/// Sorting and merging keeps the elements of a list without overlaps.
fn merged(mut requests: Vec<Request>, grid: Grid) {
    let mut elements: Vec<u64> =
        requests.iter().flat_map(|request| request.offset..request.end()).collect();
    elements.sort_unstable();
    let is_simple = elements.windows(2).all(|pair| pair[0] < pair[1]);
    let count = sort_and_merge(&mut requests, grid);
    let merged = &requests[..count];
    assert!(merged.windows(2).all(|pair| pair[0].offset <= pair[1].offset));
    if is_simple {
        assert!(merged.iter().flat_map(|request| request.offset..request.end()).eq(elements));
    }
}
