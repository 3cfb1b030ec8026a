//! A happens-before diagram: the steps of each actor and the dependences between steps.
//!
//! Time goes down, one row per step; each actor has a lane. Labels stand on the left, so that no
//! line crosses a label. An arrow leaves a step along the row of the step, which has no other step,
//! goes down beside the lane of the dependent step, and ends there. Only direct dependences between
//! actors have arrows; the lanes show the others. Below the rows are the actors that did not end,
//! with arrows to the actors for which they wait.
//!
//! *Not drawn*: timestamps, because an explored run has none.

use std::path::Path;

use explore::Timeline;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{Drawing, PlotError, svg, text, write};

/// The height of a row, in pixels.
const ROW: i32 = 24;
const BORDER: i32 = 20;
/// The place of the title and of the actors' names.
const TOP: i32 = 84;
/// About the width of a letter.
const LETTER: i32 = 8;
/// The widest lane.
const LANE_MAX: i32 = 150;
/// Distance from a lane to the first arrow beside the lane, and between two arrows.
const BESIDE: i32 = 12;
const APART: i32 = 6;

const LINE: RGBColor = RGBColor(33, 102, 172);
const ARROW: RGBColor = RGBColor(90, 90, 90);
const CRITICAL: RGBColor = RGBColor(178, 24, 43);
const GREY: RGBColor = RGBColor(170, 170, 170);

/// Draws a run into the file at `path`: `.svg` or `.png`.
pub(crate) fn plot_timeline(timeline: &Timeline, path: &Path) -> Result<(), PlotError> {
    let layout = Layout::new(timeline);
    write(path, layout.pixel_size(), &layout)
}

