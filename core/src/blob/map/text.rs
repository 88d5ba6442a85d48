//! [`Parser`] reads the text maps of PIO (`spec/blob.md#text-maps`).

use super::error::{Error, Flaw};

/// What a text map says next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Event {
    /// The first line.
    Head {
        /// The number of processes.
        nprocs: u64,
        /// The number of dimensions, at least 1.
        ndims: u64,
    },
    /// A dimension of the array, the fastest first.
    Dim {
        /// Its length.
        length: u64,
    },
    /// A rank; its elements follow.
    Rank {
        /// The rank.
        rank: u64,
        /// The number of its elements.
        count: u64,
    },
    /// An element, from 1; see [`Grid::offset_of`](super::Grid::offset_of).
    Element {
        /// The element.
        element: u64,
        /// The offset of the number in the file.
        offset: u64,
    },
}

const WORDS: [&[u8]; 3] = [b"version", b"npes", b"ndims"];

/// The first word of the call stack that PIO prints after the last rank.
const END: &[u8] = b"Obtained";

/// Reads a text map from pieces of any lengths; it needs no memory.
///
/// - The first line is `version V npes P ndims N`, the second has `N` lengths.
/// - Then each rank has a line with rank and count and, unless the count is 0, a line with that
///   many numbers. Ranks increase; those that are missing have no elements. Empty lines between
///   ranks count for nothing.
/// - A line that begins with `Obtained` ends the map.
///
/// ```
/// use striae_core::blob::map::{Event, Parser};
///
/// let mut bytes = &b"version 2001 npes 2 ndims 1 \n9 \n1 2\n4 5 \n"[..];
/// let (mut parser, mut elements) = (Parser::default(), vec![]);
/// while let Some(event) = parser.feed(&mut bytes)? {
///     if let Event::Element { element, .. } = event {
///         elements.push(element);
///     }
/// }
/// assert_eq!(parser.finish()?, None);
/// assert_eq!(elements, [4, 5]);
/// # Ok::<(), striae_core::blob::map::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// The offset of the next byte, its line, and the offset of the line.
    at: u64,
    line: u64,
    line_at: u64,
    expect: Expect,
    token: Token,
    /// The offset of the token.
    token_at: u64,
    nprocs: u64,
    /// The last rank.
    rank: Option<u64>,
}

/// What the next token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A word of the first line, by its index.
    Word(u8),
    /// The number after the word.
    Value(u8),
    /// A length; so many are left. `began` says whether the line has one.
    Dims { left: u64, began: bool },
    /// A rank, or the end.
    Rank,
    /// The number of elements of the rank.
    Count(u64),
    /// The end of the line of a rank with so many elements.
    RankEnd(u64),
    /// An element; so many are left.
    Elements(u64),
    /// Nothing: the map has ended.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    None,
    Number(u64),
    /// So many bytes of the word that is expected.
    Word(usize),
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            at: 0,
            line: 1,
            line_at: 0,
            expect: Expect::Word(0),
            token: Token::None,
            token_at: 0,
            nprocs: 0,
            rank: None,
        }
    }
}

