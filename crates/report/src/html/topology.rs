//! The topology of the platform, with the load of the links.
//!
//! A cable has the load of the busier direction; a declared route has the load of the busiest link.
//! Links that have no line, such as backbones and cables between the planes of a torus, are named
//! below the picture if they are congested. Large platforms have no picture: their cables would
//! cover each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;

use platform::Platform;

use super::picture::{
    AREA, LEFT, LEVELS, LegendEntry, Picture, Shape, Text, level, rounded, utilisation_scale,
};
use crate::layout::{Line, NodeKind, zone};
use crate::network::{LinkLoad, NetworkReport};

/// Lines in the picture at most.
const LINES_MAX: usize = 4096;

/// Height of the picture at most, and the space around the content, in pixels.
const HEIGHT: f64 = 560.0;
const BORDER: f64 = 12.0;

/// The most pixels between two hosts.
const UNIT_MAX: f64 = 40.0;

/// The least part of the run in which a link that is drawn as congested limits transfers.
const CONGESTED: f64 = 0.01;

/// Width of a letter of a name on a narrow page.
const NAME_LETTER: f64 = 13.0;

/// Number of congested links with their names.
const NAMED: usize = 3;

/// Load of a line: of the link with the greatest utilisation.
#[derive(Clone, Copy, Default)]
struct LineLoad<'a> {
    utilisation: f64,
    /// The link that is congested for the longest time.
    congested: Option<&'a LinkLoad>,
}

/// Draws the topology; `None` for a platform that is too large, or a run without bytes on
/// links.
pub(super) fn topology_picture(
    platform: &Platform,
    network: &NetworkReport,
) -> io::Result<Option<Picture>> {
    let Some(sketch) = platform.sketch().filter(|_| !network.links.is_empty()) else {
        return Ok(None);
    };
    let layout = zone(&sketch);
    if layout.lines.is_empty() || layout.lines.len() > LINES_MAX {
        return Ok(None);
    }
    let width = LEFT + AREA - 2.0 * BORDER;
    let unit = (width / layout.width).min((HEIGHT - 2.0 * BORDER) / layout.height);
    let unit = unit.min(UNIT_MAX);
    let pixel = |(x, y): (f64, f64)| (BORDER + unit * x, BORDER + unit * y);
    let mut picture = Picture {
        id: "topology".to_owned(),
        title: "Topology".to_owned(),
        description: "Hosts as squares, switches as circles; each cable with the utilisation of \
                      its busier direction"
            .to_owned(),
        width: unit * layout.width + 2.0 * BORDER,
        height: unit * layout.height + 2.0 * BORDER,
        ..Picture::default()
    };
    let (loads, hidden) = line_loads(platform, network, &layout.lines);
    if loads.iter().all(|load| load.utilisation <= 0.0) && hidden.is_empty() {
        return Ok(None);
    }
    if let Some(most) = hidden.first() {
        let others = match hidden.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let name = &most.name;
        let _ = write!(
            picture.description,
            "; congested, but not drawn: {name}{others}"
        );
    }
    draw_lines(&mut picture, (&layout.lines, &loads), network.end_s, pixel);
    let mut frames = Shape::new("frame".to_owned());
    for frame in &layout.frames {
        let (x, y) = pixel((frame.x, frame.y));
        frames.rectangle((x, y), (unit * frame.width, unit * frame.height));
        picture.texts.push(Text::unshortened_text(
            (x + 6.0, y + 16.0),
            "start",
            &frame.title,
        ));
    }
    picture.shapes.insert(0, frames);
    let mut hosts = Shape::new("bar".to_owned());
    let mut switches = Shape::new("switch".to_owned());
    let side = (0.5 * unit).clamp(2.0, 10.0);
    for node in &layout.nodes {
        let (x, y) = pixel((node.x, node.y));
        match node.kind {
            NodeKind::Host => hosts.rectangle((x - side / 2.0, y - side / 2.0), (side, side)),
            NodeKind::Switch | NodeKind::Router => switches.add_circle((x, y), 0.6 * side),
        }
        if let Some(name) = &node.name {
            picture.text((x, y - side), "middle", name);
        }
    }
    picture.shapes.extend([hosts, switches]);
    picture.shapes.retain(|shape| !shape.path.is_empty());
    add_link_data(&mut picture, network)?;
    Ok(Some(picture))
}

/// Adds the data: a row per link.
fn add_link_data(picture: &mut Picture, network: &NetworkReport) -> io::Result<()> {
    let header = ["link", "utilisation", "congested_s"].map(str::to_owned);
    let rows = network.links.iter().map(|link| {
        let numbers = [link.utilisation, link.congested_s];
        let mut row = vec![link.name.clone()];
        row.extend(numbers.map(|number| format!("{number:e}")));
        row
    });
    picture.set_data(std::iter::once(header.to_vec()).chain(rows))
}

