//! The picture of a platform: hosts, switches, cables, zones and declared routes.
//!
//! Hosts are dots, switches red squares, routers orange ones. Cables are grey, declared routes
//! between members of a zone blue. Cables that lead around a torus are left out, and so are names
//! of hosts in clusters.

use std::path::Path;

use platform::{Platform, SKETCH_HOSTS_MAX};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::canvas::{Drawing, PlotError, text, write};
use crate::layout::{NodeKind, Picture, zone};

/// The longer side of a picture, in pixels.
const SIDE: f64 = 1600.0;
/// The border around the picture, and the space for the title.
const BORDER: f64 = 40.0;
/// The most pixels for a unit, so that two hosts are not drawn as balls.
const UNIT_MAX: f64 = 60.0;

const HOST: RGBColor = RGBColor(33, 102, 172);
const SWITCH: RGBColor = RGBColor(178, 24, 43);
const ROUTER: RGBColor = RGBColor(230, 140, 20);
const CABLE: RGBColor = RGBColor(150, 150, 150);
const ROUTE: RGBColor = RGBColor(90, 140, 200);
const FRAME: RGBColor = RGBColor(200, 200, 200);

/// Draws the topology of a platform into an SVG or PNG file.
pub fn plot_topology(platform: &Platform, path: &Path) -> Result<(), PlotError> {
    let hosts = platform.host_count();
    let too_large = PlotError::TooLarge(hosts, SKETCH_HOSTS_MAX);
    let picture = zone(&platform.sketch().ok_or(too_large)?);
    let longer = picture.width.max(picture.height).max(1.0);
    let unit = ((SIDE - 2.0 * BORDER) / longer).min(UNIT_MAX);
    let scaled = ScaledPicture {
        picture,
        unit,
        title: title(platform),
    };
    let side = |length: f64| pixel((length * unit + 2.0 * BORDER).max(400.0)).unsigned_abs();
    let size = (side(scaled.picture.width), side(scaled.picture.height));
    write(path, size, &scaled)
}

fn title(platform: &Platform) -> String {
    let hosts = match platform.host_count() {
        1 => "1 host".to_owned(),
        count => format!("{count} hosts"),
    };
    match platform.name() {
        Some(name) => format!("{name}: {hosts}"),
        None => hosts,
    }
}

/// A picture with the scale at which it is drawn.
struct ScaledPicture {
    picture: Picture,
    /// Pixels per unit.
    unit: f64,
    title: String,
}

/// The nearest pixel.
#[expect(
    clippy::cast_possible_truncation,
    reason = "pictures are a few thousand pixels wide"
)]
fn pixel(length: f64) -> i32 {
    length.round().clamp(-1e6, 1e6) as i32
}

impl ScaledPicture {
    fn to_pixels(&self, x: f64, y: f64) -> (i32, i32) {
        (pixel(BORDER + x * self.unit), pixel(BORDER + y * self.unit))
    }

    /// The size of texts in boxes.
    fn text_size(&self) -> i32 {
        pixel((self.unit * 0.8).clamp(12.0, 18.0))
    }

    fn frames<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        for frame in &self.picture.frames {
            let upper = self.to_pixels(frame.x, frame.y);
            let lower = self.to_pixels(frame.x + frame.width, frame.y + frame.height);
            area.draw(&Rectangle::new([upper, lower], FRAME))
                .map_err(text)?;
            let style = ("sans-serif", self.text_size()).into_font().color(&BLACK);
            let letters =
                (f64::from(lower.0 - upper.0) / f64::from(self.text_size()) * 2.1).max(4.0);
            let title = shortened(&frame.title, letters);
            area.draw(&Text::new(title, (upper.0 + 6, upper.1 + 8), style))
                .map_err(text)?;
        }
        Ok(())
    }

    fn draw_lines<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        // Many lines are drawn paler, so that the nodes can be seen.
        let many = self.picture.lines.len() > 2_000;
        for line in &self.picture.lines {
            let ends = [
                self.to_pixels(line.from.0, line.from.1),
                self.to_pixels(line.to.0, line.to.1),
            ];
            let colour = if line.route { ROUTE } else { CABLE };
            let colour = colour.mix(if many { 0.35 } else { 0.8 });
            let width = if line.route { 2 } else { 1 };
            area.draw(&PathElement::new(ends.to_vec(), colour.stroke_width(width)))
                .map_err(text)?;
        }
        Ok(())
    }

    fn nodes<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        let radius = pixel((self.unit * 0.25).clamp(1.5, 9.0));
        for node in &self.picture.nodes {
            let (x, y) = self.to_pixels(node.x, node.y);
            let square = [(x - radius, y - radius), (x + radius, y + radius)];
            match node.kind {
                NodeKind::Host => area.draw(&Circle::new((x, y), radius, HOST.filled())),
                NodeKind::Switch => area.draw(&Rectangle::new(square, SWITCH.filled())),
                NodeKind::Router => area.draw(&Rectangle::new(square, ROUTER.filled())),
            }
            .map_err(text)?;
            let room = self.unit * 3.0 > 40.0;
            if let Some(name) = node.name.as_ref().filter(|_| room) {
                let style = ("sans-serif", self.text_size()).into_font().color(&BLACK);
                let letters = self.unit * 6.0 / f64::from(self.text_size());
                let place = (x + radius + 3, y - self.text_size());
                area.draw(&Text::new(shortened(name, letters), place, style))
                    .map_err(text)?;
            }
        }
        Ok(())
    }
}

impl Drawing for ScaledPicture {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        self.frames(area)?;
        self.draw_lines(area)?;
        self.nodes(area)?;
        let style = ("sans-serif", 20).into_font().color(&BLACK);
        let title = shortened(&self.title, 120.0);
        area.draw(&Text::new(title, (10, 8), style)).map_err(text)
    }
}

/// The beginning of a text, up to a number of letters.
fn shortened(text: &str, letters: f64) -> String {
    let limit = pixel(letters).unsigned_abs() as usize;
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit.saturating_sub(1)).collect();
    start + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(hosts: u32) -> Platform {
        let last = hosts - 1;
        let text = format!(
            "version = 1\nname = \"ring\"\n[clusters.c]\nhosts = \"n[0-{last}]\"\nspeed = \"1f\"\n\
             bandwidth = \"1Bps\"\nlatency = \"1s\"\n"
        );
        Platform::parse("p.toml", &text).unwrap()
    }

    #[test]
    fn a_picture_has_a_dot_for_each_host_and_is_the_same_each_time() {
        let file = std::env::temp_dir().join(format!("topology-{}.svg", std::process::id()));
        let draw = || {
            plot_topology(&platform(64), &file).unwrap();
            std::fs::read_to_string(&file).unwrap()
        };
        let (first, second) = (draw(), draw());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(first.matches("<circle").count(), 64);
        assert!(first.contains("ring: 64 hosts") && first.contains("c: crossbar, n0"));
        assert_eq!(first, second);
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let error = plot_topology(&platform(2), Path::new("a.gif")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.gif: unknown extension: expected .svg or .png"
        );
        let error = plot_topology(&platform(6_000), Path::new("a.svg")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "too large for a picture: 6000 hosts, expected at most 5000"
        );
    }
}
