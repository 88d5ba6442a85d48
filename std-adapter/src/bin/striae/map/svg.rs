//! Writes a map as SVG: without scripts or fonts, and always with equal bytes for equal input.
//!
//! Each run of cells shows its letter, so that the map is readable in black and white. Where there
//! is room, it names its task or frame.

use super::{amounts_of, bytes_of, is_light, letter_of, letters, owners, percent, rows, title};
use crate::printable::printable_path;
use std::fmt::{Display, Write};
use striae::map::{Cell, Picture};
use striae_core::store::usize_to_u64;

/// Sizes in points: of a cell, of a line of text, of the column of offsets, of the margin.
const CELL: (u64, u64) = (9, 15);
const LINE: u64 = 16;
const LABEL: u64 = 110;
const MARGIN: u64 = 12;

/// Size in points of a table in the row of tables, which is not to scale.
const TABLE: (u64, u64) = (176, 34);

struct Svg {
    text: String,
    width: u64,
    y: u64,
}

pub(super) fn svg(pictures: &[Picture]) -> String {
    let columns = pictures.first().map_or(0, |picture| picture.columns.get());
    let width = columns.saturating_mul(CELL.0).saturating_add(LABEL).max(TABLE.0.saturating_mul(4));
    let mut svg = Svg { text: String::new(), width, y: MARGIN };
    for picture in pictures {
        svg.line(0, &title(picture, "cell"));
        rows(picture).for_each(|row| svg.row(row, picture.owner));
        svg.y = svg.y.saturating_add(LINE / 2);
        svg.tables(picture);
    }
    svg.legend(pictures);
    svg.whole(pictures)
}

impl Svg {
    /// Writes a line into memory, which cannot fail.
    fn put(&mut self, text: impl Display) {
        let _ = writeln!(self.text, "{text}");
    }

    fn rect(&mut self, (x, width): (u64, u64), height: u64, colour: [u8; 3]) {
        let (x, y, colour) = (x.saturating_add(MARGIN), self.y, hex(colour));
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// Writes text into a line whose top is `below` points under the current position.
    fn text(&mut self, (x, below): (u64, u64), colour: &str, text: &str) {
        let (x, y) = (x.saturating_add(MARGIN), self.y.saturating_add(below).saturating_add(11));
        let text = escaped(text);
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{text}</text>"));
    }

    /// Writes a line of text, and moves to the next line.
    fn line(&mut self, x: u64, text: &str) {
        self.text((x, 0), "#000", text);
        self.y = self.y.saturating_add(LINE);
    }

    /// Draws a row of cells. A run names its owner if there is room.
    fn row(&mut self, row: &[Cell], owner: &str) {
        if let Some(first) = row.first() {
            self.text((0, 0), "#666", &first.span.offset().to_string());
        }
        let mut x = LABEL;
        for run in row.chunk_by(|a, b| look_of(a) == look_of(b) && owner_of(a) == owner_of(b)) {
            let Some(first) = run.first() else { continue };
            let ((_, colour), letter) = (look_of(first), letter_of(first));
            let cells = run.iter().fold(0_u64, |cells, _| cells.saturating_add(1));
            let width = cells.saturating_mul(CELL.0);
            self.rect((x, width), CELL.1, colour);
            let named = owner_of(first).map(|number| format!("{letter} {owner} {number}"));
            let named = named.filter(|text| width_of(text) <= width);
            let text = named.unwrap_or_else(|| letter.to_string());
            self.text((x.saturating_add(1), 0), ink(colour), &text);
            x = x.saturating_add(width);
        }
        self.y = self.y.saturating_add(CELL.1);
    }

    /// Draws the tables side by side, all with one width.
    fn tables(&mut self, picture: &Picture) {
        let mut x = 0_u64;
        for part in &picture.parts {
            if x > 0 && x.saturating_add(TABLE.0) > self.width {
                (x, self.y) = (0, self.y.saturating_add(TABLE.1).saturating_add(2));
            }
            let look = part.kind.look();
            self.rect((x, TABLE.0.saturating_sub(2)), TABLE.1, look.colour);
            let (inner, colour) = (x.saturating_add(4), ink(look.colour));
            self.text((inner, 1), colour, &format!("{} {}", look.letter, part.name));
            let (offset, len) = (part.span.offset(), part.span.len());
            self.text((inner, LINE), colour, &format!("{len} bytes at {offset}"));
            x = x.saturating_add(TABLE.0);
        }
        self.y = self.y.saturating_add(TABLE.1).saturating_add(LINE);
    }

    fn legend(&mut self, pictures: &[Picture]) {
        let amounts = amounts_of(pictures);
        let is_sampled = pictures.iter().any(|picture| picture.cells.is_sampled);
        for (kind, bytes) in amounts.present() {
            let look = kind.look();
            self.rect((0, 24), LINE.saturating_sub(2), look.colour);
            self.text((3, 0), ink(look.colour), &letters(kind));
            let (percent, bytes) =
                (percent(bytes, amounts.total()), bytes_of(kind, bytes, is_sampled));
            self.text((32, 0), "#000", look.name);
            self.text((LABEL, 0), "#000", &format!("{bytes} bytes, {percent} %"));
            self.line(LABEL.saturating_mul(3), look.description);
        }
        if let Some(note) = owners(pictures) {
            self.line(0, &note);
        }
        if is_sampled {
            self.line(0, "~ is an estimate: some cells have too many places to examine all.");
        }
    }

    fn whole(self, pictures: &[Picture]) -> String {
        let width = self.width.saturating_add(MARGIN.saturating_mul(2));
        let height = self.y.saturating_add(MARGIN);
        let names = pictures.iter().map(|picture| printable_path(&picture.path));
        let names = escaped(&names.collect::<Vec<_>>().join(", "));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"monospace\" font-size=\"12\">\n\
             <title>Map of {names}</title>\n\
             <desc>Whose bytes are where in the file: rows of cells from its start to its end, \
             with the offset of the first byte of each row; its tables; the legend.</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.text
        )
    }
}

/// The letter and the colour of a cell.
fn look_of(cell: &Cell) -> (char, [u8; 3]) {
    let colour = match cell.mark {
        Some(mark) => mark.colour_of(None),
        None => cell.kind.colour_of(cell.owner),
    };
    (letter_of(cell), colour)
}

/// The owner of the bytes that a cell shows.
fn owner_of(cell: &Cell) -> Option<u64> {
    cell.owner.filter(|_| cell.mark.is_none())
}

/// The width in points that a short text has at most: no font has wider letters of one width.
fn width_of(text: &str) -> u64 {
    const LETTER: u64 = 8;
    usize_to_u64(text.len()).saturating_mul(LETTER)
}

fn ink(colour: [u8; 3]) -> &'static str {
    if is_light(colour) { "#000" } else { "#fff" }
}

fn hex(colour: [u8; 3]) -> String {
    let [red, green, blue] = colour;
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Escapes text for XML. Characters that XML forbids do not occur in it.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
