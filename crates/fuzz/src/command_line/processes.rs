//! Rank programs as processes over TCP, for `simrun fuzz --layer mpi --tcp`.
//!
//! Each rank is a process of this executable on this machine and prints the received messages.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use real::{
    Backend, Compute, Connecting, FailurePolicy, LaunchInfo, LaunchMode, LaunchOptions,
    OutputListener, OutputMode, RankOptions, RealOutcome, RealRun, Wait,
};
use run::LogFilter;
use simrun::{REVISION, ended, status};

use crate::FuzzProgram as _;
use crate::ranks::{
    Device, Execution, ExecutionEnd, RankProgram, Received, parse_received, printing,
};

/// The time that ranks may take to start, and then to end. \[choice\]
const LIMIT: Duration = Duration::from_secs(30);

/// Returns the device. A program is a file of the system's folder for temporary files meanwhile.
pub(super) fn device() -> Result<Device, String> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| format!("cannot find simrun itself: {error}"))?;
    let name = format!("simrun-fuzz-{}.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let words = ["fuzz", "--layer=mpi", "--as-rank", "--replay"].map(OsString::from);
    let mut line = vec![program.into_os_string()];
    line.extend(words);
    line.push(file.clone().into_os_string());
    Ok(Device::new("tcp", move |program| {
        let execution = execute_program(program, &file, &line);
        // It was only for the ranks.
        let _ = std::fs::remove_file(&file);
        execution
    }))
}

fn execute_program(program: &RankProgram, file: &Path, line: &[OsString]) -> Execution {
    let mut lines = ReceivedLines(vec![Vec::new(); program.ranks.len()]);
    let ranks = u32::try_from(program.ranks.len()).unwrap_or(0);
    let launch = LaunchOptions {
        starts: LaunchMode::here(line, ranks),
        listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        revision: REVISION.to_owned(),
        arrival: LIMIT,
        keepalive_timeout: None,
        until: Some(LIMIT),
        progress: None,
        on_loss: FailurePolicy::Abort,
        observe: false,
        stop: Arc::default(),
    };
    let run = files::write(file, program.to_toml())
        .map_err(|error| error.to_string())
        .and_then(|()| {
            real::launch(&launch, &mut lines, RealRun::clone).map_err(|error| error.to_string())
        });
    let end = match run.map(|run| run.outcome) {
        Ok(RealOutcome::Finished) => ExecutionEnd::Finished,
        Ok(RealOutcome::Limit) => ExecutionEnd::Deadlock,
        Ok(RealOutcome::Failed(failure)) => ExecutionEnd::Failed(failure.to_string()),
        Ok(other) => ExecutionEnd::Failed(format!("{other:?}")),
        Err(error) => ExecutionEnd::Failed(error),
    };
    Execution::new(end, lines.0, None)
}

/// Messages of each rank, from the lines that the rank prints.
struct ReceivedLines(Vec<Vec<Received>>);

impl OutputListener for ReceivedLines {
    fn line(&mut self, rank: u32, _: bool, line: &[u8]) -> bool {
        let received = parse_received(&String::from_utf8_lossy(line));
        if let Some(of_rank) = self.0.get_mut(rank as usize) {
            of_rank.extend(received);
        }
        true
    }
}

/// Executes one rank in this process.
pub(super) fn run_as_rank(program: &RankProgram) -> ExitCode {
    let launch_info = match LaunchInfo::read(io::stdin().lock()) {
        Ok(launch_info) => launch_info,
        Err(error) => {
            return status::refuse(format_args!(
                "no launch information on standard input: {error}"
            ));
        }
    };
    let options = rank_options(program.eager_threshold);
    ended(
        launch_info.rank,
        real::run_rank(&printing(program), &options, &launch_info),
    )
}

fn rank_options(eager_threshold: u64) -> RankOptions {
    RankOptions {
        backend: Backend::default(),
        eager_threshold,
        wait: Wait::Block,
        connecting: Connecting::default(),
        startup: LIMIT,
        compute: Compute::Spin,
        flop_per_s: 1e9,
        bind_to_core: false,
        log: LogFilter::default(),
        prefix: false,
        print: OutputMode::Now,
        compare_calls: false,
        revision: REVISION.to_owned(),
    }
}