impl Parser {
    /// The line of the next byte, from 1.
    #[must_use]
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// Takes bytes from the front of `bytes` up to the next event; `None` if all are taken.
    ///
    /// # Errors
    /// [`Error::Text`]. After [`Flaw::NoRank`] and [`Flaw::RankOrder`] the parser can go on, from
    /// the byte after that rank's number: the next events are its count and its elements. After
    /// another flaw it cannot.
    pub fn feed(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, Error> {
        while let Some((&byte, rest)) = bytes.split_first() {
            let event = self.push(byte)?;
            (*bytes, self.at) = (rest, self.at.saturating_add(1));
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Says that the file has ended. Returns the last event if the last line has no line feed.
    ///
    /// # Errors
    /// [`Flaw::Cut`] if the map has not ended; another flaw of the last line.
    pub fn finish(&mut self) -> Result<Option<Event>, Error> {
        let cut = self.error(self.at, Flaw::Cut);
        let has_line = self.line_at < self.at;
        let event = if has_line { self.push(b'\n')? } else { None };
        match self.expect {
            Expect::Rank | Expect::End => Ok(event),
            _ => Err(cut),
        }
    }

    const fn error(&self, offset: u64, flaw: Flaw) -> Error {
        Error::Text { line: self.line, offset, flaw }
    }

    fn push(&mut self, byte: u8) -> Result<Option<Event>, Error> {
        if self.expect == Expect::End {
            return Ok(None);
        }
        match byte {
            b' ' | b'\t' | b'\r' => self.end_token(),
            b'\n' => {
                let event = self.end_token()?;
                self.end_line()?;
                (self.line, self.line_at) =
                    (self.line.saturating_add(1), self.at.saturating_add(1));
                Ok(event)
            }
            b'0'..=b'9' => self.digit(byte).map(|()| None),
            _ => self.letter(byte).map(|()| None),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<(), Error> {
        let number = match self.token {
            Token::None => {
                self.token_at = self.at;
                0
            }
            Token::Number(number) => number,
            Token::Word(_) => return Err(self.error(self.at, Flaw::Word)),
        };
        let digit = u64::from(byte.saturating_sub(b'0'));
        let number = number.checked_mul(10).and_then(|number| number.checked_add(digit));
        self.token = Token::Number(number.ok_or(self.error(self.token_at, Flaw::Large))?);
        Ok(())
    }

    fn letter(&mut self, byte: u8) -> Result<(), Error> {
        let word = match self.expect {
            Expect::Word(index) => WORDS.get(usize::from(index)).copied().unwrap_or_default(),
            Expect::Rank => END,
            _ => return Err(self.error(self.at, Flaw::NoNumber)),
        };
        let len = match self.token {
            Token::None => {
                self.token_at = self.at;
                0
            }
            Token::Word(len) => len,
            Token::Number(_) => return Err(self.error(self.at, Flaw::NoNumber)),
        };
        if word.get(len) != Some(&byte) {
            return Err(self.error(self.at, Flaw::Word));
        }
        let len = len.saturating_add(1);
        self.token = Token::Word(len);
        if self.expect == Expect::Rank && len == END.len() {
            (self.expect, self.token) = (Expect::End, Token::None);
        }
        Ok(())
    }

    /// Takes the token that has just ended.
    fn end_token(&mut self) -> Result<Option<Event>, Error> {
        let number = match core::mem::replace(&mut self.token, Token::None) {
            Token::None => return Ok(None),
            Token::Number(number) => number,
            Token::Word(len) => {
                let Expect::Word(index) = self.expect else {
                    return Err(self.error(self.token_at, Flaw::Word));
                };
                let word = WORDS.get(usize::from(index)).copied().unwrap_or_default();
                if len != word.len() {
                    return Err(self.error(self.token_at, Flaw::Word));
                }
                self.expect = Expect::Value(index);
                return Ok(None);
            }
        };
        self.take(number)
    }

    fn take(&mut self, number: u64) -> Result<Option<Event>, Error> {
        let offset = self.token_at;
        match self.expect {
            Expect::Word(_) => return Err(self.error(offset, Flaw::Word)),
            Expect::Value(0) => self.expect = Expect::Word(1),
            Expect::Value(1) => (self.nprocs, self.expect) = (number, Expect::Word(2)),
            Expect::Value(_) if number == 0 => return Err(self.error(offset, Flaw::NoDims)),
            Expect::Value(_) => {
                self.expect = Expect::Dims { left: number, began: false };
                return Ok(Some(Event::Head { nprocs: self.nprocs, ndims: number }));
            }
            Expect::Dims { left, .. } => {
                let left = left.checked_sub(1).filter(|_| self.line > 1);
                let left = left.ok_or(self.error(offset, Flaw::Long))?;
                self.expect = Expect::Dims { left, began: true };
                return Ok(Some(Event::Dim { length: number }));
            }
            Expect::Rank => {
                self.expect = Expect::Count(number);
                self.check_rank(number)?;
            }
            Expect::Count(rank) => {
                self.expect = Expect::RankEnd(number);
                return Ok(Some(Event::Rank { rank, count: number }));
            }
            Expect::RankEnd(_) => return Err(self.error(offset, Flaw::Long)),
            Expect::Elements(left) => {
                let left = left.checked_sub(1).ok_or(self.error(offset, Flaw::Long))?;
                self.expect = Expect::Elements(left);
                return Ok(Some(Event::Element { element: number, offset }));
            }
            Expect::End => {}
        }
        Ok(None)
    }

    fn check_rank(&mut self, rank: u64) -> Result<(), Error> {
        if self.nprocs <= rank {
            return Err(self.error(self.token_at, Flaw::NoRank));
        }
        match self.rank {
            Some(last) if rank <= last => Err(self.error(self.token_at, Flaw::RankOrder)),
            _ => {
                self.rank = Some(rank);
                Ok(())
            }
        }
    }

    fn end_line(&mut self) -> Result<(), Error> {
        self.expect = match self.expect {
            Expect::Rank | Expect::End => return Ok(()),
            Expect::Dims { began: false, .. } => return Ok(()),
            Expect::Dims { left: 0, .. } | Expect::RankEnd(0) | Expect::Elements(0) => Expect::Rank,
            Expect::RankEnd(count) => Expect::Elements(count),
            Expect::Word(_)
            | Expect::Value(_)
            | Expect::Dims { .. }
            | Expect::Count(_)
            | Expect::Elements(_) => return Err(self.error(self.at, Flaw::Short)),
        };
        Ok(())
    }
}