/// Draws a run as the text of an SVG picture.
pub(crate) fn svg_of_timeline(timeline: &Timeline) -> Result<String, PlotError> {
    let layout = Layout::new(timeline);
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
struct Layout<'a> {
    timeline: &'a Timeline,
    /// The left edges of the source lines and of the lanes.
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

impl<'a> Layout<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        let rows = timeline.steps.iter().map(|step| (&step.text, &step.place));
        let ends = timeline.ends.iter().map(|end| (&end.text, &end.place));
        let texts: Vec<_> = rows.chain(ends).collect();
        let widest = |widths: &mut dyn Iterator<Item = i32>| widths.max().unwrap_or(0);
        let places = BORDER + 40 + widest(&mut texts.iter().map(|row| width(row.0))) + 16;
        let spacing = widest(&mut timeline.lanes.iter().map(|name| width(name))) + 16;
        let spacing = spacing.clamp(64, LANE_MAX);
        let lanes = places + widest(&mut texts.iter().map(|row| width(row.1))) + spacing / 2 + 10;
        let mut layout = Self {
            timeline,
            places,
            lanes,
            spacing,
            arrows: Vec::new(),
        };
        for (row, step) in timeline.steps.iter().enumerate() {
            let colour = match (step.is_critical, step.is_concurrent) {
                (true, _) => CRITICAL,
                (_, true) => GREY,
                _ => ARROW,
            };
            for &before in &step.after {
                let from = (timeline.steps[before].lane, before);
                layout.add_arrow(from, (step.lane, row), colour);
            }
        }
        for (row, end) in (timeline.steps.len()..).zip(&timeline.ends) {
            for &other in &end.waits_for {
                let bottom = timeline.steps.len() + timeline.ends.len();
                let there = timeline.ends.iter().position(|end| end.lane == other);
                let to = there.map_or(bottom, |place| timeline.steps.len() + place);
                layout.add_arrow((end.lane, row), (other, to), CRITICAL);
            }
        }
        layout
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
        let gap = if row >= self.timeline.steps.len() {
            ROW / 2
        } else {
            0
        };
        let _ = self;
        TOP + gap + ROW * count_as_i32(row)
    }

    fn pixel_size(&self) -> (u32, u32) {
        let rows = self.timeline.steps.len() + self.timeline.ends.len();
        let width = self.x(self.timeline.lanes.len()) - self.spacing / 2 + BORDER;
        let title = BORDER * 2 + self::width(&self.timeline.title) * 5 / 4;
        let height = self.y(rows + 1) + BORDER;
        (width.max(title).unsigned_abs(), height.unsigned_abs())
    }

    fn lanes<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        let middle = Pos::new(HPos::Center, VPos::Center);
        let style = ("sans-serif", 14).into_font().color(&BLACK).pos(middle);
        let steps = &self.timeline.steps;
        for (lane, name) in self.timeline.lanes.iter().enumerate() {
            let x = self.x(lane);
            let name = shorten_text(name, (self.spacing - 8) / LETTER);
            area.draw(&Text::new(name, (x, TOP - 32), style.clone()))
                .map_err(text)?;
            let last = steps.iter().rposition(|step| step.lane == lane);
            let end = self.timeline.ends.iter().position(|end| end.lane == lane);
            let bottom = match (end, last) {
                (Some(end), _) => self.y(steps.len() + end),
                (None, Some(last)) => self.y(last),
                (None, None) => TOP - 12,
            };
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
        (what, place): (&str, &str),
        colour: RGBColor,
    ) -> Result<(), String> {
        let left = Pos::new(HPos::Left, VPos::Center);
        let style = ("sans-serif", 13).into_font().color(&colour).pos(left);
        let y = self.y(row);
        if row < self.timeline.steps.len() {
            let right = Pos::new(HPos::Right, VPos::Center);
            let number = Text::new((row + 1).to_string(), (BORDER + 26, y), style.pos(right));
            area.draw(&number).map_err(text)?;
        }
        for (x, word) in [(BORDER + 40, what), (self.places, place)] {
            area.draw(&Text::new(word.to_owned(), (x, y), style.clone()))
                .map_err(text)?;
        }
        Ok(())
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

impl Drawing for Layout<'_> {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let style = ("sans-serif", 18).into_font().color(&BLACK);
        area.draw(&Text::new(self.timeline.title.clone(), (BORDER, 14), style))
            .map_err(text)?;
        self.lanes(area)?;
        for arrow in &self.arrows {
            Self::arrow(area, arrow)?;
        }
        for (row, step) in self.timeline.steps.iter().enumerate() {
            let (dot, letters) = match (step.is_critical, step.is_concurrent) {
                (true, _) => (CRITICAL, CRITICAL),
                (_, true) => (GREY, GREY),
                _ => (LINE, BLACK),
            };
            let at = (self.x(step.lane), self.y(row));
            area.draw(&Circle::new(at, 5, dot.filled())).map_err(text)?;
            self.draw_words(area, row, (&step.text, &step.place), letters)?;
        }
        for (row, end) in (self.timeline.steps.len()..).zip(&self.timeline.ends) {
            let (x, y) = (self.x(end.lane), self.y(row));
            let corners = [(x - 5, y - 5), (x + 5, y + 5)];
            area.draw(&Rectangle::new(corners, WHITE.filled()))
                .map_err(text)?;
            area.draw(&Rectangle::new(corners, CRITICAL))
                .map_err(text)?;
            self.draw_words(area, row, (&end.text, &end.place), CRITICAL)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use explore::{TimelineEnd, TimelineStep};

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
                text: "waits".to_owned(),
                place: "main.rs:9".to_owned(),
                waits_for: vec![0],
            }],
        }
    }

    #[test]
    fn every_step_has_a_dot_and_every_dependence_an_arrow() {
        let picture = svg_of_timeline(&example()).unwrap();
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
            "waits",
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
            after: vec![2, 1],
            ..TimelineStep::default()
        });
        let layout = Layout::new(&timeline);
        let tracks: Vec<i32> = layout.arrows.iter().map(|arrow| arrow.track).collect();
        assert_eq!(tracks, [-12, 12, 18, 24, 12]);
    }
}
