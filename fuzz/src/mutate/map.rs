//! Text maps: lines of numbers (`spec/blob.md#text-maps`).

use super::Random;

/// Numbers that a rule may forget.
const NUMBERS: [&str; 10] = [
    "0",
    "1",
    "-1",
    "2147483647",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "00",
    "+1",
];

fn lines(data: &[u8]) -> Vec<Vec<u8>> {
    data.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn words(line: &[u8]) -> Vec<Vec<u8>> {
    line.split(|&byte| byte == b' ').map(<[u8]>::to_vec).collect()
}

/// One to three changes of lines and of words.
pub(super) fn mutated(data: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines = lines(data);
    for _ in 0..=random.below(3) {
        let (one, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 => lines.swap(one, other),
            1 => lines.insert(one, lines[other].clone()),
            2 if lines.len() > 1 => drop(lines.remove(one)),
            _ => {
                let mut changed = words(&lines[one]);
                change_word(&mut changed, &words(&lines[other]), random);
                lines[one] = changed.join(&b' ');
            }
        }
    }
    lines.join(&b'\n')
}

fn change_word(words: &mut Vec<Vec<u8>>, others: &[Vec<u8>], random: &mut Random) {
    let at = random.below(words.len());
    match random.below(4) {
        0 => words[at] = random.of(&NUMBERS).map_or_else(Vec::new, |text| text.as_bytes().to_vec()),
        1 => words.insert(at, random.of(others).cloned().unwrap_or_default()),
        2 if words.len() > 1 => drop(words.remove(at)),
        _ => words[at] = random.of(others).cloned().unwrap_or_default(),
    }
}

/// The lines of one up to some line, then those of the other.
pub(super) fn crossed(one: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut lines, others) = (lines(one), lines(other));
    lines.truncate(random.below(lines.len() + 1));
    lines.extend_from_slice(&others[random.below(others.len())..]);
    lines.join(&b'\n')
}

/// Makes the counts of processes and of their requests right, where a line of two numbers stands
/// before one of requests.
pub(super) fn mended(data: &[u8]) -> Vec<u8> {
    let mut lines = lines(data);
    let mut processes = 0_usize;
    let mut at = 2;
    while at + 1 < lines.len() {
        let head = words(&lines[at]);
        if let [process, _] = &head[..]
            && !process.is_empty()
        {
            let requests = words(&lines[at + 1]).iter().filter(|word| !word.is_empty()).count();
            lines[at] = [process.as_slice(), requests.to_string().as_bytes()].join(&b' ');
            processes += 1;
        }
        at += 2;
    }
    if let Some(first) = lines.first_mut() {
        let mut head = words(first);
        if let Some(number) = head.get_mut(3) {
            *number = processes.to_string().into_bytes();
            *first = head.join(&b' ');
        }
    }
    lines.join(&b'\n')
}
