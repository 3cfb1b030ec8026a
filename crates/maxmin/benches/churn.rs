//! Cost of a completion in the sharing solver, by network and number of flows in flight.
//!
//! Random pairs of hosts, sizes of 1 to 2 times 1e8 bytes; each completion starts a new flow at
//! once, with one solve for the departure and one for the arrival. The unit is CPU time of the
//! process (`/proc/self/schedstat`), so that other processes count little. `cargo bench -p
//! simrun-maxmin --bench churn [-- NAME]` prints a table; see `results/solver.md`.

#[path = "networks/shapes.rs"]
mod networks;

use maxmin::Solver;
use networks::{Network, Random, pair};
/// Completions that count as part of the fill: in them the solver goes over from the batch to
/// single events.
const SETTLING: u32 = 5;

/// The share of acknowledgements of the classic models.
const CROSSTRAFFIC: f64 = 0.05;

struct Churn {
    network: Network,
    crosstraffic: f64,
    solver: Solver,
    random: Random,
    now: f64,
    route: Vec<u32>,
    due: Vec<u32>,
}

impl Churn {
    fn new(network: Network, crosstraffic: f64) -> Self {
        Self {
            network,
            crosstraffic,
            solver: Solver::new(network.links() as usize),
            random: Random(42),
            now: 0.0,
            route: Vec::new(),
            due: Vec::new(),
        }
    }

    fn start(&mut self, slot: u32) {
        let (from, to) = pair(&mut self.random, self.network.hosts());
        self.solver.declare(slot);
        for (from, to, weight) in [(from, to, 1.0), (to, from, self.crosstraffic)] {
            if weight == 0.0 {
                continue;
            }
            self.route.clear();
            self.network.route(from, to, &mut self.route);
            for link in &self.route {
                let capacity = self.network.capacity(*link);
                self.solver.cross(slot, *link, capacity, weight);
            }
        }
        let work = 1e8 * (1.0 + self.random.real());
        self.solver.enter(slot, 1.0, f64::INFINITY, work, self.now);
    }

    fn fill(&mut self, flows: u32) {
        for slot in 0..flows {
            self.start(slot);
        }
        self.solver.solve(self.now);
    }

    /// Ends one flow and starts the next, with a solve for each.
    fn complete(&mut self, count: u32) {
        let mut done = 0;
        while done < count {
            self.now = self.solver.next().expect("flows in flight");
            self.solver.due(self.now, &mut self.due);
            while let Some(slot) = self.due.pop() {
                self.solver.stop_sharing(slot, self.now);
                self.solver.forget_uses(slot);
                self.solver.solve(self.now);
                self.start(slot);
                self.solver.solve(self.now);
                done += 1;
            }
        }
    }
}

/// Nanoseconds of CPU time of this process.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let first = text.split_whitespace().next().expect("a number");
    first.parse().expect("a number")
}

/// Peak memory of this process in MiB.
fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

#[expect(clippy::print_stdout, reason = "a measurement prints its table")]
fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let fat_1024 = Network::FatTree {
        down: [16, 8, 8],
        up: [8, 4],
    };
    let fat_4096 = Network::FatTree {
        down: [16, 16, 16],
        up: [8, 8],
    };
    let cases = [
        ("fat-1024", fat_1024, 1_000, 2_000),
        ("fat-4096", fat_4096, 1_000, 5_000),
        ("fat-4096", fat_4096, 10_000, 2000),
        ("fat-4096", fat_4096, 100_000, 60),
        ("torus-1024", Network::Torus([16, 8, 8]), 1_000, 2_000),
        ("torus-4096", Network::Torus([16, 16, 16]), 1_000, 5_000),
        ("torus-4096", Network::Torus([16, 16, 16]), 10_000, 500),
        ("torus-4096", Network::Torus([16, 16, 16]), 100_000, 20),
        ("backbone-1024", Network::Backbone(1024), 1_000, 20_000),
        ("backbone-4096", Network::Backbone(4096), 10_000, 20_000),
        ("backbone-4096", Network::Backbone(4096), 100_000, 20_000),
    ];
    println!("network         flows   ways back   fill ms   us per completion   peak MiB");
    for (name, network, flows, completions) in cases {
        let chosen = |word: &String| format!("{name}-{flows}").contains(word.as_str());
        if !wanted.is_empty() && !wanted.iter().any(chosen) {
            continue;
        }
        for crosstraffic in [CROSSTRAFFIC, 0.0] {
            let mut churn = Churn::new(network, crosstraffic);
            let begin = cpu_ns();
            churn.fill(flows);
            churn.complete(SETTLING);
            let filled = cpu_ns();
            churn.complete(completions);
            let end = cpu_ns();
            let fill = (filled - begin) as f64 / 1e6;
            let each = (end - filled) as f64 / 1e3 / f64::from(completions);
            println!(
                "{name:14} {flows:6} {crosstraffic:11} {fill:9.1} {each:19.2} {:10}",
                memory_mib()
            );
        }
    }
}
