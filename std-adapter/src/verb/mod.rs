//! What files of several formats have done to them, and the options of it.
//!
//! | verb | what all formats share |
//! |---|---|
//! | extract | [`Options`] with [`select`](Options::select); the hidden folder, the names, the sizes |
//! | convert, pack, recover | [`Options`]; [`Output`], which admits, makes and publishes new files |
//! | verify | [`Verify`], which names the file of each finding |

pub(crate) mod extract;
pub(crate) mod npy;
mod options;
mod output;
pub(crate) mod verify;

pub use extract::{Extracted, Selected};
pub use options::Options;
pub(crate) use options::Plain;
pub use output::Output;
pub use verify::Verify;

/// A recovery has the methods of its judgement.
macro_rules! judgement_of {
    ($recovery:ident.$field:ident: $judged:ty) => {
        impl std::ops::Deref for $recovery {
            type Target = $judged;

            fn deref(&self) -> &$judged {
                &self.$field
            }
        }
    };
}
pub(crate) use judgement_of;
