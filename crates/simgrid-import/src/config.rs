//! `<config>`: the network model and its parameters, as `[network]` and `[protocol]`.
//!
//! Parameters that are not set have the values of SimGrid. Its model is LV08 unless `network/model`
//! names another: a file without `<config>` runs as in SimGrid. If a flag has several values, the
//! last value counts.
//!
//! Old names of flags are read, too: with `_` for `-`, and the names of [`RENAMED`]. SimGrid has
//! these names as aliases up to version 3.25 (`src/simgrid/sg_config.cpp`).
//!
//! *Not carried over*: flags of other parts of SimGrid, other solvers, and a number below 0 for a
//! table.

use super::values::Importer;
use super::xml::Element;
use platform::file::{Protocol, cut};
use platform::units::{Duration, Size};
use platform::{
    CROSSTRAFFIC, Compat, FactorStep, Factors, FluidParameters, IbPenaltyFactors, NetworkModel,
    NetworkParameters,
};
use settings::{OverheadSection, OverheadTable};

/// Names of SimGrid's models in lower case, equal to our names; the first is SimGrid's default.
const MODELS: [&str; 6] = ["lv08", "cm02", "raw", "smpi", "ib", "constant"];

/// Old names with `-`, and the present ones.
const RENAMED: [(&str, &str); 4] = [
    ("smpi/bw-factor", "network/bandwidth-factor"),
    ("smpi/lat-factor", "network/latency-factor"),
    ("smpi/async-small-thres", "smpi/async-small-thresh"),
    (
        "smpi/send-is-detached-thres",
        "smpi/send-is-detached-thresh",
    ),
];

/// The flags that set a parameter of a fluid model.
const FLUID: [&str; 12] = [
    "network/TCP-gamma",
    "network/crosstraffic",
    "network/weight-S",
    "network/latency-factor",
    "network/bandwidth-factor",
    "network/loopback-bw",
    "network/loopback-lat",
    "smpi/async-small-thresh",
    "smpi/os",
    "smpi/ois",
    "smpi/or",
    "smpi/IB-penalty-factors",
];

/// Makes eager or rendezvous messages of the same sizes as SimGrid.
const DETACHED: &str = "smpi/send-is-detached-thresh";

/// Returns the present name of a flag.
fn present_name(id: &str) -> String {
    let id = id.replace('_', "-");
    let renamed = RENAMED.iter().find(|(old, _)| *old == id);
    renamed.map_or(id, |(_, new)| (*new).to_owned())
}

impl Importer {
    /// The network and the protocol that the tags `<config>` ask for.
    pub(super) fn config(&mut self, root: &Element) -> (NetworkParameters, Protocol) {
        let tags = root.children.iter().filter(|child| child.name == "config");
        let mut flags: Vec<(&Element, &str, &str)> = Vec::new();
        for flag in tags.flat_map(|config| &config.children) {
            if flag.name != "prop" {
                self.unknown(flag);
            } else if let (Some(id), Some(value)) =
                (self.required(flag, "id"), self.required(flag, "value"))
            {
                flags.push((flag, id, value));
            }
        }
        let mut network = self.model(&flags);
        let mut protocol = Protocol::default();
        for (flag, name, value) in flags {
            let id = present_name(name);
            let id = id.as_str();
            if id == DETACHED {
                let size = self.read_size(flag, id, value);
                protocol.eager_threshold = size.unwrap_or(protocol.eager_threshold);
            } else if id == "smpi/IB-penalty-factors" && network.ib_penalty_factors.is_some() {
                network.ib_penalty_factors = self.penalties(flag, id, value);
            } else if let (true, Some(fluid)) = (FLUID.contains(&id), &mut network.fluid) {
                self.parameter((flag, id, value), fluid);
            } else if id != "network/model" {
                self.flag_left_out(flag, name, value);
            }
        }
        self.share_without_latency(&mut network);
        (network, protocol)
    }

