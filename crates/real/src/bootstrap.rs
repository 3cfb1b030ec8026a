//! A run with processes that another launcher has started: rank 0 is also the coordinator.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

use run::Program;

use super::allocation::{BootstrapFile, LOOK_INTERVAL, ProcessPlace};
use super::arrival::{attempt, connect_to_coordinator};
use super::auth::RunSecret;
use super::auth_listener::HANDSHAKE_TIMEOUT;
use super::clock;
use super::event_log::RankLogs;
use super::keepalive::{KeepaliveSettings, watch};
use super::launch::{LaunchOptions, OutputListener};
use super::launch_info::LaunchInfo;
use super::launcher::Launcher;
use super::outcome::RealRun;
use super::rank::{RankOptions, run_connected_rank};

/// Ranks print by themselves.
struct Nobody;

impl OutputListener for Nobody {
    fn line(&mut self, _: u32, _: bool, _: &[u8]) -> bool {
        true
    }
}

/// Runs one rank of an allocation. Returns true if the rank finished. At rank 0, the process ends
/// with the result of `tell` when the whole run has ended; `launch` has the timeouts and the
/// address to listen on.
pub fn run_in_allocation(
    program: &dyn Program,
    options: &RankOptions,
    place: &ProcessPlace,
    launch: LaunchOptions,
    tell: impl FnOnce(&RealRun) -> i32 + Send + 'static,
) -> io::Result<bool> {
    let variable = |name: &str| {
        #[expect(
            clippy::disallowed_methods,
            reason = "launchers tell by the environment"
        )]
        std::env::var(name).ok()
    };
    let file = BootstrapFile::for_job(place, variable);
    let logs = launch.observe.then(|| RankLogs::beside(file.path()));
    let events = logs.as_ref().map(|logs| logs.prefix().to_owned());
    if place.rank > 0 {
        let (launch_info, control) = connect_to_bootstrap(place, &file, &launch)?;
        let launch_info = launch_info.observed(events);
        return run_connected_rank(program, options, &launch_info, (control, Some("rank 0")));
    }
    let secret = RunSecret::random()?;
    let path = file.path().to_owned();
    let address = host_coordinator(launch, (file, logs), &secret, tell)?;
    let address = address.recv().map_err(io::Error::other)??;
    let launch_info = launch_info(place, address, &secret).observed(events);
    let control = connect_to_coordinator(&launch_info, options.startup, None)?;
    if let Err(error) = run_connected_rank(program, options, &launch_info, (control, None)) {
        // This process ends before its coordinator has removed it.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    // The others may still need the coordinator; when nobody does, the process ends.
    loop {
        std::thread::park();
    }
}

fn launch_info(
    place: &ProcessPlace,
    address: std::net::SocketAddr,
    secret: &RunSecret,
) -> LaunchInfo {
    let local = (place.local_rank, place.local_size);
    LaunchInfo::new((place.rank, place.size), local, address, None, secret)
}

/// Opens the coordinator in a separate thread, which ends the process when the run has ended.
fn host_coordinator(
    launch: LaunchOptions,
    (file, logs): (BootstrapFile, Option<RankLogs>),
    secret: &RunSecret,
    tell: impl FnOnce(&RealRun) -> i32 + Send + 'static,
) -> io::Result<Receiver<io::Result<std::net::SocketAddr>>> {
    let (tells, address) = channel();
    let secret = secret.clone();
    let thread = std::thread::Builder::new().name("coordinator".to_owned());
    thread.spawn(move || {
        let mut nobody = Nobody;
        let opened = Launcher::new(&launch, &mut nobody, &secret).and_then(|launcher| {
            let address = launcher.address()?;
            file.write_info(address, &secret).map_err(|error| {
                let path = file.path().display();
                io::Error::new(error.kind(), format!("{path}: cannot write there: {error}"))
            })?;
            Ok((launcher, address))
        });
        match opened {
            Ok((launcher, address)) => {
                let _ = tells.send(Ok(address));
                let file = Rc::new(Cell::new(Some(file)));
                let remove = {
                    let file = Rc::clone(&file);
                    move || file.take().as_ref().map_or((), BootstrapFile::remove_file)
                };
                // Nobody else may come: the secret has done its service.
                let mut launcher = launcher.placed(Box::new(remove.clone()));
                if let Some(logs) = logs {
                    launcher = launcher.observed(logs);
                }
                let ended = launcher.run_to_end(|run| {
                    remove();
                    tell(run)
                });
                // The others have been told to stop; rank 0 is in this process.
                std::process::exit(ended.unwrap_or(1));
            }
            Err(error) => drop(tells.send(Err(error))),
        }
    })?;
    Ok(address)
}

/// Connects to the coordinator when the coordinator is open.
fn connect_to_bootstrap(
    place: &ProcessPlace,
    file: &BootstrapFile,
    launch: &LaunchOptions,
) -> io::Result<(LaunchInfo, std::net::TcpStream)> {
    let deadline_ns = clock::after(launch.arrival);
    loop {
        let mut problem = "not written by rank 0".to_owned();
        if let Some(bootstrap) = file.read_info()?
            && let Some(secret) = RunSecret::from_hex(&bootstrap.secret)
        {
            let launch_info = launch_info(place, bootstrap.address, &secret);
            let left = clock::until(deadline_ns).max(LOOK_INTERVAL);
            match attempt(&launch_info, left.min(HANDSHAKE_TIMEOUT)) {
                Ok(control) => {
                    watch(
                        &control,
                        KeepaliveSettings::of_rank(launch.keepalive_timeout),
                    )?;
                    return Ok((launch_info, control));
                }
                Err(error) => {
                    problem = format!(
                        "no coordinator of this run at {}: {error}",
                        bootstrap.address
                    );
                }
            }
        }
        if clock::until(deadline_ns).is_zero() {
            let text = format!(
                "no bootstrap address in {}: {problem}",
                file.path().display()
            );
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        clock::sleep(LOOK_INTERVAL);
    }
}
