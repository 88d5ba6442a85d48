//! Plots as SVG: without scripts or fonts, and always with equal bytes for equal input.

use super::{is_plotted, number, stride};
use crate::failure::Failure;
use crate::map::svg::escaped;
use crate::printable::printable_path;
use std::fmt::Write;
use std::path::Path;
use striae::gsd::hoomd::Series;

/// Sizes in points: of a plot, of the margin, of a line of text.
const PLOT: (f64, f64) = (720.0, 160.0);
const MARGIN: f64 = 16.0;
const LINE: f64 = 16.0;

/// The most groups of frames of a plot: more cannot be told apart. Of each, the smallest and the
/// largest value are drawn.
const GROUPS: usize = 1000;

/// A plot of each series of numbers but the first one, which has the steps.
pub(super) fn svg(path: &Path, series: &[Series]) -> Result<String, Failure> {
    let none = || Failure::usage(path, "there is no quantity of one number to plot");
    let (steps, others) = series.split_first().ok_or_else(none)?;
    let plots: Vec<_> = others.iter().filter(|of| is_plotted(of)).collect();
    if plots.is_empty() {
        return Err(none());
    }
    let each = PLOT.1 + 4.0 * LINE;
    let (mut text, mut y) = (String::new(), MARGIN + LINE);
    let _ =
        writeln!(text, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(&printable_path(path)));
    for plot in plots {
        y += LINE;
        draw(&mut text, y, steps, plot);
        y += each;
    }
    let (width, height) = (PLOT.0 + 2.0 * MARGIN, y);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{text}</svg>\n"
    ))
}

/// The smallest and the largest of some numbers, if there is one.
fn extremes(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |range, of| {
        let (low, high) = range.unwrap_or((of, of));
        Some((low.min(of), high.max(of)))
    })
}

/// The range of an axis: its ends differ, but for numbers that are so large that there is no other
/// one near.
fn range(extremes: Option<(f64, f64)>) -> (f64, f64) {
    match extremes {
        None => (0.0, 1.0),
        Some((low, high)) if low < high => (low, high),
        Some((low, high)) => (low - 0.5, high + 0.5),
    }
}

/// The frames that are drawn: all of a few, or of each group those with the smallest and the
/// largest value. A group without a number is a gap.
fn drawn(frames: usize, value: impl Fn(usize) -> Option<f64>) -> Vec<usize> {
    let len = frames.div_ceil(GROUPS);
    if len <= 2 {
        return (0..frames).collect();
    }
    let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let group = |start: usize| {
        let all = start..start.saturating_add(len).min(frames);
        let numbers = || all.clone().filter_map(|frame| Some((frame, value(frame)?)));
        let ends = [numbers().min_by(order), numbers().max_by(order)];
        let [low, high] = ends.map(|end| end.map_or(start, |(frame, _)| frame));
        [low.min(high), low.max(high)]
    };
    let mut drawn: Vec<_> = (0..frames).step_by(len).flat_map(group).collect();
    drawn.dedup(); // a value between gaps is one point, and not two
    drawn
}

/// Where a number is between two others, from 0 to 1. The difference of these may be no number.
fn place(value: f64, (low, high): (f64, f64)) -> f64 {
    let of = high / 2.0 - low / 2.0;
    if of > 0.0 { (value / 2.0 - low / 2.0) / of } else { 0.5 }
}

/// Draws a series over the steps. Values that are not finite are gaps, and a value between two gaps
/// is a dot.
fn draw(text: &mut String, top: f64, steps: &Series, series: &Series) {
    let frames = series.quantity.values.len().checked_div(stride(series)).unwrap_or(0);
    let (of_steps, values) = (&steps.quantity.values, &series.quantity.values);
    let of_steps = |frame| number(of_steps, frame);
    let values = |frame| number(values, frame);
    let [width, height] =
        [extremes((0..frames).filter_map(of_steps)), extremes((0..frames).filter_map(values))];
    let says = match height {
        None => "no number".to_owned(),
        Some((low, high)) if low < high => format!("{low:?} to {high:?}"),
        Some((low, _)) => format!("{low:?}"),
    };
    let (left, right) = width.unwrap_or_default();
    let name = series.name.strip_prefix("log/").unwrap_or(&series.name);
    let (box_top, right_edge) = (top + LINE, MARGIN + PLOT.0);
    let bottom = box_top + PLOT.1;
    let _ = write!(
        text,
        "<text x=\"{MARGIN}\" y=\"{top}\">{}</text>\n\
         <text x=\"{right_edge}\" y=\"{top}\" text-anchor=\"end\">{says}</text>\n\
         <rect x=\"{MARGIN}\" y=\"{box_top}\" width=\"{}\" height=\"{}\" fill=\"none\" \
         stroke=\"#999\"/>\n\
         <text x=\"{MARGIN}\" y=\"{}\">step {left}</text>\n\
         <text x=\"{right_edge}\" y=\"{}\" text-anchor=\"end\">{right}</text>\n<path d=\"",
        escaped(name),
        PLOT.0,
        PLOT.1,
        bottom + LINE,
        bottom + LINE,
    );
    let point = |frame| {
        let (at, value) = of_steps(frame).zip(values(frame))?;
        let x = MARGIN + PLOT.0 * place(at, range(width));
        Some((x, bottom - PLOT.1 * place(value, range(height))))
    };
    let all: Vec<_> = drawn(frames, values).into_iter().map(point).collect();
    let mut dots = String::new();
    for run in all.split(Option::is_none) {
        for (number, (x, y)) in run.iter().flatten().enumerate() {
            let _ = match (run.len(), number) {
                (1, _) => {
                    writeln!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"#06c\"/>")
                }
                (_, 0) => write!(text, "M{x:.1} {y:.1}"),
                _ => write!(text, "L{x:.1} {y:.1}"),
            };
        }
    }
    let _ = write!(text, "\" fill=\"none\" stroke=\"#06c\"/>\n{dots}");
}
