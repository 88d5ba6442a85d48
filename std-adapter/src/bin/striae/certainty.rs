//! The words of recoveries in text and JSON, the same for every format.

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use striae::finding::{Tally, Word};

/// What a recovery returns, in JSON.
#[derive(Serialize)]
pub(crate) struct Told {
    /// The word of the whole: the worst of its parts.
    word: &'static str,
    /// Whether everything is exact or as found, and nothing in the file contradicts it: the exit
    /// status is 0.
    sound: bool,
    counts: Counts,
    data: Data,
}

/// The number of streams, frames or values with each word.
#[derive(Serialize)]
struct Counts {
    exact: u64,
    #[serde(rename = "as found")]
    as_found: u64,
    guess: u64,
    lost: u64,
}

/// The bytes that were saved, and how many of them were compared with checksums.
#[derive(Serialize)]
struct Data {
    bytes: u64,
    checked: u64,
}

impl From<Tally> for Told {
    fn from(tally: Tally) -> Self {
        let Tally { exact, as_found, guesses: guess, lost, coverage, .. } = tally;
        Self {
            word: tally.word().as_str(),
            sound: tally.is_sound(),
            counts: Counts { exact, as_found, guess, lost },
            data: Data { bytes: coverage.bytes, checked: coverage.checked },
        }
    }
}

/// The color of a word.
pub(crate) const fn style(word: Word) -> Style {
    let color = match word {
        Word::Exact | Word::AsFound => AnsiColor::Green,
        Word::Guess => AnsiColor::Yellow,
        Word::Lost => AnsiColor::Red,
    };
    color.on_default()
}
