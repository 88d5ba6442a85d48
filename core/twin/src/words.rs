//! The words of an attribute: what has another name in the asynchronous form.

use crate::Refusal;
use proc_macro::{Ident, Span, TokenStream, TokenTree};
use std::cell::Cell;

/// The words that are renamed.
#[derive(Debug)]
pub(crate) struct Words(Vec<Word>);

#[derive(Debug)]
struct Word {
    blocking: String,
    asynchronous: String,
    place: Span,
    is_used: Cell<bool>,
}

const LIST: &str = "a list of words: `Store`, or `Error = Late`";

impl Words {
    /// `Store, Error = Late`.
    pub(crate) fn parse(list: TokenStream) -> Result<Self, Refusal> {
        let mut words = Vec::new();
        let mut tokens = list.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(word) = token else {
                return Err(Refusal::new(token.span(), LIST));
            };
            let (blocking, place) = (word.to_string(), word.span());
            let is_function = blocking.starts_with(char::is_lowercase);
            let mut asynchronous = match is_function {
                true => format!("{blocking}_async"),
                false => format!("Async{blocking}"),
            };
            if tokens.next_if(|token| is(token, '=')).is_some() {
                let Some(TokenTree::Ident(other)) = tokens.next() else {
                    return Err(Refusal::new(place, LIST));
                };
                asynchronous = other.to_string();
            }
            if tokens.peek().is_some() && tokens.next_if(|token| is(token, ',')).is_none() {
                return Err(Refusal::new(place, LIST));
            }
            words.push(Word { blocking, asynchronous, place, is_used: Cell::new(false) });
        }
        Ok(Self(words))
    }

    /// The asynchronous name of a word of the list.
    pub(crate) fn rename(&self, word: &Ident) -> Option<Ident> {
        let text = word.to_string();
        let found = self.0.iter().find(|word| word.blocking == text)?;
        found.is_used.set(true);
        Some(Ident::new(&found.asynchronous, word.span()))
    }

    /// Refuses a word that was not in the text.
    pub(crate) fn check_use(&self) -> Result<(), Refusal> {
        match self.0.iter().find(|word| !word.is_used.get()) {
            Some(word) => Err(Refusal::new(word.place, "the text does not have this word")),
            None => Ok(()),
        }
    }
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
