//! Compares the dates of the packet network with the dates of the flow model: a table, the data as
//! CSV, and two pictures.
//!
//! Both models send the same bytes over the same links at the same time. *Not compared*: the costs
//! of adapters, and lost packets. Dates are simulated, so the page is the same on every machine.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use models::packet::PlatformTopology;
use platform::Platform;
use report::{Marker, Scatter, Series, plot_scatter};

use crate::run::{WIRE_BYTES, to_f64};
use crate::scenario::{self, Scenario};
use crate::{fluid, run};

/// The ends of the flows of a scenario in both models, in microseconds.
struct Ends {
    packet: Vec<f64>,
    fluid: Vec<f64>,
}

impl Ends {
    fn from_scenario(scenario: &Scenario) -> Result<Self, String> {
        let text = &scenario.platform;
        let platform = Platform::parse("scenario.toml", text).map_err(|error| error.to_string())?;
        let platform = Arc::new(platform);
        let topology = Arc::new(PlatformTopology::new(Arc::clone(&platform)));
        let mut network = run::build_network(topology, scenario.settings.clone());
        let packet = run::flow_ends(&mut network, &scenario.flows)?;
        let fluid = fluid::flow_ends(&platform, &scenario.flows)?;
        Ok(Self {
            packet: packet.into_iter().map(|end| to_f64(end) / 1e6).collect(),
            fluid: fluid.into_iter().map(|end| end / 1e6).collect(),
        })
    }

    /// Returns the last end in both models.
    fn last(&self) -> [f64; 2] {
        [&self.packet, &self.fluid].map(|ends| ends.iter().copied().fold(0.0, f64::max))
    }

    /// Returns the median end in both models.
    fn median(&self) -> [f64; 2] {
        [&self.packet, &self.fluid].map(|ends| sorted(ends)[ends.len() / 2])
    }

    /// Returns the least and the largest ratio of the ends of one flow.
    fn ratios(&self) -> (f64, f64) {
        let ratios = self.packet.iter().zip(&self.fluid);
        ratios.fold(
            (f64::INFINITY, 0.0_f64),
            |(least, most), (packet, fluid)| {
                let ratio = packet / fluid;
                (least.min(ratio), most.max(ratio))
            },
        )
    }
}

fn sorted(ends: &[f64]) -> Vec<f64> {
    let mut sorted = ends.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Compares all scenarios and writes the page, the data and the pictures.
pub(crate) fn write_comparison(folder: &Path) -> Result<(), String> {
    let mut rows = String::from(HEADER);
    for scenario in scenario::all_scenarios() {
        rows += &table_row(&scenario, &Ends::from_scenario(&scenario)?);
    }
    let page = folder.join("packet-versus-flow.md");
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    save(&page, &with_table(&text, &rows))?;
    let mut csv = String::from("figure,series,x,y\n");
    for (name, picture) in [("sizes", sizes()?), ("ends", ends_scatter()?)] {
        let path = folder.join(format!("packet-versus-flow-{name}.svg"));
        plot_scatter(&picture, &path).map_err(|error| error.to_string())?;
        for series in &picture.series {
            for (x, y) in &series.points {
                let _ = writeln!(csv, "{name},\"{}\",{x},{y:.6}", series.name);
            }
        }
    }
    save(&folder.join("packet-versus-flow.csv"), &csv)
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

const HEADER: &str = "\
| scenario | flows | last end: packets µs | flow model µs | ratio | median end: ratio | one flow: ratios |
|---|---|---|---|---|---|---|
";

fn table_row(scenario: &Scenario, ends: &Ends) -> String {
    let (name, flows) = (&scenario.name, scenario.flows.len());
    if let Some(victim) = scenario.victim {
        let (packet, fluid) = (ends.packet[victim], ends.fluid[victim]);
        let ratio = packet / fluid;
        return format!("| {name} | {flows} | {packet:.2} | {fluid:.2} | **{ratio:.3}** | | |\n");
    }
    let ([packet, fluid], [middle, fluid_middle]) = (ends.last(), ends.median());
    let (least, most) = ends.ratios();
    format!(
        "| {name} | {flows} | {packet:.2} | {fluid:.2} | **{:.3}** | {:.3} | {least:.3} to {most:.3} |\n",
        packet / fluid,
        middle / fluid_middle
    )
}

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->\n";

/// Inserts the table into the page, between the two marks.
fn with_table(page: &str, rows: &str) -> String {
    let parts = page.split_once(BEGIN).and_then(|(head, rest)| {
        let (_, tail) = rest.split_once(END)?;
        Some((head, tail))
    });
    let (head, tail) = parts.unwrap_or((page, ""));
    format!("{head}{BEGIN}{rows}{END}{tail}")
}

/// Returns the ratio of the last ends against the size of the messages.
fn sizes() -> Result<Scatter, String> {
    type Make = fn(u32) -> Scenario;
    let kinds: [(&str, Marker, Make); 3] = [
        ("one flow", Marker::Line, |packets| {
            scenario::incast(1, packets)
        }),
        ("incast of 8", Marker::Second, |packets| {
            scenario::incast(8, packets)
        }),
        (
            "permutation of 128, half bisection",
            Marker::Third,
            |packets| scenario::permutation(4, 1).with_packets(packets),
        ),
    ];
    let mut series = Vec::new();
    for (name, mark, make) in kinds {
        let mut points = Vec::new();
        for packets in (0..=10).map(|power| 1 << power) {
            let [packet, fluid] = Ends::from_scenario(&make(packets))?.last();
            points.push((f64::from(packets * WIRE_BYTES), packet / fluid));
        }
        series.push(Series {
            name: name.to_owned(),
            mark,
            points,
        });
    }
    Ok(Scatter {
        title: "Last end in the packet network / last end in the flow model".to_owned(),
        x: "bytes of each flow".to_owned(),
        log_x: true,
        y: "ratio".to_owned(),
        log_y: false,
        series,
        verticals: Vec::new(),
    })
}

/// Points of a line in the second picture: more cannot be told apart.
const POINTS_MAX: usize = 128;

/// Returns the ends of flows, sorted, in both models.
fn ends_scatter() -> Result<Scatter, String> {
    let mut series = Vec::new();
    for (scenario, marks) in [
        (scenario::uniform(1), [Marker::Line, Marker::Thin]),
        (
            scenario::alltoall_scenario(),
            [Marker::Second, Marker::Third],
        ),
    ] {
        let ends = Ends::from_scenario(&scenario)?;
        let flows = to_f64(scenario.flows.len() as u64);
        let step = scenario.flows.len().div_ceil(POINTS_MAX);
        for (model, mark, ends) in [
            ("packets", marks[0], &ends.packet),
            ("flow model", marks[1], &ends.fluid),
        ] {
            let part = (0..).map(|number| 100.0 * f64::from(number) / flows);
            series.push(Series {
                name: format!("{}, {model}", scenario.name),
                mark,
                points: part.zip(sorted(ends)).step_by(step).collect(),
            });
        }
    }
    Ok(Scatter {
        title: "Ends of the flows of two scenarios".to_owned(),
        x: "% of the flows that have ended".to_owned(),
        log_x: false,
        y: "µs".to_owned(),
        log_y: false,
        series,
        verticals: Vec::new(),
    })
}
