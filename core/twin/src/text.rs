//! The two forms of a text.

use crate::Refusal;
use crate::words::Words;
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Both forms of an item.
pub(crate) fn twins(words: &Words, item: TokenStream) -> Result<TokenStream, Refusal> {
    let tokens: Vec<_> = item.into_iter().collect();
    let kind = Kind::of(&tokens)?;
    let late = match kind {
        Kind::Use | Kind::ImplOfTrait => asynchronous(words, kind, &tokens)?.into_iter().collect(),
        Kind::Function => member(words, &tokens, "")?,
        Kind::Impl => late_impl(words, &tokens)?,
        Kind::Trait => late_trait(words, &tokens)?,
    };
    words.check_use()?;
    let mut both = TokenStream::from_iter(blocking(&tokens));
    both.extend(source("#[cfg(feature = \"async\")]", Span::call_site()));
    both.extend(late);
    Ok(both)
}

/// What an attribute is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Impl,
    ImplOfTrait,
    Trait,
    Use,
}

impl Kind {
    fn of(tokens: &[TokenTree]) -> Result<Self, Refusal> {
        for (at, token) in tokens.iter().enumerate() {
            match word(token).as_deref() {
                Some("fn") if is_async(tokens, at) => return Ok(Self::Function),
                Some("use") => return Ok(Self::Use),
                Some("trait") => return Ok(Self::Trait),
                Some("impl") => {
                    let of_trait = tokens.iter().enumerate().find(|(at, token)| {
                        is(Some(token), "for") && !is(tokens.get(at.saturating_add(1)), "<")
                    });
                    return Ok(if of_trait.is_some() { Self::ImplOfTrait } else { Self::Impl });
                }
                Some("fn") => {
                    return Err(Refusal::new(token.span(), "an `async fn` has two forms"));
                }
                Some("struct" | "enum" | "mod" | "type" | "static" | "union") => {
                    return Err(Refusal::new(token.span(), WHERE));
                }
                _ => {}
            }
        }
        Err(Refusal::new(Span::call_site(), WHERE))
    }

    /// Whether a trait gives the names of the functions, in both forms.
    const fn has_names_of_trait(self) -> bool {
        matches!(self, Self::ImplOfTrait | Self::Trait)
    }
}

const WHERE: &str = "only an `async fn`, an `impl` or `trait` of these or a `use` has two forms";

/// The blocking form: no `async`, no `.await`.
fn blocking(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut rest = tokens.iter();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Ident(word) if word.to_string() == "async" => {}
            TokenTree::Punct(dot) if dot.as_char() == '.' && is(rest.as_slice().first(), AWAIT) => {
                rest.next();
            }
            TokenTree::Group(group) => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                kept.push(regroup(group, blocking(&inner)));
            }
            other => kept.push(other.clone()),
        }
    }
    kept
}

const AWAIT: &str = "await";

/// What has a trait of each form: its methods have one name.
const KEPT: [&str; 3] = ["store", "device", "lengths"];

/// The asynchronous form, but for the documentation.
fn asynchronous(
    words: &Words,
    kind: Kind,
    tokens: &[TokenTree],
) -> Result<Vec<TokenTree>, Refusal> {
    let late = tokens.iter().enumerate().map(|(at, token)| match token {
        TokenTree::Group(group) => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            Ok(regroup(group, asynchronous(words, kind, &inner)?))
        }
        TokenTree::Ident(word) => {
            check_word(tokens, at, word)?;
            let is_defined =
                is(before(tokens, at, 1), "fn") && is_async(tokens, at.wrapping_sub(1));
            if is_defined && kind.has_names_of_trait() {
                return Ok(word.clone().into()); // the name that the trait gives it
            }
            let of = before(tokens, at, 2).filter(|_| is(before(tokens, at, 1), "."));
            let is_kept = kind.has_names_of_trait() || KEPT.iter().any(|kept| is(of, kept));
            if is_defined || (is_awaited(tokens, at) && !is_kept) {
                return Ok(Ident::new(&format!("{word}_async"), word.span()).into());
            }
            Ok(words.rename(word).unwrap_or_else(|| word.clone()).into())
        }
        other => Ok(other.clone()),
    });
    late.collect()
}

