//! Measures the packet network: flows of 1 MiB on a fat tree of 1024 hosts, in several patterns.
//!
//! Each pattern runs in a process of its own, which tells its user CPU time and peak memory; the
//! time begins when the platform stands. Runs of all patterns alternate, and the table has medians.
//! The state of a port is measured without the packets in its buffers. `--versus-flow FOLDER`
//! compares dates with those of the flow model instead.
//!
//! *Not measured*: wall time. There are no acknowledgements: all hops are of data packets.

mod comparison;
mod fluid;
mod ns3;
mod pattern;
mod run;
mod scenario;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;

use crate::pattern::{PATTERNS, Pattern};
use crate::run::Figures;

/// Measures the packet network.
#[derive(Parser)]
struct Arguments {
    /// Runs of each pattern
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Packets of each flow
    #[arg(long, default_value_t = 256)]
    packets: u32,
    /// Only patterns whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Compares the packet network with the flow model, and writes the page, its data and its
    /// pictures into this folder
    #[arg(long, value_name = "FOLDER")]
    versus_flow: Option<PathBuf>,
    /// Compares the packet network with ns-3 (libns3-dev, g++) and prints a table
    #[arg(long)]
    versus_ns3: bool,
    /// Runs one pattern in this process and prints its figures
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match (&arguments.child, &arguments.versus_flow) {
        (Some(name), _) => child(name, arguments.packets),
        (None, Some(folder)) => comparison::write_comparison(folder),
        (None, None) if arguments.versus_ns3 => {
            ns3::table_rows(arguments.runs).and_then(|rows| say(&rows))
        }
        (None, None) => print_table(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn child(name: &str, packets: u32) -> Result<(), String> {
    let pattern = PATTERNS.iter().find(|pattern| pattern.name == name);
    let pattern = pattern.ok_or_else(|| format!("pattern {name:?}: expected one of the table"))?;
    say(&run::measure_pattern(pattern, packets)?.to_line())
}

/// Runs all patterns alternately and prints the medians.
fn print_table(arguments: &Arguments) -> Result<(), String> {
    let chosen: Vec<&Pattern> = PATTERNS
        .iter()
        .filter(|pattern| pattern.name.contains(&arguments.only))
        .collect();
    let mut samples: Vec<Vec<Figures>> = vec![Vec::new(); chosen.len()];
    for _ in 0..arguments.runs {
        for (pattern, samples) in chosen.iter().zip(&mut samples) {
            samples.push(spawn(pattern.name, arguments.packets)?);
        }
    }
    say("# Packets on a fat tree\n")?;
    say(&format!(
        "1000 flows of {} packets of 4126 bytes (MTU 4096) on a fat tree of 1024 hosts with three\n\
         levels of 16-port switches, 100 Gb/s. Medians of {} runs, which alternate; user CPU time\n\
         of one core, {}. Peak memory is that of the process, bytes per port\n\
         without the packets inside.\n\
         `cargo run --release -p packet-network > results/packet-network.md` writes this page.\n",
        arguments.packets,
        arguments.runs,
        cpu_model()
    ))?;
    say(Figures::HEADER)?;
    for (pattern, samples) in chosen.iter().zip(&mut samples) {
        samples.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
        say(&samples[samples.len() / 2].to_row(pattern.name))?;
    }
    Ok(())
}

fn spawn(name: &str, packets: u32) -> Result<Figures, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--child", name, "--packets", &packets.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Figures::of_line(&text).ok_or_else(|| {
        let problem = String::from_utf8_lossy(&output.stderr);
        format!("pattern {name:?} printed {text:?} and {problem:?}: expected figures")
    })
}

/// Returns the name of the processor.
fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split(": ").nth(1));
    name.unwrap_or("unknown processor").to_owned()
}

fn say(text: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{text}").map_err(|error| error.to_string())
}
