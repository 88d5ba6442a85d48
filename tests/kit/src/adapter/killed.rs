//! A child that writes, says how far it surely is, and is killed at any moment.
//!
//! It speaks through a pipe. Moments are chosen by the number of messages, and a random number of
//! microseconds behind one; nothing is asserted about time.

use super::Random;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Before the file is created, when it is, a commit, before the close, behind it.
const MESSAGES: [char; 5] = ['s', 'c', '@', 'x', 'z'];

/// One message of a child, in one write, so that a kill leaves all of it or nothing.
pub fn tell(message: char, numbers: &[u64]) {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    let line = format!("\n{message} {}\n", numbers.join(" "));
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

/// What a child said.
#[derive(Debug, Default)]
pub struct Said {
    pub created: bool,
    pub closed: bool,
    pub commits: u64,
    /// The largest number that stood at each place of a message.
    pub counts: Vec<u64>,
}

impl Said {
    /// Takes note of a line; says which message it was.
    fn hear(&mut self, line: &str) -> Option<char> {
        let message = line.chars().next().filter(|first| MESSAGES.contains(first))?;
        let (_, counts) = line.split_once(' ').filter(|_| line.ends_with('\n'))?;
        let counts = counts.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>();
        let counts = counts.ok()?;
        self.created |= message == 'c';
        self.closed |= message == 'z';
        self.commits += u64::from(message == '@');
        self.counts.resize(self.counts.len().max(counts.len()), 0);
        self.counts.iter_mut().zip(counts).for_each(|(to, from)| *to = from.max(*to));
        Some(message)
    }
}

/// Until which message a child lives, how often it has said it, and how long behind that.
#[derive(Debug)]
pub struct Moment {
    pub message: char,
    pub count: u64,
    pub micros: u64,
}

/// Starts a child and kills it; says whether it lived until then. If it ended before, it has done
/// all its work.
pub fn kill(mut child: Command, moment: &Moment, random: &mut Random, said: &mut Said) -> bool {
    let mut process = child.stdout(Stdio::piped()).spawn().unwrap();
    let (mut heard, mut line) = (0, String::new());
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    while heard < moment.count && lines.read_line(&mut line).unwrap() > 0 {
        heard += u64::from(said.hear(&line) == Some(moment.message));
        line.clear();
    }
    let until = Instant::now() + Duration::from_micros(random.below(moment.micros));
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    process.kill().unwrap();
    let status = process.wait().unwrap();
    while lines.read_line(&mut line).unwrap() > 0 {
        said.hear(&line);
        line.clear();
    }
    let was_killed = status.signal() == Some(9);
    assert!(was_killed || status.success() && said.closed, "{child:?}: {status}, {said:?}");
    was_killed
}
