//! `simrun conformance`: plays the packet dialogues of `rdma::dialogue` with an adapter, and tells
//! the verdict on each case, as text, JSON or JUnit XML.
//!
//! Exit status 0 if no case fails but as expected, 1 if one does, 2 if the adapter cannot be used.

mod capture;
mod expected;
mod report;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum, value_parser};
use rdma::dialogue::{
    CaseFamily, CaseVerdict, DeviceUnderTest, DialogueCase, DialogueParameters, FAMILIES,
    SimulatedDevice, run_case,
};
use rdma::{Mtu, Psn, SoftAdapterSettings};
use real::conformance::{RESPONDER_PORT, UdpDevice};
use simrun::status;

use capture::{CaptureEnds, CapturedDevice};
use expected::ExpectedDeviation;

use crate::new::CHECKOUT;

/// An adapter, and the cases to play with it.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConformanceCommand {
    /// Adapter under test: simulated; udp:ADDRESS for one at the other end of a network, where
    /// conformance_responder runs (on TCP port 4792, or udp:ADDRESS:PORT); kernel for the software
    /// adapter of Linux in an emulated guest
    #[arg(long, default_value = "simulated", value_parser = adapter)]
    adapter: Adapter,

    /// Only this case or family, such as C09-027/12 or C09-060; may be repeated
    #[arg(long, value_name = "CASE")]
    case: Vec<String>,

    /// Only these path MTUs, in bytes [default: 256,512,1024,2048,4096]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = mtu)]
    pmtu: Vec<Mtu>,

    /// Only these first packet sequence numbers [default: one without and one with a wrap]
    #[arg(long, value_name = "PSN", value_delimiter = ',', value_parser = value_parser!(u32).range(..=0x00FF_FFFF))]
    start_psn: Vec<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: ReportFormat,

    /// Known deviations of the adapter, which do not make the command fail: a line for each with
    /// the case, the field that differs, a colon and the judgement
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,

    /// Write the packets to FILE in pcapng format
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pcap: Option<PathBuf>,

    /// List the cases with their rules, without playing them
    #[arg(long)]
    list: bool,
}

/// An adapter under test.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Adapter {
    Simulated,
    /// Linux's adapter in software, in a guest.
    Kernel,
    /// An address, and the TCP port of the device's side.
    Udp(SocketAddrV4),
}

impl std::fmt::Display for Adapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simulated => f.write_str("simulated"),
            Self::Kernel => f.write_str("kernel"),
            Self::Udp(at) => write!(f, "udp:{at}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum ReportFormat {
    #[default]
    Text,
    Json,
    /// JUnit XML
    Junit,
}

fn adapter(text: &str) -> Result<Adapter, String> {
    match text {
        "simulated" => return Ok(Adapter::Simulated),
        "kernel" => return Ok(Adapter::Kernel),
        _ => {}
    }
    let address = text.strip_prefix("udp:").and_then(|address| {
        let alone = address.parse().ok();
        let alone = alone.map(|address| SocketAddrV4::new(address, RESPONDER_PORT));
        alone.or_else(|| address.parse().ok())
    });
    let expected = || "expected simulated, kernel or udp: with an IPv4 address".to_owned();
    address.map(Adapter::Udp).ok_or_else(expected)
}

fn mtu(text: &str) -> Result<Mtu, String> {
    let bytes = text.parse().ok();
    let expected = || "expected 256, 512, 1024, 2048 or 4096".to_owned();
    bytes.and_then(Mtu::from_bytes).ok_or_else(expected)
}

/// A case that was played with some parameters.
struct PlayedCase {
    family: &'static CaseFamily,
    case: &'static DialogueCase,
    parameters: DialogueParameters,
    verdict: CaseVerdict,
    /// The judgement on a failure that is expected.
    known: Option<String>,
}

impl PlayedCase {
    /// Returns true if the case fails and nobody expects it.
    const fn is_new_failure(&self) -> bool {
        matches!(self.verdict, CaseVerdict::Fail(_)) && self.known.is_none()
    }

    fn name(&self) -> String {
        case_name(self.family, self.case)
    }
}

fn case_name(family: &CaseFamily, case: &DialogueCase) -> String {
    format!("{}/{}", family.name, case.number)
}

/// Plays the cases and prints the report.
pub(crate) fn run_conformance(command: &ConformanceCommand) -> ExitCode {
    let cases = match chosen(&command.case) {
        Ok(cases) => cases,
        Err(problem) => return status::refuse(problem),
    };
    if command.list {
        return status::print(report::list_cases(&cases).trim_end());
    }
    if command.adapter == Adapter::Kernel {
        return in_guest(command);
    }
    let played =
        match expectations(command).and_then(|expected| play_all(command, &cases, &expected)) {
            Ok(played) => played,
            Err(problem) => return status::refuse(problem),
        };
    let adapter = command.adapter.to_string();
    let text = match command.format {
        ReportFormat::Text => report::text_report(&adapter, &played),
        ReportFormat::Json => report::json(&adapter, &played),
        ReportFormat::Junit => report::junit(&adapter, &played),
    };
    let printed = status::print(text.trim_end());
    if played.iter().any(PlayedCase::is_new_failure) && printed == ExitCode::SUCCESS {
        return ExitCode::from(status::FAILED);
    }
    printed
}

