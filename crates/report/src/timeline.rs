//! A happens-before diagram: the steps of each actor and the dependences between steps.
//!
//! Time goes down, one row per step; each actor has a lane. Labels stand on the left, so that no
//! line crosses a label. A message is an arrow from the lane of the sender along the row. An arrow
//! of a dependence leaves a step along the row of the step, goes down beside the lane of the
//! dependent step, and ends there. Only direct dependences between actors have arrows; the lanes
//! show the others. Below the rows are the actors that did not end, with arrows to the actors for
//! which they wait, and then the fault.
//!
//! *Not drawn*: timestamps, because an explored run has none.

use std::path::Path;

use explore::Timeline;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{Drawing, PlotError, svg, text, write};

mod rows;

use self::rows::{Row, Rows};

/// The height of a row, in pixels.
const ROW: i32 = 24;
const BORDER: i32 = 20;
/// The place of the title and of the actors' names.
const TOP: i32 = 84;
/// About the width of a letter.
const LETTER: i32 = 8;
/// The widest lane.
const LANE_MAX: i32 = 150;
/// The longest text of a row, in letters.
const TEXT_MAX: i32 = 80;
/// The beginning of the text of an actor that has not ended.
const WAITS_IN: &str = "waits in ";
/// Distance from a lane to the first arrow beside the lane, and between two arrows.
const BESIDE: i32 = 12;
const APART: i32 = 6;

const LINE: RGBColor = RGBColor(33, 102, 172);
const ARROW: RGBColor = RGBColor(90, 90, 90);
const CRITICAL: RGBColor = RGBColor(178, 24, 43);
const GREY: RGBColor = RGBColor(130, 130, 130);

/// Draws a run with at most `rows_max` rows into the file at `path`: `.svg` or `.png`.
pub(crate) fn plot_timeline(
    timeline: &Timeline,
    rows_max: usize,
    path: &Path,
) -> Result<(), PlotError> {
    let layout = TimelineLayout::new(timeline, rows_max);
    write(path, layout.pixel_size(), &layout)
}

/// Draws a run with at most `rows_max` rows as the text of an SVG picture.
pub(crate) fn svg_of_timeline(timeline: &Timeline, rows_max: usize) -> Result<String, PlotError> {
    let layout = TimelineLayout::new(timeline, rows_max);
    svg(layout.pixel_size(), &layout)
}

/// An arrow: from a lane and a row to a lane and a row, with the track beside the target lane.
struct Arrow {
    from: (i32, i32),
    to: (i32, i32),
    track: i32,
    colour: RGBColor,
}

/// Where everything stands.
struct TimelineLayout<'a> {
    timeline: &'a Timeline,
    rows: Rows,
    /// The left edges of the texts, of the source lines and of the lanes.
    texts: i32,
    places: i32,
    lanes: i32,
    /// The distance of lanes.
    spacing: i32,
    arrows: Vec<Arrow>,
}

fn count_as_i32(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(100_000)
}

/// The width of a text, about.
fn width(text: &str) -> i32 {
    count_as_i32(text.chars().count()) * LETTER
}

/// A text that is no longer than this many letters.
fn shorten_text(text: &str, letters: i32) -> String {
    let letters = usize::try_from(letters).unwrap_or(1);
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let start: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{start}…")
}

impl<'a> TimelineLayout<'a> {
    fn new(timeline: &'a Timeline, rows_max: usize) -> Self {
        let rows = Rows::from_timeline(timeline, rows_max);
        let steps = rows.rows.iter().map(|row| (&row.text[..], &row.place[..]));
        let ends = timeline.ends.iter();
        let ends = ends.map(|end| (&end.text[..], &end.place[..]));
        let fault = timeline.fault.iter().map(|fault| (&fault.text[..], ""));
        let words: Vec<_> = steps.chain(ends).chain(fault).collect();
        let widest = |widths: &mut dyn Iterator<Item = i32>| widths.max().unwrap_or(0);
        let text_width = widest(&mut words.iter().map(|row| width(row.0) + width(WAITS_IN)));
        let numbers = widest(&mut rows.rows.iter().map(|row| width(&row.number)));
        let texts = BORDER + numbers + 14;
        let places = texts + text_width.min(TEXT_MAX * LETTER) + 16;
        let spacing = widest(&mut rows.lanes.iter().map(|name| width(name))) + 16;
        let spacing = spacing.clamp(64, LANE_MAX);
        let lanes = places + widest(&mut words.iter().map(|row| width(row.1))) + spacing / 2 + 10;
        let mut layout = Self {
            timeline,
            rows,
            texts,
            places,
            lanes,
            spacing,
            arrows: Vec::new(),
        };
        layout.add_arrows();
        layout
    }

