//! The picture of a state machine: the states one below the other, and the transitions.
//!
//! Each transition leaves its state on a separate line, with its label; the lines that lead to the
//! same state join in one lane on the right and enter this state at the first line of the state.
//! States in which the machine waits have a double frame.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::StateGraph;
use crate::canvas::{Drawing, PlotError, svg, text, write};

/// The height of a line of text, in pixels.
const LINE: i32 = 22;
/// Between two states.
const GAP: i32 = 14;
const BORDER: i32 = 20;
/// The place of the title.
const TOP: i32 = 50;
/// Between two lanes.
const LANE: i32 = 14;
/// About the width of a letter.
const LETTER: i32 = 8;

const FRAME: RGBColor = RGBColor(33, 102, 172);
const WAITS: RGBColor = RGBColor(178, 24, 43);
/// The colours of lanes, in turn.
const LANES: [RGBColor; 6] = [
    RGBColor(33, 102, 172),
    RGBColor(178, 24, 43),
    RGBColor(27, 120, 55),
    RGBColor(230, 140, 20),
    RGBColor(118, 42, 131),
    RGBColor(100, 100, 100),
];

/// Draws a state machine as the text of an SVG picture.
pub(crate) fn svg_of_states(graph: &StateGraph) -> Result<String, PlotError> {
    let layout = StateLayout::new(graph);
    svg(layout.pixel_size(), &layout)
}

/// Draws a state machine into the file at `path`: `.svg` or `.png`.
pub(crate) fn plot_states(graph: &StateGraph, path: &Path) -> Result<(), PlotError> {
    let layout = StateLayout::new(graph);
    write(path, layout.pixel_size(), &layout)
}

/// Where everything stands.
struct StateLayout<'a> {
    graph: &'a StateGraph,
    /// The upper and lower edge of each state.
    boxes: Vec<(i32, i32)>,
    /// The right edge of the states.
    right: i32,
    /// Where the lanes begin.
    lanes: i32,
    width: i32,
    height: i32,
}

/// The width of a text, about.
fn width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(1000) * LETTER
}

fn count_as_i32(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(10_000)
}

impl<'a> StateLayout<'a> {
    /// Returns width and height in pixels.
    const fn pixel_size(&self) -> (u32, u32) {
        (self.width.unsigned_abs(), self.height.unsigned_abs())
    }

    fn new(graph: &'a StateGraph) -> Self {
        let mut y = TOP;
        let mut boxes = Vec::new();
        for state in 0..graph.states.len() {
            let leaving = graph.transitions.iter().filter(|(from, ..)| *from == state);
            let lower = y + LINE * (1 + count_as_i32(leaving.count()));
            boxes.push((y, lower));
            y = lower + GAP;
        }
        let names = graph.states.iter().map(|(name, _)| width(name)).max();
        let right = BORDER + names.unwrap_or_default() + 20;
        let words = graph.transitions.iter().map(|(.., label)| width(label));
        let lanes = right + words.max().unwrap_or_default() + 30;
        Self {
            graph,
            boxes,
            right,
            lanes,
            width: lanes + LANE * count_as_i32(graph.states.len()) + BORDER,
            height: y + BORDER,
        }
    }

    fn draw_state<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        state: usize,
    ) -> Result<(), String> {
        let ((name, waits), (upper, lower)) = (&self.graph.states[state], self.boxes[state]);
        let colour = if *waits { WAITS } else { FRAME };
        let frames = if *waits { 2 } else { 1 };
        for inner in 0..frames {
            let inset = 3 * inner;
            let corners = [
                (BORDER + inset, upper + inset),
                (self.right - inset, lower - inset),
            ];
            area.draw(&Rectangle::new(corners, colour)).map_err(text)?;
        }
        let style = ("sans-serif", 14).into_font().color(&BLACK);
        area.draw(&Text::new(name.clone(), (BORDER + 10, upper + 6), style))
            .map_err(text)
    }

    /// The lines that leave a state, and their words.
    fn leaving<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        state: usize,
    ) -> Result<(), String> {
        let mut y = self.boxes[state].0 + LINE;
        let all = self.graph.transitions.iter();
        for (_, to, label) in all.filter(|(from, ..)| *from == state) {
            let style = ("sans-serif", 13).into_font().color(&BLACK);
            area.draw(&Text::new(label.clone(), (self.right + 8, y - 2), style))
                .map_err(text)?;
            let (line, lane) = (y + LINE - 8, self.lanes + LANE * count_as_i32(*to));
            let entry = self.boxes[*to].0 + LINE / 2;
            let points = vec![
                (self.right, line),
                (lane, line),
                (lane, entry),
                (self.right, entry),
            ];
            let colour = LANES[to % LANES.len()];
            area.draw(&PathElement::new(points, colour)).map_err(text)?;
            area.draw(&Circle::new((self.right, line), 2, colour.filled()))
                .map_err(text)?;
            let head = vec![
                (self.right, entry),
                (self.right + 8, entry - 4),
                (self.right + 8, entry + 4),
            ];
            area.draw(&Polygon::new(head, colour.filled()))
                .map_err(text)?;
            y += LINE;
        }
        Ok(())
    }
}

impl Drawing for StateLayout<'_> {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let style = ("sans-serif", 20).into_font().color(&BLACK);
        area.draw(&Text::new(self.graph.title.clone(), (BORDER, 14), style))
            .map_err(text)?;
        for state in 0..self.graph.states.len() {
            self.draw_state(area, state)?;
            self.leaving(area, state)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transition_has_its_line_and_its_words() {
        let graph = StateGraph {
            title: "door".to_owned(),
            states: vec![("Open".to_owned(), true), ("Shut".to_owned(), false)],
            transitions: vec![
                (0, 1, "push".to_owned()),
                (1, 0, "pull".to_owned()),
                (1, 1, "knock".to_owned()),
            ],
        };
        let picture = svg_of_states(&graph).unwrap();
        assert_eq!(picture.matches("<polyline").count(), 3, "{picture}");
        for word in ["door", "Open", "Shut", "push", "pull", "knock"] {
            assert!(picture.contains(word), "{word}");
        }
        assert_eq!(picture, svg_of_states(&graph).unwrap());
    }
}