/// Reads the file of expected deviations.
fn expectations(command: &ConformanceCommand) -> Result<Vec<ExpectedDeviation>, String> {
    let Some(path) = &command.expect else {
        return Ok(Vec::new());
    };
    let text = files::read_text(path).map_err(|error| error.to_string());
    let expected = text.and_then(|text| expected::parse(&text));
    expected.map_err(|problem| format!("--expect {}: {problem}", path.display()))
}

/// Plays the cases with the adapter, and writes the capture.
fn play_all(
    command: &ConformanceCommand,
    cases: &[ChosenCase],
    expected: &[ExpectedDeviation],
) -> Result<Vec<PlayedCase>, String> {
    let file = command.pcap.as_deref().map(files::Output::new).transpose();
    let file = file.map_err(|error| error.to_string())?;
    let (mut device, ends) = open_adapter(&command.adapter)?;
    let mut captured = CapturedDevice::new(&mut *device, ends);
    let played = if file.is_some() {
        play(command, cases, expected, &mut captured)
    } else {
        play(command, cases, expected, captured.uncaptured())
    };
    if let Some(file) = file {
        let written = file.write(captured.into_capture().into_bytes());
        written.map_err(|error| error.to_string())?;
    }
    let played = played?;
    status::warn_all(&expected::not_found(expected, cases, &played));
    Ok(played)
}

/// Opens an adapter outside of guests.
fn open_adapter(adapter: &Adapter) -> Result<(Box<dyn DeviceUnderTest>, CaptureEnds), String> {
    let Adapter::Udp(at) = adapter else {
        // RFC 5737: addresses for documentation.
        let ends = CaptureEnds {
            device: Ipv4Addr::new(192, 0, 2, 1),
            tester: Ipv4Addr::new(192, 0, 2, 2),
        };
        let device = SimulatedDevice::new(SoftAdapterSettings::default());
        return Ok((Box::new(device), ends));
    };
    let device = UdpDevice::connect(*at.ip(), at.port()).map_err(|error| error.to_string())?;
    let ends = CaptureEnds {
        device: *at.ip(),
        tester: device.local_address(),
    };
    Ok((Box::new(device), ends))
}

type ChosenCase = (&'static CaseFamily, &'static DialogueCase);

/// Returns the cases with these names, in the order of the families.
fn chosen(names: &[String]) -> Result<Vec<ChosenCase>, String> {
    let all = FAMILIES
        .iter()
        .flat_map(|family| family.cases.iter().map(move |case| (family, case)));
    let is_meant = |(family, case): &ChosenCase, name: &String| {
        name.eq_ignore_ascii_case(family.name)
            || name.eq_ignore_ascii_case(&case_name(family, case))
    };
    for name in names {
        if !all.clone().any(|case| is_meant(&case, name)) {
            return Err(format!(
                "--case {name}: there is no such case: expected one of simrun conformance --list"
            ));
        }
    }
    let chosen =
        all.filter(|case| names.is_empty() || names.iter().any(|name| is_meant(case, name)));
    Ok(chosen.collect())
}

/// Replaces this process by the script that plays the cases in an emulated guest.
fn in_guest(command: &ConformanceCommand) -> ExitCode {
    let script = Path::new(CHECKOUT).join("crates/real/softroce/conformance.sh");
    let mut guest = Command::new(&script);
    for case in &command.case {
        guest.args(["--case", case]);
    }
    for mtu in &command.pmtu {
        guest.args(["--pmtu", &mtu.bytes().to_string()]);
    }
    for psn in &command.start_psn {
        guest.args(["--start-psn", &psn.to_string()]);
    }
    for (option, file) in [("--expect", &command.expect), ("--pcap", &command.pcap)] {
        if let Some(file) = file {
            guest.arg(option).arg(file);
        }
    }
    if let Some(format) = command.format.to_possible_value() {
        guest.args(["--format", format.get_name()]);
    }
    let error = guest.exec();
    status::refuse(format_args!(
        "{}: cannot start it: {error}: expected a checkout of simrun",
        script.display()
    ))
}

/// Plays each case with each path MTU and first sequence number.
fn play(
    command: &ConformanceCommand,
    cases: &[ChosenCase],
    expected: &[ExpectedDeviation],
    device: &mut dyn DeviceUnderTest,
) -> Result<Vec<PlayedCase>, String> {
    let mtus = match command.pmtu.as_slice() {
        [] => &Mtu::ALL,
        chosen => chosen,
    };
    let starts: Vec<Psn> = match command.start_psn.as_slice() {
        [] => vec![DialogueParameters::PLAIN, DialogueParameters::WRAPPING],
        chosen => chosen.iter().copied().map(Psn::new).collect(),
    };
    let mut played = Vec::new();
    for &(family, case) in cases {
        for &mtu in mtus {
            for &start in &starts {
                let parameters = DialogueParameters { mtu, start };
                let verdict = run_case(case, &parameters, device);
                let name = case_name(family, case);
                let verdict = verdict.map_err(|problem| format!("{name}: {problem}"))?;
                let known = match &verdict {
                    CaseVerdict::Fail(mismatch) => expected::judgement(expected, &name, mismatch),
                    _ => None,
                };
                played.push(PlayedCase {
                    family,
                    case,
                    parameters,
                    verdict,
                    known,
                });
            }
        }
    }
    Ok(played)
}
