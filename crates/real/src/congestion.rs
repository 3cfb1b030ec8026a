//! The congestion control of sockets: availability of a name on this system, sockets with a
//! congestion control, and the congestion control of a socket.
//!
//! It is set before a socket is connected. A congestion control that paces sent data, as BBR does,
//! requests pacing when the connection is made. Linux does not undo this request when the socket
//! later gets another congestion control (`sk_pacing_status`). Accepted sockets have the congestion
//! control of their listener.
//!
//! *Not modelled*: parameters of a congestion control; queueing disciplines, which may pace too.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use mio::net::TcpStream;

/// Algorithms that Linux has, and algorithms that every user may choose.
const LISTS: [&str; 2] = [
    "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
];

/// A congestion control that sockets cannot have here.
#[derive(Debug)]
pub struct CongestionError {
    /// Name of the congestion control, as given.
    pub name: String,
    /// Answer of the system.
    pub problem: io::Error,
    /// Congestion controls of the system; empty if the system does not list them.
    pub available: Vec<String>,
    /// Congestion controls that every user may choose; empty if the system does not list them.
    pub allowed: Vec<String>,
}

impl CongestionError {
    fn new(name: &str, problem: io::Error) -> Self {
        let [available, allowed] = LISTS.map(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        });
        Self {
            name: name.to_owned(),
            problem,
            available,
            allowed,
        }
    }
}

impl fmt::Display for CongestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, problem, .. } = self;
        write!(f, "--tcp-congestion {name}: ")?;
        match problem.kind() {
            io::ErrorKind::NotFound => f.write_str("unknown congestion control")?,
            io::ErrorKind::PermissionDenied => f.write_str("permission denied")?,
            _ => write!(f, "sockets cannot have that: {problem}")?,
        }
        if self.available.is_empty() {
            return f.write_str(": expected a congestion control of this system");
        }
        let available = self.available.join(" ");
        write!(f, ": expected one of those of this system, {available}")?;
        if !self.allowed.is_empty() && self.allowed != self.available {
            let allowed = self.allowed.join(" ");
            write!(f, " (unprivileged: {allowed})")?;
        }
        Ok(())
    }
}

impl Error for CongestionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.problem)
    }
}

/// Returns the congestion control of a new socket with this name, or without a name the default of
/// the system; `None` if the system does not report it. The socket is not connected.
pub fn congestion_control(name: Option<&str>) -> Result<Option<String>, CongestionError> {
    system::of_new(name)
        .map_err(|problem| CongestionError::new(name.unwrap_or("(that of the system)"), problem))
}

pub(super) use system::{of, set};

/// Begins to connect a socket with this congestion control, or with the default of the system,
/// without waiting for the connection.
pub(super) fn connect(address: SocketAddr, name: Option<&str>) -> io::Result<TcpStream> {
    name.map_or_else(
        || TcpStream::connect(address),
        |name| system::connect(address, name),
    )
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::AsFd;

    use mio::net::TcpStream;
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

    /// Gives a socket this congestion control.
    pub(crate) fn set(socket: impl AsFd, name: &str) -> io::Result<()> {
        Ok(sockopt::set_tcp_congestion(socket, name)?)
    }

    /// Returns the congestion control of a socket, if the system reports it.
    pub(crate) fn of(socket: impl AsFd) -> Option<String> {
        sockopt::tcp_congestion(socket).ok()
    }

    pub(super) fn of_new(name: Option<&str>) -> io::Result<Option<String>> {
        let socket = open_socket(AddressFamily::INET)?;
        if let Some(name) = name {
            set(&socket, name)?;
        }
        Ok(of(&socket))
    }

    fn open_socket(family: AddressFamily) -> io::Result<std::os::fd::OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        Ok(socket_with(family, SocketType::STREAM, flags, None)?)
    }

    pub(super) fn connect(address: SocketAddr, name: &str) -> io::Result<TcpStream> {
        let socket = open_socket(if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        })?;
        set(&socket, name)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from_std(socket.into())),
            Err(problem) => Err(problem.into()),
        }
    }
}

/// Other systems give all sockets the same.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::AsFd;

    use mio::net::TcpStream;

    pub(crate) fn set(_: impl AsFd, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn of(_: impl AsFd) -> Option<String> {
        None
    }

    pub(super) fn of_new(name: Option<&str>) -> io::Result<Option<String>> {
        match name {
            Some(_) => Err(io::ErrorKind::Unsupported.into()),
            None => Ok(None),
        }
    }

    pub(super) fn connect(_: SocketAddr, _: &str) -> io::Result<TcpStream> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_ends_of_a_connection_have_what_was_asked_for() {
        // Every Linux has it, and everybody may use it.
        let name = "reno";
        assert_eq!(
            congestion_control(Some(name)).unwrap().as_deref(),
            Some(name)
        );
        let default = congestion_control(None).unwrap();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                println!("skipped: nobody listens at {address}");
                continue;
            };
            let address = listener.local_addr().unwrap();
            let plain = connect(address, None).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!(
                (of(&plain), of(&accepted)),
                (default.clone(), default.clone())
            );
            set(&listener, name).unwrap();
            let asked = connect(address, Some(name)).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let both = [of(&asked), of(&accepted)].map(Option::unwrap);
            assert_eq!(both, [name, name]);
        }
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_what_can() {
        let error = congestion_control(Some("nonsense")).unwrap_err();
        let lists = LISTS.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let names = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(error.available, names(&lists[0]));
        assert_eq!(error.allowed, names(&lists[1]));
        let told = |problem: io::ErrorKind, available: &[&str], allowed: &[&str]| {
            let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect();
            let error = CongestionError {
                name: "dctcp".to_owned(),
                problem: problem.into(),
                available: names(available),
                allowed: names(allowed),
            };
            error.to_string()
        };
        assert_eq!(
            told(io::ErrorKind::NotFound, &["reno", "bbr"], &["reno", "bbr"]),
            "--tcp-congestion dctcp: unknown congestion control: expected one of those of this system, reno bbr"
        );
        assert_eq!(
            told(
                io::ErrorKind::PermissionDenied,
                &["reno", "dctcp"],
                &["reno"]
            ),
            "--tcp-congestion dctcp: permission denied: expected one of those of this system, reno dctcp (unprivileged: reno)"
        );
        assert_eq!(
            told(io::ErrorKind::NotFound, &[], &[]),
            "--tcp-congestion dctcp: unknown congestion control: expected a congestion control of this system"
        );
    }
}