    /// The colours of the mark and of the words of a row.
    const fn row_colours(row: &Row) -> (RGBColor, RGBColor) {
        match (row.is_critical, row.is_concurrent) {
            (true, _) => (CRITICAL, CRITICAL),
            (_, true) => (GREY, GREY),
            _ => (LINE, BLACK),
        }
    }

    /// Returns the colour of the actors that have not ended: whether they are the fault.
    const fn colour_of_ends(&self) -> RGBColor {
        if self.timeline.fault.is_none() {
            CRITICAL
        } else {
            ARROW
        }
    }

    /// Adds the arrows of dependences and of waits.
    fn add_arrows(&mut self) {
        let mut arrows = Vec::new();
        let rows = &self.rows.rows;
        for (position, row) in rows.iter().enumerate() {
            let colour = match (row.is_critical, row.is_concurrent) {
                (true, _) => CRITICAL,
                (_, true) => GREY,
                _ => ARROW,
            };
            for &before in &row.after {
                if let (Some(from), Some(to)) = (rows[before].lane, row.lane) {
                    arrows.push(((from, before), (to, position), colour));
                }
            }
        }
        let (ends, lane) = (&self.timeline.ends, &self.rows.new_lanes);
        for (row, end) in (rows.len()..).zip(ends) {
            for &other in &end.waits_for {
                let waiting = ends.iter().position(|end| end.lane == other);
                let fault = self.timeline.fault.as_ref();
                let fault = fault.filter(|fault| fault.lane == Some(other));
                let last = waiting.or(fault.map(|_| ends.len()));
                let step = rows.iter().rposition(|step| step.lane == Some(lane[other]));
                let to = last.map(|at| rows.len() + at).or(step).unwrap_or(row);
                let ends = ((lane[end.lane], row), (lane[other], to));
                arrows.push((ends.0, ends.1, self.colour_of_ends()));
            }
        }
        for (from, to, colour) in arrows {
            self.add_arrow(from, to, colour);
        }
    }

    /// Adds an arrow on the first track where no other arrow is beside the same rows of the same
    /// lane.
    fn add_arrow(&mut self, from: (usize, usize), to: (usize, usize), colour: RGBColor) {
        let point = |(lane, row): (usize, usize)| (self.x(lane), self.y(row));
        let (from, to) = (point(from), point(to));
        let side = if from.0 < to.0 { -1 } else { 1 };
        let rows = |from: i32, to: i32| (from.min(to), from.max(to));
        let (top, bottom) = rows(from.1, to.1);
        let mut track = 0;
        while self.arrows.iter().any(|other| {
            let (upper, lower) = rows(other.from.1, other.to.1);
            other.to.0 == to.0 && other.track == side * (BESIDE + APART * track) && {
                upper < bottom && top < lower
            }
        }) {
            track += 1;
        }
        self.arrows.push(Arrow {
            from,
            to,
            track: side * (BESIDE + APART * track),
            colour,
        });
    }

    fn x(&self, lane: usize) -> i32 {
        self.lanes + self.spacing * count_as_i32(lane)
    }

    fn y(&self, row: usize) -> i32 {
        // A gap before the actors that have not ended.
        let gap = if row >= self.rows.rows.len() {
            ROW / 2
        } else {
            0
        };
        TOP + gap + ROW * count_as_i32(row)
    }

    fn pixel_size(&self) -> (u32, u32) {
        let ends = self.timeline.ends.len() + usize::from(self.timeline.fault.is_some());
        let rows = self.rows.rows.len() + ends;
        let width = self.x(self.rows.lanes.len()) - self.spacing / 2 + BORDER;
        let title = BORDER * 2 + self::width(&self.timeline.title) * 5 / 4;
        let height = self.y(rows + 1) + BORDER;
        (width.max(title).unsigned_abs(), height.unsigned_abs())
    }