    /// Gives routes without latency the weights of SimGrid, which differ where `weight-S` counts.
    fn share_without_latency(&self, network: &mut NetworkParameters) {
        let is_weighted = |fluid: &FluidParameters| fluid.rtt_penalty && fluid.weight_s.bytes() > 0;
        if self.has_no_latency && network.fluid.as_ref().is_some_and(is_weighted) {
            network.compat = Some(Compat::Simgrid41);
        }
    }

    fn flag_left_out(&mut self, flag: &Element, id: &str, value: &str) {
        let (id, value) = (cut(id), cut(value));
        self.add_note(
            flag,
            format!("the flag {id:?} with the value {value:?} is not supported"),
        );
    }

    /// The preset that parameters are changed in.
    fn model(&mut self, flags: &[(&Element, &str, &str)]) -> NetworkParameters {
        let mut name = MODELS[0];
        for (flag, id, value) in flags {
            if *id != "network/model" {
                continue;
            }
            let wanted = value.to_ascii_lowercase();
            match MODELS.iter().find(|name| **name == wanted) {
                Some(found) => name = found,
                None => self.flag_left_out(flag, id, value),
            }
        }
        let model = NetworkModel::by_name(name).expect("each name is one of ours");
        NetworkParameters::preset(model)
    }

    fn parameter(
        &mut self,
        (flag, id, value): (&Element, &str, &str),
        fluid: &mut FluidParameters,
    ) {
        fn set<T>(place: &mut T, read: Option<T>) {
            if let Some(read) = read {
                *place = read;
            }
        }
        match id {
            "network/TCP-gamma" => set(&mut fluid.tcp_gamma, self.read_size(flag, id, value)),
            "network/weight-S" => set(&mut fluid.weight_s, self.read_size(flag, id, value)),
            "network/crosstraffic" => {
                let on = self.truth(flag, id, value);
                set(
                    &mut fluid.crosstraffic,
                    on.map(|on| if on { CROSSTRAFFIC } else { 0.0 }),
                );
            }
            "network/latency-factor" => {
                set(
                    &mut fluid.latency_factor,
                    self.factors(flag, id, value, 0.0),
                );
            }
            "network/bandwidth-factor" => {
                let least = f64::MIN_POSITIVE;
                set(
                    &mut fluid.bandwidth_factor,
                    self.factors(flag, id, value, least),
                );
            }
            "network/loopback-bw" => {
                let bandwidth = self.quantity(flag, id, value, "Bps");
                set(&mut fluid.loopback.bandwidth, bandwidth);
            }
            "network/loopback-lat" => {
                set(
                    &mut fluid.loopback.latency,
                    self.quantity(flag, id, value, "s"),
                );
            }
            "smpi/async-small-thresh" => {
                fluid.async_small_threshold = self.read_size(flag, id, value);
            }
            "smpi/os" => set(&mut fluid.overheads.os, self.overhead(flag, id, value)),
            "smpi/ois" => set(&mut fluid.overheads.ois, self.overhead(flag, id, value)),
            "smpi/or" => set(&mut fluid.overheads.or, self.overhead(flag, id, value)),
            _ => self.flag_left_out(flag, id, value),
        }
    }

    /// A number of bytes, which SimGrid also writes as `4194304.0` or `4e6`.
    fn read_size(&mut self, flag: &Element, id: &str, value: &str) -> Option<Size> {
        let whole = value.parse::<f64>().ok().filter(|size| size.fract() == 0.0);
        let text = whole.map_or_else(|| value.to_owned(), |size| format!("{size:.0}"));
        self.quantity(flag, id, &text, "B")
    }

    fn truth(&mut self, flag: &Element, id: &str, value: &str) -> Option<bool> {
        match value.to_ascii_lowercase().as_str() {
            "1" | "yes" | "on" | "true" => Some(true),
            "0" | "no" | "off" | "false" => Some(false),
            _ => {
                let problem = format!("{id}={:?}", cut(value));
                self.diagnostic(flag, problem, "expected yes or no");
                None
            }
        }
    }