/// Whether `NAME(..).await` begins here.
fn is_awaited(tokens: &[TokenTree], at: usize) -> bool {
    is_call(tokens.get(at.saturating_add(1)))
        && is(tokens.get(at.saturating_add(2)), ".")
        && is(tokens.get(at.saturating_add(3)), AWAIT)
}

/// Refuses an `async` without `fn`, and an `await` without the name of a function.
fn check_word(tokens: &[TokenTree], at: usize, word: &Ident) -> Result<(), Refusal> {
    const CALL: &str = "only a call by name can be awaited, as in `read(..).await`";
    const TURBOFISH: &str =
        "a call with a turbofish has no name to change: give the type elsewhere";
    match word.to_string().as_str() {
        "async" => {
            let next = |n| tokens.get(at.saturating_add(n));
            match is(next(1), "fn") || (is(next(1), "unsafe") && is(next(2), "fn")) {
                true => Ok(()),
                false => Err(Refusal::new(word.span(), "an `async` block or closure has one form")),
            }
        }
        AWAIT => match (before(tokens, at, 3), is_call(before(tokens, at, 2))) {
            (Some(TokenTree::Ident(name)), true) if !is_keyword(name) => Ok(()),
            (Some(end), true) if is(Some(end), ">") => Err(Refusal::new(word.span(), TURBOFISH)),
            _ => Err(Refusal::new(word.span(), CALL)),
        },
        _ => Ok(()),
    }
}

/// A word that comes before a value in parentheses.
fn is_keyword(word: &Ident) -> bool {
    matches!(word.to_string().as_str(), "return" | "break" | "in" | "if" | "match" | "while")
}

/// The asynchronous form of an `impl`.
fn late_impl(words: &Words, tokens: &[TokenTree]) -> Result<TokenStream, Refusal> {
    let Some((TokenTree::Group(body), head)) = tokens.split_last() else {
        return Err(Refusal::new(Span::call_site(), WHERE));
    };
    let mut late = TokenStream::from_iter(asynchronous(words, Kind::Impl, &without_docs(head).0)?);
    let inner: Vec<_> = body.stream().into_iter().collect();
    let mut members = TokenStream::new();
    let mut rest = inner.as_slice();
    while !rest.is_empty() {
        let (one, more) = rest.split_at(len_of_first(rest));
        members.extend(member(words, one, "Self::")?);
        rest = more;
    }
    late.extend([regroup(body, members)]);
    Ok(late)
}

/// The asynchronous form of a `trait`, which has another name.
fn late_trait(words: &Words, tokens: &[TokenTree]) -> Result<TokenStream, Refusal> {
    let found = tokens.iter().position(|token| is(Some(token), "trait"));
    let name = found.and_then(|at| tokens.get(at.saturating_add(1)));
    let Some(TokenTree::Ident(name)) = name else {
        return Err(Refusal::new(Span::call_site(), WHERE));
    };
    if words.rename(name).is_none() {
        let why = "two forms of a trait need two names: list it, as in `#[twin(Store)]`";
        return Err(Refusal::new(name.span(), why));
    }
    let mut late = TokenStream::new();
    if without_docs(tokens).1.is_some() {
        let line = format!("#[doc = \"[`{name}`], whose functions are `async`.\"] #[doc = \"\"]");
        late.extend(source(&line, name.span()));
    }
    late.extend(asynchronous(words, Kind::Trait, tokens)?);
    Ok(late)
}

/// The number of tokens of the first member of an `impl`: up to the body of a function.
fn len_of_first(tokens: &[TokenTree]) -> usize {
    let is_end = |(at, token): (usize, &TokenTree)| {
        let next = tokens.get(at.saturating_add(1));
        let is_within = is(next, ">") || is(next, ","); // `[u8; { N }]` in its types
        is(Some(token), ";") || (is_group(Some(token), Delimiter::Brace) && !is_within)
    };
    tokens.iter().enumerate().position(is_end).map_or(tokens.len(), |at| at.saturating_add(1))
}

