//! Patterns of names, as the shell's and those of Python's `fnmatch`.

/// Whether a name matches a pattern of `*`, `?`, `[...]` and `[!...]`; `*` stands for slashes, too.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // Behind the last star, and the rest of the name there.
    let mut star: Option<(&str, &str)> = None;
    loop {
        let mut rest = pattern.chars();
        let is_match = match rest.next() {
            Some('*') => {
                star = Some((rest.as_str(), name));
                pattern = rest.as_str();
                continue;
            }
            None if name.is_empty() => return true,
            None => None,
            Some(first) => one(first, rest.as_str(), name),
        };
        if let Some((pattern_left, name_left)) = is_match {
            (pattern, name) = (pattern_left, name_left);
            continue;
        }
        // The last star takes a character more.
        let Some((behind, at)) = star else { return false };
        let mut longer = at.chars();
        if longer.next().is_none() {
            return false;
        }
        star = Some((behind, longer.as_str()));
        (pattern, name) = (behind, longer.as_str());
    }
}

/// Matches one character; returns the rest of the pattern and of the name.
fn one<'p, 'n>(first: char, pattern: &'p str, name: &'n str) -> Option<(&'p str, &'n str)> {
    let mut chars = name.chars();
    let found = chars.next()?;
    let (is_match, pattern) = match first {
        '?' => (true, pattern),
        '[' => set(pattern, found).unwrap_or((found == '[', pattern)),
        wanted => (found == wanted, pattern),
    };
    is_match.then_some((pattern, chars.as_str()))
}

/// Whether a set has a character, and the pattern after the set; `None` if the set does not end. A
/// `]` that comes first is one of its characters.
fn set(pattern: &str, found: char) -> Option<(bool, &str)> {
    let (is_other, set) = match pattern.strip_prefix('!') {
        Some(set) => (true, set),
        None => (false, pattern),
    };
    let skip = set.chars().next()?.len_utf8();
    let (_, tail) = set.split_at_checked(skip)?;
    let end = tail.find(']')?.checked_add(skip)?;
    let (members, rest) = set.split_at_checked(end)?;
    let rest = rest.strip_prefix(']')?;
    let mut members = members.chars().peekable();
    let mut has = false;
    while let Some(low) = members.next() {
        let mut ahead = members.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) => {
                has |= (low..=high).contains(&found);
                members = ahead;
            }
            _ => has |= low == found,
        }
    }
    Some((has != is_other, rest))
}

#[cfg(test)]
mod tests {
    use super::matches;

    /// What Python's `fnmatch.fnmatchcase` says, 3.11.
    #[test]
    fn patterns_match_as_those_of_fnmatch() {
        for (pattern, name, is_match) in MATCHES {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    const MATCHES: [(&str, &str, bool); 49] = [
        ("*", "", true),
        ("*", "log/a/b", true),
        ("log/*", "log/a/b", true),
        ("log/*/b", "log/a/c/b", true),
        ("log/*/b", "log/a/c/bb", false),
        ("log/?", "log/a", true),
        ("log/?", "log/", false),
        ("log/?", "log/ab", false),
        ("log/?", "log/ä", true),
        ("[a-c]", "b", true),
        ("[a-c]", "d", false),
        ("[!a-c]", "d", true),
        ("[!a-c]", "b", false),
        ("[]]", "]", true),
        ("[]a]", "a", true),
        ("[!]]", "a", true),
        ("[!]]", "]", false),
        ("[", "[", true),
        ("[a", "[a", true),
        ("[a", "a", false),
        ("a[", "a[", true),
        ("[!", "[!", true),
        ("[]", "[]", true),
        ("[a-]", "-", true),
        ("[a-]", "a", true),
        ("[-a]", "-", true),
        ("[c-a]", "b", false),
        ("[a-c-e]", "d", false),
        ("[a-c-e]", "-", true),
        ("[a-c-e]", "e", true),
        ("**a", "bca", true),
        ("*a*b*c", "xaxbxc", true),
        ("*a*b*c", "xaxbx", false),
        ("a*", "b", false),
        ("", "a", false),
        ("", "", true),
        ("log/md*", "log/md", true),
        ("*energy", "log/md/energy", true),
        ("*energy", "log/md/energy2", false),
        ("[^a]", "^", true),
        ("[^a]", "b", false),
        ("*[0-9]", "x7", true),
        ("*[0-9]", "7x", false),
        ("a\\*", "a*", false),
        ("a\\*", "a\\z", true),
        ("[!c-a]", "b", true),
        ("[--/]", ".", true),
        ("[!!]", "a", true),
        ("[!!]", "!", false),
    ];
}