/// Returns the load of each line, and the congested links that no line has, the most congested
/// first.
fn line_loads<'a>(
    platform: &Platform,
    network: &'a NetworkReport,
    lines: &[Line],
) -> (Vec<LineLoad<'a>>, Vec<&'a LinkLoad>) {
    let used: BTreeMap<&str, &LinkLoad> = (network.links.iter())
        .map(|link| (link.name.as_str(), link))
        .collect();
    let least = CONGESTED * network.end_s;
    let mut drawn = BTreeSet::new();
    let of_line = |line: &Line| {
        let mut load = LineLoad::default();
        for &link in &line.links {
            let Some(&link) = used.get(platform.link(link).name.as_str()) else {
                continue;
            };
            drawn.insert(link.name.as_str());
            load.utilisation = load.utilisation.max(link.utilisation);
            let most = load.congested.map_or(0.0, |most| most.congested_s);
            if link.congested_s > most && link.congested_s >= least {
                load.congested = Some(link);
            }
        }
        load
    };
    let loads = lines.iter().map(of_line).collect();
    let is_hidden = |link: &&LinkLoad| {
        link.congested_s > 0.0 && link.congested_s >= least && !drawn.contains(link.name.as_str())
    };
    let mut hidden: Vec<&LinkLoad> = network.links.iter().filter(is_hidden).collect();
    hidden.sort_by(|one, other| other.congested_s.total_cmp(&one.congested_s));
    (loads, hidden)
}

/// Adds the lines, the busiest on top, and the legend.
fn draw_lines(
    picture: &mut Picture,
    (lines, loads): (&[Line], &[LineLoad<'_>]),
    end_s: f64,
    pixel: impl Fn((f64, f64)) -> (f64, f64),
) {
    let most = loads
        .iter()
        .map(|load| load.utilisation)
        .fold(0.0, f64::max);
    let (end, legend) = utilisation_scale(most);
    picture.legend = legend;
    let mut idle = Shape::new("nothing".to_owned());
    let mut levels: Vec<Shape> = (0..LEVELS)
        .map(|level| Shape::new(format!("v{level}")))
        .collect();
    let mut congested = Shape::new("congested".to_owned());
    let mut named: Vec<(&LinkLoad, (f64, f64))> = Vec::new();
    for (line, load) in lines.iter().zip(loads) {
        let (from, to) = (pixel(line.from), pixel(line.to));
        // A declared route joins whole zones, and is longer.
        let wider = if line.route { 1.5 } else { 1.0 };
        match (load.congested, level(load.utilisation / end)) {
            (Some(link), _) => {
                congested.add_line(from, to, 4.0 * wider);
                named.push((link, ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0)));
            }
            (None, Some(level)) => levels[usize::from(level)].add_line(from, to, 2.5 * wider),
            (None, None) => idle.add_line(from, to, wider),
        }
    }
    // Parts of a cable around a torus have the same name.
    named.sort_by(|(one, _), (other, _)| {
        (other.congested_s.total_cmp(&one.congested_s)).then_with(|| one.name.cmp(&other.name))
    });
    named.dedup_by(|(one, _), (other, _)| one.name == other.name);
    // Names that would cover each other are only in the data.
    let mut places: Vec<(f64, f64, f64)> = Vec::new();
    for (link, (x, y)) in named.iter().take(NAMED) {
        let width = NAME_LETTER * link.name.len() as f64;
        let is_free = |place: &(f64, f64, f64)| {
            (place.0 - x).abs() >= (width + place.2) / 2.0
                || (place.1 - y).abs() >= 2.0 * NAME_LETTER
        };
        if places.iter().all(is_free) {
            places.push((*x, *y, width));
            picture.text((*x, *y), "middle", &link.name);
        }
    }
    let entries = [
        (&idle, "no bytes".to_owned()),
        (
            &congested,
            format!(
                "congested for {:.0} % of {} or more",
                100.0 * CONGESTED,
                crate::analysis::seconds(end_s)
            ),
        ),
    ];
    for (shape, text) in entries {
        if !shape.path.is_empty() {
            let style = shape.style.clone();
            picture.legend.push(LegendEntry { style, text });
        }
    }
    picture.shapes.push(idle);
    picture.shapes.extend(levels);
    picture.shapes.push(congested);
}

impl Shape {
    /// Adds a line of this width, as an area.
    fn add_line(&mut self, (x, y): (f64, f64), to: (f64, f64), width: f64) {
        let (along, across) = (to.0 - x, to.1 - y);
        let length = libm::hypot(along, across).max(f64::MIN_POSITIVE);
        let (dx, dy) = (width / 2.0 * across / length, -width / 2.0 * along / length);
        let corners = [
            (x + dx, y + dy),
            (to.0 + dx, to.1 + dy),
            (to.0 - dx, to.1 - dy),
            (x - dx, y - dy),
        ];
        for (at, (x, y)) in corners.into_iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            // Writing to a text does not fail.
            let _ = write!(self.path, "{step}{} {}", rounded(x), rounded(y));
        }
        self.path.push('z');
    }

    /// Adds a circle.
    fn add_circle(&mut self, (x, y): (f64, f64), radius: f64) {
        let (x, y, r) = (rounded(x - radius), rounded(y), rounded(radius));
        let (there, back) = (2.0 * r, -2.0 * r);
        let _ = write!(
            self.path,
            "M{x} {y}a{r} {r} 0 1 1 {there} 0a{r} {r} 0 1 1 {back} 0z"
        );
    }
}