/// The asynchronous form of a function, which `of` has.
fn member(words: &Words, tokens: &[TokenTree], of: &str) -> Result<TokenStream, Refusal> {
    let found = tokens.iter().position(|token| is(Some(token), "fn"));
    let name = found.and_then(|at| tokens.get(at.saturating_add(1)));
    let (Some(at), Some(TokenTree::Ident(name))) = (found, name) else {
        let place = tokens.first().map_or_else(Span::call_site, TokenTree::span);
        return Err(Refusal::new(place, "only functions have two forms"));
    };
    if !is_async(tokens, at) {
        let why = "it would be there twice: move it to an `impl` without the attribute";
        return Err(Refusal::new(name.span(), why));
    }
    let (tokens, docs) = without_docs(tokens);
    let mut late = TokenStream::new();
    if let Some(docs) = docs {
        let place = name.span();
        let line = format!("#[doc = \"[`{name}`]({of}{name}()) for an asynchronous store.\"]");
        late.extend(source(&line, place));
        if docs.contains("# Errors") {
            late.extend(source("#[doc = \"\"] #[doc = \"# Errors\"]", place));
            late.extend(source(&format!("#[doc = \"See [`{name}`]({of}{name}()).\"]"), place));
        }
    }
    late.extend(asynchronous(words, Kind::Function, &tokens)?);
    Ok(late)
}

/// The tokens without the documentation before the item, and that.
fn without_docs(tokens: &[TokenTree]) -> (Vec<TokenTree>, Option<String>) {
    let (mut kept, mut docs) = (Vec::new(), None::<String>);
    let mut rest = tokens;
    while let [mark, attribute, more @ ..] = rest {
        if !is(Some(mark), "#") {
            break;
        }
        let text = attribute.to_string();
        match text.trim_start_matches('[').trim_start().starts_with("doc") {
            true => docs.get_or_insert_default().push_str(&text),
            false => kept.extend([mark.clone(), attribute.clone()]),
        }
        rest = more;
    }
    kept.extend_from_slice(rest);
    (kept, docs)
}

/// Whether the `fn` at this place is an `async fn`.
fn is_async(tokens: &[TokenTree], at: usize) -> bool {
    let is_unsafe = is(before(tokens, at, 1), "unsafe");
    is(before(tokens, at, if is_unsafe { 2 } else { 1 }), "async")
}

fn before(tokens: &[TokenTree], at: usize, n: usize) -> Option<&TokenTree> {
    at.checked_sub(n).and_then(|at| tokens.get(at))
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn is(token: Option<&TokenTree>, text: &str) -> bool {
    match token {
        Some(TokenTree::Ident(word)) => word.to_string() == text,
        Some(TokenTree::Punct(mark)) => text.chars().eq([mark.as_char()]),
        _ => false,
    }
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

fn is_call(token: Option<&TokenTree>) -> bool {
    is_group(token, Delimiter::Parenthesis)
}

/// The group with other tokens.
fn regroup(group: &Group, tokens: impl IntoIterator<Item = TokenTree>) -> TokenTree {
    let mut changed = Group::new(group.delimiter(), tokens.into_iter().collect());
    changed.set_span(group.span());
    changed.into()
}

/// The tokens of a source that this crate has, which always parses, at a place of the text: lints
/// ignore what is of a macro.
fn source(text: &str, place: Span) -> TokenStream {
    at(place, text.parse().unwrap_or_default())
}

fn at(place: Span, tokens: TokenStream) -> TokenStream {
    let placed = tokens.into_iter().map(|token| {
        let mut token = match token {
            TokenTree::Group(group) => regroup(&group, at(place, group.stream())),
            other => other,
        };
        token.set_span(place);
        token
    });
    placed.collect()
}