    fn lanes<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        let middle = Pos::new(HPos::Center, VPos::Center);
        let style = ("sans-serif", 14).into_font().color(&BLACK).pos(middle);
        let rows = &self.rows.rows;
        let (timeline, new_lanes) = (self.timeline, &self.rows.new_lanes);
        for (lane, name) in self.rows.lanes.iter().enumerate() {
            let x = self.x(lane);
            let name = shorten_text(name, (self.spacing - 8) / LETTER);
            area.draw(&Text::new(name, (x, TOP - 32), style.clone()))
                .map_err(text)?;
            let is_here = |row: &Row| row.lane == Some(lane) || row.sender == Some(lane);
            let last = rows.iter().rposition(is_here);
            let end = (timeline.ends.iter()).position(|end| new_lanes[end.lane] == lane);
            let fault = timeline.fault.as_ref().and_then(|fault| fault.lane);
            let fault = fault.is_some_and(|at| new_lanes[at] == lane);
            let end = end.map(|end| rows.len() + end);
            let fault = fault.then_some(rows.len() + timeline.ends.len());
            let bottom = fault.or(end).or(last);
            let bottom = bottom.map_or(TOP - 12, |row| self.y(row));
            let line = vec![(x, TOP - 20), (x, bottom)];
            area.draw(&PathElement::new(line, LINE)).map_err(text)?;
        }
        Ok(())
    }

    /// The words of a row.
    fn draw_words<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        row: usize,
        (number, what, place): (&str, &str, &str),
        colour: RGBColor,
    ) -> Result<(), String> {
        let left = Pos::new(HPos::Left, VPos::Center);
        let right = Pos::new(HPos::Right, VPos::Center);
        let style = ("sans-serif", 13).into_font().color(&colour).pos(left);
        let y = self.y(row);
        let number = Text::new(number, (self.texts - 14, y), style.pos(right));
        area.draw(&number).map_err(text)?;
        let what = shorten_text(what, TEXT_MAX);
        for (x, word) in [(self.texts, &what[..]), (self.places, place)] {
            area.draw(&Text::new(word, (x, y), style.clone()))
                .map_err(text)?;
        }
        Ok(())
    }

    /// The mark of a row: a dot, after an arrow from the sender of a message, or dashes across the
    /// lanes for folded steps.
    fn draw_mark<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        position: usize,
        row: &Row,
    ) -> Result<(), String> {
        let (y, (dot, _)) = (self.y(position), Self::row_colours(row));
        let Some(lane) = row.lane else {
            let ends = (self.x(0), self.x(self.rows.lanes.len().saturating_sub(1)));
            let dashes = (ends.0 - 8..=ends.1 + 8).step_by(8);
            return dashes.into_iter().try_for_each(|x| {
                area.draw(&PathElement::new(vec![(x, y), (x + 3, y)], GREY))
                    .map_err(text)
            });
        };
        let x = self.x(lane);
        if let Some(sender) = row.sender.filter(|&sender| sender != lane) {
            let from = self.x(sender);
            let back = if from < x { -1 } else { 1 };
            area.draw(&PathElement::new(vec![(from, y), (x, y)], dot))
                .map_err(text)?;
            let (tip, end) = (x + 6 * back, x + 14 * back);
            let head = vec![(tip, y), (end, y - 4), (end, y + 4)];
            area.draw(&Polygon::new(head, dot.filled())).map_err(text)?;
        }
        area.draw(&Circle::new((x, y), 5, dot.filled()))
            .map_err(text)
    }

    /// The actors that have not ended, and the fault as the last row.
    fn draw_ends<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        let (timeline, colour) = (self.timeline, self.colour_of_ends());
        let first = self.rows.rows.len();
        for (row, end) in (first..).zip(&timeline.ends) {
            let (x, y) = (self.x(self.rows.new_lanes[end.lane]), self.y(row));
            let corners = [(x - 5, y - 5), (x + 5, y + 5)];
            area.draw(&Rectangle::new(corners, WHITE.filled()))
                .map_err(text)?;
            area.draw(&Rectangle::new(corners, colour)).map_err(text)?;
            let words = format!("{WAITS_IN}{}", end.text);
            self.draw_words(area, row, ("", &words, &end.place), colour)?;
        }
        let Some(fault) = &timeline.fault else {
            return Ok(());
        };
        let row = first + timeline.ends.len();
        if let Some(lane) = fault.lane {
            let at = (self.x(self.rows.new_lanes[lane]), self.y(row));
            let cross = Cross::new(at, 6, CRITICAL.stroke_width(3));
            area.draw(&cross).map_err(text)?;
        }
        self.draw_words(area, row, ("", &fault.text, ""), CRITICAL)
    }

    fn arrow<D: DrawingBackend>(area: &DrawingArea<D, Shift>, arrow: &Arrow) -> Result<(), String> {
        let ((x, y), (to, bottom), track) = (arrow.from, arrow.to, arrow.to.0 + arrow.track);
        let points = vec![(x, y), (track, y), (track, bottom), (to, bottom)];
        area.draw(&PathElement::new(points, arrow.colour))
            .map_err(text)?;
        let back = 6 * arrow.track.signum();
        let (tip, end) = (to + back, to + 2 * back);
        let head = vec![(tip, bottom), (end, bottom - 4), (end, bottom + 4)];
        area.draw(&Polygon::new(head, arrow.colour.filled()))
            .map_err(text)
    }
}

