//! Whether what a crash left is a file that was promised, to striae's reader and to gsd's.

use super::run::{Content, State};
use super::stock::Stock;
use striae_core::gsd::Reader;
use striae_kit::power::{Op, Promises, Version};

/// A chunk that a reader finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<'f> {
    pub(crate) frame: u64,
    pub(crate) id: u16,
    pub(crate) kind: u8,
    pub(crate) n: u64,
    pub(crate) m: u32,
    pub(crate) bytes: &'f [u8],
}

/// What a reader finds in a file.
#[derive(Debug)]
pub(crate) struct Seen<'f> {
    layer: u8,
    pub(crate) names: Vec<Vec<u8>>,
    /// By frame and id.
    pub(crate) pieces: Vec<Piece<'f>>,
}

impl<'f> Seen<'f> {
    pub(crate) fn new(layer: u8, names: Vec<Vec<u8>>, mut pieces: Vec<Piece<'f>>) -> Self {
        pieces.sort_by_key(|piece| (piece.frame, piece.id));
        Self { layer, names, pieces }
    }

    /// As a state that may come before others.
    pub(crate) fn content(&self) -> Content {
        let chunks = self.pieces.iter().map(super::run::Chunk::of).collect();
        Content { layer: self.layer, names: self.names.clone(), chunks }
    }

    fn is_chunks_of(&self, content: &Content) -> bool {
        let pieces = &self.pieces;
        pieces.len() == content.chunks.len() && pieces.iter().zip(&content.chunks).all(is_same)
    }

    /// Whether this is `content`, maybe with names that came later.
    fn is(&self, content: &Content) -> bool {
        self.layer == content.layer
            && self.names.starts_with(&content.names)
            && self.is_chunks_of(content)
    }
}

fn is_same((piece, chunk): (&Piece<'_>, &super::run::Chunk)) -> bool {
    (piece.frame, piece.id, piece.kind) == (chunk.frame, chunk.id, chunk.kind)
        && (piece.n, piece.m) == (chunk.n, chunk.m)
        && piece.bytes == chunk.bytes
}

/// What a reader makes of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict<'v> {
    /// It is as was promised.
    Good(&'v State),
    /// It cannot be opened.
    Unopened(String),
    /// Some of the last frame is there, and some is not.
    Torn,
    /// Frames that were committed are not there.
    Lost,
    /// Something else is there.
    Wrong(String),
}

/// The versions that gsd may find in a file after a power cut, if commits may take one sync: a
/// header is durable with the next sync only.
pub(crate) fn allowed_to_stock<'v>(
    promises: &'v Promises<State>,
    log: &[Op],
    begun: usize,
    ended: usize,
) -> &'v [Version<State>] {
    promises.allowed_if(begun, ended, |version| {
        let since = log.get(version.ended.saturating_sub(1)..ended).unwrap_or_default();
        version.ended == 0 || since.iter().any(|op| matches!(op, Op::Sync))
    })
}

/// What striae sees.
pub(crate) fn read(image: &[u8]) -> Result<Seen<'_>, String> {
    let mut window = [0; 512];
    let file = Reader::open(image, &mut window).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    let mut listed = file.names([0; 6000]);
    while let Some((_, name)) = listed.next().map_err(|error| error.to_string())? {
        names.push(name.to_vec());
    }
    let mut pieces = Vec::new();
    for chunk in file.chunks(&mut window) {
        let chunk = chunk.map_err(|error| error.to_string())?;
        let span = usize::try_from(chunk.span.offset()).unwrap()
            ..usize::try_from(chunk.span.end()).unwrap();
        let (frame, id, kind) = (chunk.frame, chunk.id, chunk.kind.number());
        pieces.push(Piece { frame, id, kind, n: chunk.n, m: chunk.m, bytes: &image[span] });
    }
    let frames = pieces.last().map_or(0, |piece| piece.frame + 1);
    if file.frames() != frames {
        return Err(format!("{} frames, and the last chunk is of {frames}", file.frames()));
    }
    let layer = u8::try_from(file.head().header.version.major).unwrap();
    Ok(Seen::new(layer, names, pieces))
}

