//! Functions that only some systems have: to end with the process that started us, and to keep to
//! one core.

use std::io;

/// The name of this machine.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// The address of this machine's own name that others can reach.
pub fn host_address() -> io::Result<std::net::IpAddr> {
    use std::net::ToSocketAddrs;
    let name = host_name();
    let addresses = (name.as_str(), 0).to_socket_addrs()?;
    let mut addresses = addresses.map(|address| address.ip());
    let found = addresses.find(|address| !address.is_loopback());
    found.ok_or_else(|| io::Error::other(format!("{name} resolves only to a loopback address")))
}

/// Makes the system kill this process when `parent`, the process that started it, ends.
pub(super) fn die_with_parent(parent: Option<u32>) -> io::Result<()> {
    let Some(parent) = parent else { return Ok(()) };
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have ended before.
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::other("the launcher has ended"))
    }
}

/// Binds this thread, and the threads that it starts, to one of the cores that the process may use:
/// the core with this number, modulo the number of cores.
#[cfg(target_os = "linux")]
pub(super) fn pin(number: u32) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&core| allowed.is_set(core))
        .collect();
    let core = cores[number as usize % cores.len()];
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only)?;
    Ok(())
}

/// There is no such call here.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
