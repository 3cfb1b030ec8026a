//! The workloads of random flows: the rows of the table and the points of the curve.

use super::child::Mode;
use super::networks::Network;

/// A workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The name of the workload on the command line.
    pub(crate) name: &'static str,
    pub(crate) network: Network,
    pub(crate) mode: Mode,
    /// Number of flows in total, or in flight.
    pub(crate) flows: u32,
    /// True if the workload runs on a small network of the same kind.
    pub(crate) small: bool,
    /// Factor by which a completion of ours has to be cheaper than SimGrid's.
    pub(crate) goal: Option<f64>,
    /// Largest memory of our process, in MB (10^6 bytes).
    pub(crate) megabytes: Option<f64>,
}

const fn case(name: &'static str, network: Network, mode: Mode, flows: u32) -> Case {
    Case {
        name,
        network,
        mode,
        flows,
        small: false,
        goal: None,
        megabytes: None,
    }
}

const fn goal(case: Case, times: f64) -> Case {
    Case {
        goal: Some(times),
        ..case
    }
}

use Mode::{Arrivals, Churn, Drain};
use Network::{Backbone4096, Dragonfly4096, FatTree1024, FatTree4096, Torus4096};

/// All of them, in the order of the table.
pub(crate) const ALL: &[Case] = &[
    goal(case("drain-fat-1024-1e3", FatTree1024, Drain, 1000), 30.0),
    goal(case("churn-fat-1024-1e3", FatTree1024, Churn, 1000), 80.0),
    goal(
        case("churn-fat-4096-1e4", FatTree4096, Churn, 10_000),
        300.0,
    ),
    goal(
        case("churn-dragonfly-4096-1e4", Dragonfly4096, Churn, 10_000),
        100.0,
    ),
    goal(
        case("churn-torus-4096-1e4", Torus4096, Churn, 10_000),
        800.0,
    ),
    goal(
        case("churn-backbone-4096-1e4", Backbone4096, Churn, 10_000),
        2000.0,
    ),
    Case {
        megabytes: Some(150.0),
        ..goal(
            case("churn-fat-4096-1e5", FatTree4096, Churn, 100_000),
            250.0,
        )
    },
    case("drain-dragonfly-4096-1e3", Dragonfly4096, Drain, 1000),
    case("drain-torus-4096-300", Torus4096, Drain, 300),
    case("drain-backbone-4096-1e3", Backbone4096, Drain, 1000),
    case("arrivals-fat-1024-2e3", FatTree1024, Arrivals, 2000),
    case("arrivals-dragonfly-4096-2e3", Dragonfly4096, Arrivals, 2000),
    case("arrivals-torus-4096-2e3", Torus4096, Arrivals, 2000),
    case("arrivals-backbone-4096-2e3", Backbone4096, Arrivals, 2000),
    case("churn-fat-4096-1e2", FatTree4096, Churn, 100),
    case("churn-fat-4096-3e2", FatTree4096, Churn, 300),
    case("churn-fat-4096-1e3", FatTree4096, Churn, 1000),
    case("churn-fat-4096-3e3", FatTree4096, Churn, 3000),
    case("churn-fat-4096-3e4", FatTree4096, Churn, 30_000),
];

impl Case {
    /// Returns true if the workload is a point of the curve.
    pub(crate) fn is_on_the_curve(&self) -> bool {
        self.mode == Churn && self.network == FatTree4096
    }

    /// With few flows on a small network, to see that everything works.
    pub(crate) fn quick(self) -> Self {
        Self {
            small: true,
            flows: match self.flows {
                0..=999 => 40,
                1000..=9999 => 80,
                10_000..=99_999 => 120,
                _ => 200,
            },
            ..self
        }
    }

    /// For the table.
    pub(crate) fn title(&self) -> String {
        let network = self.network.name(self.small);
        match self.mode {
            Drain => format!("{} flows at once, {network}", self.flows),
            Arrivals => format!("{} flows at random dates, {network}", self.flows),
            Churn => format!("{} flows kept in flight, {network}", self.flows),
        }
    }
}