/// What gsd sees.
pub(crate) fn read_stock(image: &[u8]) -> Result<Seen<'_>, String> {
    Stock::open(image)?.read()
}

/// What a reader that sees `seen` makes of a state that has to be one of `versions`.
fn judge<'v>(
    seen: &Result<Seen<'_>, String>,
    is_gsd: bool,
    versions: &'v [Version<State>],
) -> Verdict<'v> {
    let mut states = versions.iter().rev().map(|version| &version.state);
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            let nothing = states.find(|state| !is_gsd && **state == State::Nothing);
            let unopened = || Verdict::Unopened(format!("{error}, expected {}", names(versions)));
            return nothing.map_or_else(unopened, Verdict::Good);
        }
    };
    let is = |state: &&State| matches!(state, State::File(content) if seen.is(content));
    if let Some(state) = states.clone().find(is) {
        return Verdict::Good(state);
    }
    // How bad is it?
    let front = |state: Option<&State>| match state {
        Some(State::File(content)) => {
            seen.pieces.iter().zip(&content.chunks).take_while(|&pair| is_same(pair)).count()
        }
        _ => 0,
    };
    let count = seen.pieces.len();
    match (front(states.clone().next_back()), front(states.next())) {
        (least, _) if least == count => Verdict::Lost,
        (_, most) if most == count => Verdict::Torn,
        _ => {
            let name = |name: &Vec<u8>| name.escape_ascii().to_string();
            let names_seen = seen.names.iter().map(name).collect::<Vec<_>>();
            let pieces: Vec<_> = seen.pieces.iter().map(|piece| (piece.frame, piece.id)).collect();
            let layer = seen.layer;
            let seen = format!("layer {layer}, names {names_seen:?}, chunks {pieces:?}");
            Verdict::Wrong(format!("{seen}, expected {}", names(versions)))
        }
    }
}

fn names(versions: &[Version<State>]) -> String {
    let name = |version: &Version<State>| match &version.state {
        State::Nothing => "nothing".to_owned(),
        State::File(content) => {
            let last = content.chunks.last().map(|chunk| (chunk.frame, chunk.id));
            let (names, chunks) = (content.names.len(), content.chunks.len());
            format!("layer {}, {names} names, {chunks} chunks to {last:?}", content.layer)
        }
    };
    versions.iter().map(name).collect::<Vec<_>>().join(" or ")
}

/// What both make of a state.
#[derive(Debug)]
pub(crate) struct Both<'v> {
    pub(crate) ours: Verdict<'v>,
    pub(crate) stock: Verdict<'v>,
    /// Whether gsd sees other names than striae: such that were not committed.
    pub(crate) other_names: bool,
}

impl<'v> Both<'v> {
    /// Looks at `image`, which has to be one of `versions`; `known` are all names, in their order,
    /// of each list that there was.
    pub(crate) fn of(image: &[u8], versions: &'v [Version<State>], known: &[Vec<Vec<u8>>]) -> Self {
        Self::of_two(image, (versions, versions), known)
    }

    /// Checks an image in which gsd may find other versions.
    pub(crate) fn of_two(
        image: &[u8],
        (versions, to_stock): (&'v [Version<State>], &'v [Version<State>]),
        known: &[Vec<Vec<u8>>],
    ) -> Self {
        let (seen, stock_seen) = (read(image), read_stock(image));
        let is_gsd = image.starts_with(&[0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65]);
        let (mut ours, stock) =
            (judge(&seen, is_gsd, versions), judge(&stock_seen, is_gsd, to_stock));
        // striae tells names that were committed from leftovers.
        let committed = seen.map_or_else(|_| Vec::new(), |seen| seen.names);
        if !known.iter().any(|list| list.starts_with(&committed)) {
            ours = Verdict::Wrong(format!("names {committed:?}"));
        }
        let other_names = stock_seen.is_ok_and(|seen| seen.names != committed);
        Self { ours, stock, other_names }
    }
}