    /// Rows of numbers, `threshold:number:…;…`, in growing order of the thresholds, each with
    /// `columns` numbers.
    fn read_table(
        &mut self,
        flag: &Element,
        id: &str,
        value: &str,
        columns: usize,
    ) -> Option<Vec<Vec<f64>>> {
        let row = |text: &str| -> Option<Vec<f64>> {
            let numbers = text
                .split(':')
                .map(|number| number.trim().parse::<f64>().ok());
            let row: Vec<f64> = numbers.collect::<Option<_>>()?;
            let fits = row.len() == columns;
            (fits
                && row
                    .iter()
                    .all(|number| number.is_finite() && *number >= 0.0))
            .then_some(row)
        };
        let texts = value.split(';').filter(|text| !text.trim().is_empty());
        let rows: Option<Vec<Vec<f64>>> = texts.map(row).collect();
        let mut rows = rows.unwrap_or_default();
        rows.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let growing = rows.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        if rows.is_empty() || !growing {
            let problem = format!("{id}={:?}", cut(value));
            let expected = format!(
                "expected rows of {columns} numbers, such as {:?}, each with another threshold",
                ["1:0.9;1000:0.8", "1:1e-6:0;1000:2e-6:1e-9"][columns - 2]
            );
            self.diagnostic(flag, problem, expected);
            return None;
        }
        Some(rows)
    }

    /// One factor, or a table of them by size, each at least `least`.
    fn factors(&mut self, flag: &Element, id: &str, value: &str, least: f64) -> Option<Factors> {
        if let Ok(all) = value.parse::<f64>()
            && all.is_finite()
            && all >= least
        {
            return Some(Factors::Same(all));
        }
        let rows = self.read_table(flag, id, value, 2)?;
        if rows.iter().any(|row| row[1] < least) {
            let problem = format!("{id}={:?}", cut(value));
            self.diagnostic(flag, problem, "expected factors above 0");
            return None;
        }
        let step = |row: &Vec<f64>| {
            let above = self.read_size(flag, id, &row[0].to_string())?;
            Some(FactorStep {
                above,
                factor: row[1],
            })
        };
        rows.iter()
            .map(step)
            .collect::<Option<_>>()
            .map(Factors::Steps)
    }

    /// Returns the costs of calls, by size; sections with zero costs give an empty table.
    fn overhead(
        &mut self,
        flag: &Element,
        id: &str,
        value: &str,
    ) -> Option<OverheadTable<Size, Duration>> {
        // The default, of 3.9 with a threshold of 1 and of later versions: 1:0:0:0:0, 0:0:0:0:0.
        let is_default = value.split(':').skip(1).all(|cost| cost.trim() == "0");
        if is_default {
            return Some(OverheadTable::NONE);
        }
        let rows = self.read_table(flag, id, value, 3)?;
        let section = |row: &Vec<f64>| {
            Some(OverheadSection {
                above: self.read_size(flag, id, &row[0].to_string())?,
                time: self.quantity(flag, id, &row[1].to_string(), "s")?,
                per_byte: self.quantity(flag, id, &row[2].to_string(), "s")?,
            })
        };
        let sections = rows.iter().map(section).collect::<Option<_>>()?;
        Some(OverheadTable::new(sections))
    }

    /// Three numbers above 0.
    fn penalties(&mut self, flag: &Element, id: &str, value: &str) -> Option<IbPenaltyFactors> {
        let numbers: Vec<f64> = value
            .split(';')
            .filter_map(|number| number.trim().parse().ok())
            .filter(|number: &f64| number.is_finite() && *number > 0.0)
            .collect();
        if let [be, bs, ys] = numbers[..] {
            return Some(IbPenaltyFactors { be, bs, ys });
        }
        let problem = format!("{id}={:?}", cut(value));
        self.diagnostic(
            flag,
            problem,
            "expected three numbers, such as \"0.965;0.925;1.35\"",
        );
        None
    }
}
