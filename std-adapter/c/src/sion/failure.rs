//! Why calls fail.

use std::path::Path;

/// Why a call failed: its text is for the user.
pub type Failure = Box<dyn std::error::Error>;

/// A failure with a number for `errno`.
#[derive(Debug)]
pub struct Numbered {
    /// The number.
    pub errno: i32,
    /// What went wrong.
    pub text: String,
}

impl std::fmt::Display for Numbered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Numbered {}

/// The failure of a call for a reason that is no error of the library.
pub fn failure(path: &Path, why: impl std::fmt::Display) -> Failure {
    format!("{}: {why}", path.display()).into()
}
