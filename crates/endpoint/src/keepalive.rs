//! Supervision of peers. A connection with a keepalive timeout sends four pings in each timeout,
//! and the peer answers each ping. A peer that is silent for the timeout is reported once, and then
//! the supervision of the connection ends; the connection stays open. CCI:
//! `CCI_OPT_CONN_KEEPALIVE_TIMEOUT`.

use crate::Error;
use crate::connection::{ConnectionId, Keepalive};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::event::EventKind;
use crate::wire::Datagram;

/// Pings in a timeout. \[choice\]
const PINGS: u64 = 4;

impl Endpoint {
    /// Sets the time after which a silent peer is reported, in picoseconds; `None` ends the
    /// supervision. Without a connection, sets the time for all present and future connections.
    pub fn set_keepalive_timeout(
        &mut self,
        connection: Option<ConnectionId>,
        timeout: Option<u64>,
    ) -> Result<(), Error> {
        if timeout == Some(0) {
            return Err(Error::Invalid("the keepalive timeout is 0"));
        }
        let ids = match connection {
            Some(id) if !self.connections.contains_key(&id) => return Err(Error::Disconnected),
            Some(id) => vec![id],
            None => {
                self.settings.keepalive_timeout = timeout;
                self.connections.keys().copied().collect()
            }
        };
        for id in ids {
            arm(self, id, timeout);
        }
        Ok(())
    }
}

/// Begins or ends the supervision of an open connection.
pub(crate) fn arm(endpoint: &mut Endpoint, id: ConnectionId, timeout: Option<u64>) {
    let (now, settings) = (endpoint.now, endpoint.settings);
    endpoint.timeouts_change();
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    let timeout = timeout.filter(|_| connection.is_open());
    let timeout = timeout.filter(|_| !settings.has(Defect::KeepaliveNotArmed));
    connection.keepalive = timeout.map(|timeout| Keepalive {
        timeout,
        deadline: now + timeout,
        ping_at: now + timeout.div_ceil(PINGS),
    });
}

/// Sends the ping that is due, and reports a peer that is silent.
pub(crate) fn time_out(endpoint: &mut Endpoint, id: ConnectionId) {
    let now = endpoint.now;
    let Some(connection) = endpoint.connections.get_mut(&id) else {
        return;
    };
    let Some(keepalive) = &mut connection.keepalive else {
        return;
    };
    if keepalive.deadline <= now {
        if !endpoint.settings.has(Defect::KeepaliveNotDisarmed) {
            connection.keepalive = None;
        } else {
            keepalive.deadline = now + keepalive.timeout;
        }
        return endpoint.push_event(EventKind::KeepaliveTimedOut { connection: id });
    }
    if keepalive.ping_at <= now {
        keepalive.ping_at = now + keepalive.timeout.div_ceil(PINGS);
        let ping = Datagram::Ping {
            connection: connection.remote,
        };
        let peer = connection.peer.clone();
        endpoint.send_datagram(peer, ping.to_bytes());
    }
}

/// Answers a ping.
pub(crate) fn pinged(endpoint: &mut Endpoint, id: ConnectionId) {
    let Some(connection) = endpoint.connections.get(&id) else {
        return;
    };
    let pong = Datagram::Pong {
        connection: connection.remote,
    };
    let peer = connection.peer.clone();
    endpoint.send_datagram(peer, pong.to_bytes());
}
