//! The words and numbers of a text map, in the order of the file.

use crate::subject::{Failed, WINDOW, read_windows};
use alloc::vec::Vec;
use striae_core::blob::map::{Error, Event, Parser};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The longest token of which all bytes are kept. A longer one has zeros at its front.
const KEPT: usize = 32;

/// The first word after a map.
pub(super) const END: &[u8] = b"Obtained";

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A word of the first line.
    Word,
    /// A number of the first line, by its index: version, npes, ndims.
    Head(u64),
    /// The length of a dimension.
    Dim { index: u64 },
    /// The number of a rank.
    Rank { rank: u64 },
    /// The number of elements of a rank.
    Count { rank: u64, count: u64 },
    /// An element of a rank.
    Element { rank: u64, index: u64 },
}

/// A word or a number.
pub(super) struct Token<'a> {
    pub(super) place: Span,
    /// Its last bytes.
    pub(super) bytes: &'a [u8],
    pub(super) role: Role,
}

/// A callback that gets the tokens.
type Each<'a, E> = dyn FnMut(Token<'_>) -> Result<(), E> + 'a;

/// How the tokens end.
pub(super) enum End {
    /// The map ends here; what follows is not part of it.
    Whole(u64),
    /// At a line after which nothing can be understood, which begins here.
    Damaged(u64, Error),
}

/// The tokens so far.
#[derive(Default)]
struct Tokens {
    parser: Parser,
    bytes: Vec<u8>,
    begin: u64,
    len: u64,
    /// The numbers of the first line, and the dimensions.
    heads: u64,
    dims: u64,
    rank: u64,
    index: u64,
}

impl Tokens {
    /// What the token is that has just ended, by the event that its end caused.
    fn role(&mut self, event: Option<Event>) -> Role {
        match event {
            Some(Event::Head { .. }) => Role::Head(2),
            Some(Event::Dim { .. }) => {
                self.dims = self.dims.saturating_add(1);
                Role::Dim { index: self.dims.saturating_sub(1) }
            }
            Some(Event::Rank { rank, count }) => {
                self.index = 0;
                Role::Count { rank, count }
            }
            Some(Event::Element { .. }) => {
                self.index = self.index.saturating_add(1);
                Role::Element { rank: self.rank, index: self.index.saturating_sub(1) }
            }
            None if !self.bytes.iter().all(u8::is_ascii_digit) => Role::Word,
            None if self.dims == 0 => {
                self.heads = self.heads.saturating_add(1);
                Role::Head(self.heads.saturating_sub(1))
            }
            None => {
                let digits = core::str::from_utf8(&self.bytes).unwrap_or_default();
                self.rank = digits.parse().unwrap_or(0);
                Role::Rank { rank: self.rank }
            }
        }
    }

    /// Passes on the token that has just ended, if there is one.
    fn end<E>(&mut self, event: Option<Event>, each: &mut Each<'_, E>) -> Result<(), E> {
        if self.len == 0 {
            return Ok(());
        }
        let role = self.role(event);
        let place = Span::new(self.begin, self.len).unwrap_or(Span::ZERO);
        let done = each(Token { place, bytes: &self.bytes, role });
        self.bytes.clear();
        self.len = 0;
        done
    }

    /// Takes a byte of a token.
    fn keep(&mut self, at: u64, byte: u8) {
        if self.len == 0 {
            self.begin = at;
        }
        if self.bytes.len() == KEPT {
            self.bytes.remove(0);
        }
        self.bytes.push(byte);
        self.len = self.len.saturating_add(1);
    }
}

/// Passes each token of a text map to `each`, up to the end of the map or to its damage. Ranks that
/// the array does not have, or that are out of order, are passed, too.
pub(super) fn tokens<S: ReadAt>(
    store: &S,
    each: &mut Each<'_, Failed<S, Error>>,
) -> Result<End, Failed<S, Error>> {
    let len = store.size().map_err(DriveError::Store)?;
    let all = Span::new(0, len).unwrap_or(Span::ZERO);
    let (mut tokens, mut line_at, mut end) = (Tokens::default(), 0, None);
    read_windows(store, all, WINDOW, &mut Vec::new(), |place, bytes| {
        for (at, &byte) in (place.offset()..).zip(bytes) {
            let mut one = &[byte][..];
            let event = match tokens.parser.feed(&mut one) {
                Err(error) if is_resumable(&error) => tokens.parser.feed(&mut one),
                event => event,
            };
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    end = Some(End::Damaged(line_at, error));
                    return Ok(false);
                }
            };
            if !byte.is_ascii_whitespace() {
                tokens.keep(at, byte);
                if tokens.bytes == END {
                    end = Some(End::Whole(tokens.begin));
                    return Ok(false);
                }
                continue;
            }
            tokens.end(event, each)?;
            if byte == b'\n' {
                line_at = at.saturating_add(1);
            }
        }
        Ok(true)
    })?;
    if let Some(end) = end {
        return Ok(end);
    }
    Ok(match tokens.parser.finish() {
        Ok(event) => {
            tokens.end(event, each)?;
            End::Whole(len)
        }
        Err(error) => End::Damaged(line_at, error),
    })
}

/// Whether the next events after the error are the elements of a rank that is wrong.
pub(super) const fn is_resumable(error: &Error) -> bool {
    use striae_core::blob::map::Flaw::{NoRank, RankOrder};
    matches!(error, Error::Text { flaw: NoRank | RankOrder, .. })
}
