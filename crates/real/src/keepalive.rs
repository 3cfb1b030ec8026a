//! Detection of a silent network. Without these options, a connection without traffic lasts for
//! ever, and a connection that waits for an acknowledgement lasts about 15 minutes.
//!
//! * Connections between ranks and their coordinator: keepalive probes (`SO_KEEPALIVE`) and a limit
//!   for unacknowledged data (`TCP_USER_TIMEOUT`). The coordinator gives a rank up after the given
//!   time; ranks give up the coordinator and each other after 1.5 times this time. So the
//!   coordinator detects a failure first, and reports it.
//! * Connections between ranks: keepalive probes only. `TCP_USER_TIMEOUT` also ends a connection to
//!   a receiver that is alive but does not read, such as a rank with a longer computation.
//!
//! A probe is sent after 1/5 of the time without incoming data, then one probe each 1/10. The
//! connection ends at the first probe after the time is over. So the end comes 0.8 to 1 times the
//! time after the network fell silent. Linux counts in whole seconds.
//!
//! *Not modelled*: a network that lets some packets pass; two ranks that reach the coordinator but
//! not each other while data is under way between them: this connection ends when the system gives
//! up, on Linux after about 15 minutes (`net.ipv4.tcp_retries2`).

use std::io;
use std::time::Duration;

/// Limits of silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeepaliveSettings {
    /// The time after which the other side counts as gone; `None` for never.
    after: Option<Duration>,
    /// Data that is not acknowledged ends the connection, too.
    limits_data: bool,
}

/// The part of the time after which the first probe is sent: connections notice the same silence at
/// dates that differ by as much.
pub(super) fn spread(after: Duration) -> Duration {
    (after / 5).max(Duration::from_secs(1))
}

impl KeepaliveSettings {
    /// Returns the settings of the coordinator for a connection to a rank.
    pub(super) const fn of_coordinator(after: Option<Duration>) -> Self {
        let limits_data = true;
        Self { after, limits_data }
    }

    /// Returns the settings of a rank for the connection to the coordinator.
    pub(super) fn of_rank(after: Option<Duration>) -> Self {
        Self {
            after: after.map(|after| after + spread(after) * 5 / 2),
            limits_data: true,
        }
    }

    /// Returns the settings of a rank for a connection to another rank.
    pub(super) fn of_peer(after: Option<Duration>) -> Self {
        Self {
            limits_data: false,
            ..Self::of_rank(after)
        }
    }
}

/// True if an error of a connection means that the network, or the host at the other end, is
/// silent.
pub(super) fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
    )
}

/// Lets a connection end when the other side is silent.
#[cfg(target_os = "linux")]
pub(super) fn watch(
    socket: impl std::os::fd::AsFd,
    keepalive_timeout: KeepaliveSettings,
) -> io::Result<()> {
    use rustix::net::sockopt;
    let Some(after) = keepalive_timeout.after else {
        return Ok(());
    };
    let idle = spread(after);
    let interval = (after / 10).max(Duration::from_secs(1));
    let probes = (after.saturating_sub(idle))
        .as_secs()
        .div_ceil(interval.as_secs());
    sockopt::set_tcp_keepidle(&socket, idle)?;
    sockopt::set_tcp_keepintvl(&socket, interval)?;
    sockopt::set_tcp_keepcnt(&socket, u32::try_from(probes).unwrap_or(127).clamp(1, 127))?;
    sockopt::set_socket_keepalive(&socket, true)?;
    if keepalive_timeout.limits_data {
        let limit = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(&socket, limit)?;
    }
    Ok(())
}

/// Other systems keep their own times.
#[cfg(not(target_os = "linux"))]
pub(super) fn watch(
    socket: impl std::os::fd::AsFd,
    keepalive_timeout: KeepaliveSettings,
) -> io::Result<()> {
    rustix::net::sockopt::set_socket_keepalive(&socket, keepalive_timeout.after.is_some())?;
    Ok(())
}
