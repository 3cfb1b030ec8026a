//! Compares the packet network with ns-3 (Debian's `libns3-dev`): point-to-point links, store and
//! forward, one FIFO queue for each output.
//!
//! The switches of simrun store and forward too, without additional latency. Queues of ns-3 have no
//! limit and so lose no packet; queues of simrun have buffers and credits. The dates coincide where
//! no packet waits for credits that ns-3 would have sent: one flow, and the last end where one link
//! is busy all the time. Runs alternate, and figures are medians.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use models::packet::{Forwarding, PacketSettings, PacketTopology as _, PlatformTopology};
use platform::Platform;
use sim_core::HostId;

use crate::pattern;
use crate::run::{self, Flow, WIRE_BYTES, to_f64};
use crate::scenario::{self, Scenario};

/// Rate of all links, in bit/s.
const RATE: u64 = 100_000_000_000;

/// User CPU seconds below which no rate is given.
const CPU_MIN: f64 = 0.01;

/// Header of the table.
pub(crate) const HEADER: &str = "\
| scenario | packet-hops | last end: ours µs | ns-3 µs | hops per s: ours | ns-3 | ratio |
|---|---|---|---|---|---|---|
";

/// Returns the rows of the table.
pub(crate) fn table_rows(runs: u32) -> Result<String, String> {
    let program = compile()?;
    let mut scenarios = vec![scenario::incast(1, scenario::PACKETS)];
    scenarios.push(scenario::incast(8, scenario::PACKETS));
    scenarios.push(scenario::shift());
    scenarios.push(scenario::permutation(8, 1));
    let mut large = scenario::permutation(8, 1);
    large.name = "permutation of 1000 of 1024 hosts".to_owned();
    large.platform = run::PLATFORM.to_owned();
    large.flows = run::flows(&pattern::permutation(), scenario::PACKETS, 1);
    scenarios.push(large);
    let mut text = String::from(HEADER);
    for scenario in &scenarios {
        text += &table_row(scenario, &program, runs)?;
    }
    Ok(text)
}

/// One run: the last end in picoseconds, the hops, and user CPU seconds.
type Measured = (u64, u64, f64);

fn table_row(scenario: &Scenario, program: &Path, runs: u32) -> Result<String, String> {
    let text = &scenario.platform;
    let platform = Platform::parse("scenario.toml", text).map_err(|error| error.to_string())?;
    let topology = Arc::new(PlatformTopology::new(Arc::new(platform)));
    let input = network_input(&topology, &scenario.flows)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(own_run(&topology, &scenario.flows)?);
        theirs.push(ns3_run(program, &input)?);
    }
    let [ours, theirs] = [ours, theirs].map(|mut runs| {
        runs.sort_by(|one, two| one.2.total_cmp(&two.2));
        runs[runs.len() / 2]
    });
    Ok(format!(
        "| {} | {} | {:.3} | {:.3} | {} |\n",
        scenario.name,
        ours.1,
        to_f64(ours.0) / 1e6,
        to_f64(theirs.0) / 1e6,
        rates(ours, theirs)
    ))
}

/// Returns the hops per second of both and their quotient; the clock of user CPU is too coarse for
/// the shortest runs.
fn rates(ours: Measured, theirs: Measured) -> String {
    if ours.2 < CPU_MIN || theirs.2 < CPU_MIN {
        return "| |".to_owned();
    }
    let rate = |(_, hops, seconds): Measured| to_f64(hops) / seconds / 1e6;
    let (ours, theirs) = (rate(ours), rate(theirs));
    format!("{ours:.2} M | {theirs:.2} M | {:.1}", ours / theirs)
}

fn own_run(topology: &Arc<PlatformTopology>, flows: &[Flow]) -> Result<Measured, String> {
    let settings = PacketSettings {
        forwarding: Forwarding::StoreAndForward,
        switch_latency_ps: 0,
        buffer_blocks: models::packet::CREDITS_MAX,
        delimiter_bytes: 0,
        ..PacketSettings::default()
    };
    let mut network = run::build_network(Arc::clone(topology), settings);
    let before = run::user_seconds()?;
    let ends = run::flow_ends(&mut network, flows)?;
    let seconds = run::user_seconds()? - before;
    let last = ends.into_iter().max().unwrap_or(0);
    Ok((last, network.statistics().hops, seconds))
}

fn ns3_run(program: &Path, input: &str) -> Result<Measured, String> {
    let mut child = Command::new(program)
        .arg(WIRE_BYTES.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let stdin = child.stdin.take();
    let mut stdin = stdin.ok_or("no standard input of ns-3")?;
    let written = stdin.write_all(input.as_bytes());
    written.map_err(|error| error.to_string())?;
    drop(stdin);
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = || -> Option<Measured> {
        let (ends, last) = text.trim_end().rsplit_once('\n')?;
        let (hops, seconds) = last.split_once(' ')?;
        let ends: Option<Vec<u64>> = ends.lines().map(|end| end.parse().ok()).collect();
        let end = ends?.into_iter().max()?;
        Some((end, hops.parse().ok()?, seconds.parse().ok()?))
    };
    parsed().ok_or_else(|| format!("ns-3 printed {text:?}: expected ends and figures"))
}

/// Returns the links and flows as `cpp/network.cc` reads them; links that no flow uses are left
/// out.
fn network_input(topology: &PlatformTopology, flows: &[Flow]) -> Result<String, String> {
    let mut numbers = vec![None; topology.link_id_end() as usize];
    let (mut links, mut count, mut routes) = (String::new(), 0, String::new());
    for flow in flows {
        let mut route = Vec::new();
        topology
            .route_into(HostId(flow.from), HostId(flow.to), flow.from, &mut route)
            .map_err(|error| error.to_string())?;
        let _ = write!(routes, "{} {}", flow.packets, route.len());
        for link in route {
            let number = *numbers[link.0 as usize].get_or_insert_with(|| {
                let delay = topology.link(link).propagation_ps;
                let _ = writeln!(links, "{RATE} {delay}");
                count += 1;
                count - 1
            });
            let _ = write!(routes, " {number}");
        }
        routes.push('\n');
    }
    Ok(format!("{count}\n{links}{}\n{routes}", flows.len()))
}

/// Compiles the program of ns-3 and returns the path of the binary.
fn compile() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp/network.cc");
    let program = std::env::temp_dir().join(format!("simrun-ns3-{}", std::process::id()));
    let output = Command::new("g++")
        .args(["-std=c++17", "-O2"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(["-lns3-point-to-point", "-lns3-network", "-lns3-core"])
        .output()
        .map_err(|error| format!("g++: {error}"))?;
    if output.status.success() {
        return Ok(program);
    }
    Err(format!(
        "g++ with libns3-dev: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}
