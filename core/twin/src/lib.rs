//! [`macro@twin`] makes two functions of one text: a blocking one and an asynchronous one.
//!
//! The text is that of the asynchronous function. Its blocking twin is the same text without
//! `async` and `.await`, so both do the same steps, and neither pays for the other: the blocking
//! one has no state machine, no poll and no panic. The compiler, a debugger and a reader see the
//! lines of the text in both.
//!
//! ```
//! use striae_twin::twin;
//! # trait Store {
//! #     fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full>;
//! #     fn sync(&mut self) -> Result<(), Full>;
//! # }
//! # trait AsyncStore {
//! #     async fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full>;
//! #     async fn sync(&mut self) -> Result<(), Full>;
//! # }
//! # #[derive(Debug)] pub struct Full;
//! # impl Store for Vec<u8> {
//! #     fn write(&mut self, _: u64, bytes: &[u8]) -> Result<(), Full> { Ok(self.extend(bytes)) }
//! #     fn sync(&mut self) -> Result<(), Full> { Ok(()) }
//! # }
//! struct Log<S> {
//!     store: S,
//!     end: u64,
//! }
//!
//! #[twin(Store)]
//! impl<S: Store> Log<S> {
//!     /// Adds `bytes`, durably.
//!     ///
//!     /// # Errors
//!     /// [`Full`].
//!     pub async fn add(&mut self, bytes: &[u8]) -> Result<(), Full> {
//!         self.put(bytes).await?;
//!         self.store.sync().await
//!     }
//!
//!     async fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
//!         self.store.write(self.end, bytes).await?;
//!         self.end += bytes.len() as u64;
//!         Ok(())
//!     }
//! }
//!
//! let mut log = Log { store: Vec::new(), end: 0 };
//! log.add(b"five!")?;
//! assert_eq!((log.store.as_slice(), log.end), (&b"five!"[..], 5));
//! # Ok::<(), Full>(())
//! ```
//!
//! With the feature `async` of the crate that uses it, there is also this; it is what an author
//! would write:
//!
//! ```
//! # trait AsyncStore {
//! #     async fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full>;
//! #     async fn sync(&mut self) -> Result<(), Full>;
//! # }
//! # #[derive(Debug)] pub struct Full;
//! # struct Log<S> { store: S, end: u64 }
//! impl<S: AsyncStore> Log<S> {
//!     /// [`add`](Self::add) for an asynchronous store.
//!     ///
//!     /// # Errors
//!     /// See [`add`](Self::add).
//!     pub async fn add_async(&mut self, bytes: &[u8]) -> Result<(), Full> {
//!         self.put_async(bytes).await?;
//!         self.store.sync().await
//!     }
//!
//!     // and put_async
//! #     async fn put_async(&mut self, bytes: &[u8]) -> Result<(), Full> { Ok(()) }
//! #     fn add(&mut self, bytes: &[u8]) -> Result<(), Full> { Ok(()) }
//! }
//! ```
//!
//! # Rules
//!
//! 1. **Where.** On a function, on an `impl`, on a `trait`, or on a `use`. In an `impl` of a type,
//!    all functions are `async`; others go to an `impl` without the attribute.
//! 2. **Names.** The asynchronous form of `name` is `name_async`, and what a text calls and awaits
//!    gets the same suffix: `self.put(..).await`, `Reader::open(..).await`, `fill(..).await`.
//! 3. **The store.** A call on `store` (`store.sync().await`, `self.store.sync().await`), on
//!    `device` or on `lengths` keeps its name: the two traits of a store have the same methods. For
//!    the same reason a `trait`, and an `impl` of one, keep all names of functions that are not
//!    words of the attribute. A trait itself is one of the words: its two forms are two traits.
//! 4. **Words.** The attribute lists what has another name in the asynchronous form. A word alone
//!    gets `Async` before it, or `_async` after it if it begins with a small letter;
//!    `#[twin(Store, fill, Error = Late)]` turns `Store` into `AsyncStore`, `fill` into
//!    `fill_async` and `Error` into `Late`, wherever they are in the item. On a `use`, both names
//!    are imported.
//! 5. **Documentation.** It belongs to the blocking form; the asynchronous one gets a line that
//!    refers to it. All other attributes, such as `#[inline(never)]`, are on both. In a
//!    `trait`, and in an `impl` of one, the documentation is on both, too, for who implements the
//!    other form; that of an asynchronous trait begins with a line that names the blocking one.
//! 6. **Both are compiled.** What is right in one form only is an error of the other, at the line
//!    of the text. If a future must take something back when it is dropped, a guard does it, whose
//!    `drop` the blocking form runs after an error.
//!
//! # What it refuses
//!
//! An `async` block or closure, as it would have nobody to poll it:
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! #[twin]
//! async fn twice() {
//!     let once = async { 1 };
//! }
//! ```
//!
//! `.await` after anything but a call by name, since the name gets the suffix: a future in a
//! variable, a macro, a call with a turbofish (give the type elsewhere):
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! # async fn some<T>() -> T { panic!() }
//! #[twin]
//! async fn one() -> u8 {
//!     some::<u8>().await
//! }
//! ```
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! #[twin]
//! async fn wait(future: impl Future<Output = u8>) -> u8 {
//!     future.await
//! }
//! ```
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! # macro_rules! ready { () => { std::future::ready(1) } }
//! #[twin]
//! async fn one() -> u8 {
//!     ready!().await
//! }
//! ```
//!
//! A function that is not `async` in an `impl`, which would be there twice:
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! # struct Log;
//! #[twin]
//! impl Log {
//!     async fn add(&mut self) {}
//!     fn len(&self) -> u64 { 0 }
//! }
//! ```
//!
//! A trait that is not one of the words, as both forms would have its name:
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! # #[allow(async_fn_in_trait)]
//! #[twin]
//! trait Store {
//!     async fn sync(&mut self);
//! }
//! ```
//!
//! A word that is not in the text, and any item but those of rule 1:
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! #[twin(Store)]
//! async fn nothing() {}
//! ```
//!
//! ```compile_fail
//! # use striae_twin::twin;
//! #[twin]
//! struct Log;
//! ```
#![forbid(unsafe_code)]

mod text;
mod words;

use proc_macro::{Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use words::Words;

/// Makes a blocking and an asynchronous form of a function, of those of an `impl`, of a `trait`, or
/// of a `use`; see the [crate](self).
#[proc_macro_attribute]
pub fn twin(words: TokenStream, item: TokenStream) -> TokenStream {
    let both = Words::parse(words).and_then(|words| text::twins(&words, item));
    both.unwrap_or_else(Refusal::into_error)
}

/// Why a text has no two forms, and where.
#[derive(Debug)]
struct Refusal {
    place: Span,
    why: &'static str,
}

impl Refusal {
    const fn new(place: Span, why: &'static str) -> Self {
        Self { place, why }
    }

    /// An error of the compiler at the place: `compile_error! { "why" }`.
    fn into_error(self) -> TokenStream {
        let mut why = Literal::string(&format!("twin: {}", self.why));
        why.set_span(self.place);
        let mut mark = Punct::new('!', Spacing::Alone);
        mark.set_span(self.place);
        let why = TokenStream::from(TokenTree::from(why));
        let mut group = Group::new(proc_macro::Delimiter::Brace, why);
        group.set_span(self.place);
        let name = Ident::new("compile_error", self.place);
        [TokenTree::from(name), mark.into(), group.into()].into_iter().collect()
    }
}
