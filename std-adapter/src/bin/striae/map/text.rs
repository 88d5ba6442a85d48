//! Writes a map in letters, and in colours if the terminal has them.

use super::{amounts_of, bytes_of, is_light, letter_of, letters, owners, percent, rows, title};
use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use std::io::{self, Write};
use striae::map::{Cell, Kind, Picture};

/// Width of the column of offsets, with the spaces after it.
const LABEL: u64 = 14;

/// Smallest width of a picture with a column of offsets.
const LEAST: u64 = 16;

/// Width of the column of offsets; 0 if there is no room for it.
pub(super) fn label_width(width: u64) -> u64 {
    if width >= LABEL.saturating_add(LEAST) { LABEL } else { 0 }
}

pub(super) fn write(
    out: &mut impl Write,
    pictures: &[Picture],
    has_labels: bool,
) -> io::Result<()> {
    for picture in pictures {
        writeln!(out, "{}", title(picture, "letter"))?;
        rows(picture).try_for_each(|row| write_row(out, row, has_labels))?;
        writeln!(out)?;
    }
    write_legend(out, pictures)?;
    match pictures {
        [picture] => write_tables(out, picture),
        _ => Ok(()), // of a set they would be more than its pictures
    }
}

fn write_row(out: &mut impl Write, row: &[Cell], has_labels: bool) -> io::Result<()> {
    if let Some(first) = row.first().filter(|_| has_labels) {
        write!(out, "{:>12}  ", first.span.offset())?;
    }
    for run in row.chunk_by(|a, b| style_of(a) == style_of(b)) {
        let style = run.first().map(style_of).unwrap_or_default();
        let letters: String = run.iter().map(letter_of).collect();
        write!(out, "{style}{letters}{style:#}")?;
    }
    writeln!(out)
}

/// Writes the legend: all kinds that occur, with their share of the files.
fn write_legend(out: &mut impl Write, pictures: &[Picture]) -> io::Result<()> {
    let amounts = amounts_of(pictures);
    let is_sampled = pictures.iter().any(|picture| picture.cells.is_sampled);
    for (kind, bytes) in amounts.present() {
        let (look, style) = (kind.look(), style_of_kind(kind, None));
        let percent = percent(bytes, amounts.total());
        let bytes = bytes_of(kind, bytes, is_sampled);
        let (letters, name, description) = (letters(kind), look.name, look.description);
        let space = " ".repeat(2_usize.saturating_sub(letters.len()));
        write!(out, "{style}{letters}{style:#}{space} {name:<10} {bytes:>15} {percent:>6} %")?;
        writeln!(out, "  {description}")?;
    }
    if let Some(note) = owners(pictures) {
        writeln!(out, "{note}")?;
    }
    if is_sampled {
        writeln!(out, "~ is an estimate: some letters stand for too many places to examine all")?;
    }
    Ok(())
}

/// Writes the locations of the tables.
fn write_tables(out: &mut impl Write, picture: &Picture) -> io::Result<()> {
    writeln!(out)?;
    for part in &picture.parts {
        let (style, letter) = (style_of_kind(part.kind, None), part.kind.look().letter);
        let (offset, len) = (part.span.offset(), part.span.len());
        writeln!(out, "{offset:>12}  {style}{letter}{style:#} {:<26} {len:>12} bytes", part.name)?;
    }
    Ok(())
}

/// The colour of a kind as background, with readable text in black or white.
fn style_of_kind(kind: Kind, owner: Option<u64>) -> Style {
    let colour = kind.colour_of(owner);
    // Terminals have a cube of 6 by 6 by 6 colours, from number 16 on: the nearest one.
    let [red, green, blue] = colour.map(|part| part.saturating_add(25) / 51);
    let number = red.saturating_mul(36).saturating_add(green.saturating_mul(6));
    let number = number.saturating_add(blue).saturating_add(16);
    let letter = if is_light(colour) { AnsiColor::Black } else { AnsiColor::BrightWhite };
    let ground = Color::Ansi256(Ansi256Color(number));
    Style::new().bg_color(Some(ground)).fg_color(Some(letter.into()))
}

fn style_of(cell: &Cell) -> Style {
    match cell.mark {
        Some(mark) => style_of_kind(mark, None).bold(),
        None => style_of_kind(cell.kind, cell.owner),
    }
}
