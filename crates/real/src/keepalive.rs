//! Noticing a network that has fallen silent: without these options a connection over which
//! nothing is sent lasts for ever, and one that waits for an acknowledgement about 15 minutes.
//!
//! * Connections between ranks and their coordinator: keepalive probes (`SO_KEEPALIVE`) and a
//!   limit for what is not acknowledged (`TCP_USER_TIMEOUT`). The coordinator gives a rank up
//!   after the time that was asked for, ranks give it and each other up after 1.5 times that: so
//!   the coordinator knows first, and is the one to tell.
//! * Connections between ranks: keepalive probes alone. `TCP_USER_TIMEOUT` also ends a connection
//!   whose receiver is alive but does not read, as a rank does that computes for longer than that.
//!
//! A probe is sent when nothing has come for 1/5 of the time, then one each 1/10; the connection
//! ends at the first date for a probe at which the time is over. So the end comes 0.8 to 1 times
//! the time after the network fell silent. Linux counts in whole seconds.
//!
//! *Not modelled*: a network that lets some packets pass; two ranks that reach the coordinator but
//! not each other while data is under way between them: that ends when the system gives up, on
//! Linux after about 15 minutes (`net.ipv4.tcp_retries2`).

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
    /// That of a rank, as its coordinator sees it.
    pub(super) const fn of_coordinator(after: Option<Duration>) -> Self {
        let limits_data = true;
        Self { after, limits_data }
    }

    /// That of the coordinator, as a rank sees it.
    pub(super) fn of_rank(after: Option<Duration>) -> Self {
        Self {
            after: after.map(|after| after + spread(after) * 5 / 2),
            limits_data: true,
        }
    }

    /// That of another rank.
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
