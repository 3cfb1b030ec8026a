//! Promise: the short path of a packet past the machines of connections is open exactly while the
//! long path would write the packet at once.

use mpi::connection::{Connector, Group, HandshakeMessage, Input, Output, Peer, Settings, Verdict};

const OTHER: Peer = Peer::Member { group: 0, rank: 1 };

/// Everything that is to be done now.
fn outputs(connector: &mut Connector) -> Vec<Output> {
    std::iter::from_fn(|| connector.poll()).collect()
}

/// Asserts that a packet would not be written at once.
#[track_caller]
fn not_at_once(connector: &mut Connector, now: f64, why: &str) {
    assert_eq!(connector.immediate_connection(now, OTHER), None, "{why}");
}

#[test]
fn the_short_way_is_open_while_nothing_is_before_a_packet() {
    let mut connector = Connector::new(Group::of_ranks("world", 2), 0, Settings::NONE);
    connector.listen();
    not_at_once(&mut connector, 0.0, "nobody was sent to");
    connector.send(0.0, OTHER, 7);
    let all = outputs(&mut connector);
    let [Output::Connect { connection, .. }] = all[..] else {
        panic!("{all:?}");
    };
    not_at_once(&mut connector, 0.0, "it connects");
    for input in [
        Input::ConnectDone,
        Input::WriteDone,
        Input::Read(HandshakeMessage::OpenResp {
            verdict: Verdict::Accept,
        }),
    ] {
        not_at_once(&mut connector, 0.0, &format!("{input:?}"));
        connector.handle(0.0, connection, input);
    }
    not_at_once(&mut connector, 0.0, "the first one is being written");
    connector.handle(0.0, connection, Input::WriteDone);
    assert_eq!(connector.immediate_connection(1.0, OTHER), Some(connection));
    assert_eq!(connector.idle_since(), Some(1.0), "the peer counts as used");
    connector.finalize(2.0);
    not_at_once(&mut connector, 2.0, "it closes");
}