impl Drawing for TimelineLayout<'_> {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let style = ("sans-serif", 18).into_font().color(&BLACK);
        area.draw(&Text::new(self.timeline.title.clone(), (BORDER, 14), style))
            .map_err(text)?;
        self.lanes(area)?;
        for arrow in &self.arrows {
            Self::arrow(area, arrow)?;
        }
        for (position, row) in self.rows.rows.iter().enumerate() {
            self.draw_mark(area, position, row)?;
            let words = (&row.number[..], &row.text[..], &row.place[..]);
            let letters = match row.lane {
                Some(_) => Self::row_colours(row).1,
                None => ARROW,
            };
            self.draw_words(area, position, words, letters)?;
        }
        self.draw_ends(area)
    }
}

#[cfg(test)]
mod tests {
    use explore::{TimelineEnd, TimelineFault, TimelineStep};

    use super::*;

    fn example() -> Timeline {
        let step = |lane: usize, text: &str, after: &[usize]| TimelineStep {
            lane,
            text: text.to_owned(),
            place: "main.rs:7".to_owned(),
            after: after.to_vec(),
            is_critical: text == "lock",
            is_concurrent: text == "sleep",
        };
        Timeline {
            title: "An example".to_owned(),
            lanes: vec!["alice".to_owned(), "bob".to_owned()],
            steps: vec![
                step(0, "send", &[]),
                step(1, "receive", &[0]),
                step(1, "sleep", &[]),
                step(0, "lock", &[1]),
            ],
            ends: vec![TimelineEnd {
                lane: 1,
                text: "sleep".to_owned(),
                place: "main.rs:9".to_owned(),
                waits_for: vec![0],
            }],
            fault: Some(TimelineFault {
                lane: Some(0),
                text: "fails".to_owned(),
            }),
        }
    }

    #[test]
    fn every_step_has_a_dot_and_every_dependence_an_arrow() {
        let picture = svg_of_timeline(&example(), 40).unwrap();
        assert_eq!(picture.matches("<circle").count(), 4, "{picture}");
        // Two dependences and one wait.
        assert_eq!(picture.matches("<polygon").count(), 3, "{picture}");
        for word in [
            "An example",
            "alice",
            "bob",
            "send",
            "receive",
            "main.rs:7",
            "waits in sleep",
            "fails",
        ] {
            assert!(picture.contains(word), "{word}");
        }
    }

    /// Arrows that would lie on each other go side by side.
    #[test]
    fn arrows_keep_apart() {
        let mut timeline = example();
        timeline.lanes.push("carol".to_owned());
        timeline.steps[2].lane = 2;
        timeline.steps.push(TimelineStep {
            lane: 0,
            place: "main.rs:8".to_owned(),
            after: vec![2, 1],
            ..TimelineStep::default()
        });
        let layout = TimelineLayout::new(&timeline, 40);
        let tracks: Vec<i32> = layout.arrows.iter().map(|arrow| arrow.track).collect();
        assert_eq!(tracks, [-12, 12, 18, 24, 12]);
    }
}
