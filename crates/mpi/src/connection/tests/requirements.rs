//! The requirements that need no interleaving, each by name, and the rows that small worlds do not
//! reach.

use super::super::*;
use super::world::member;
use socket::ConnectionState as C;
use virtual_connection::VirtualConnectionState as V;

pub(super) fn process(name: &str, rank: u32) -> Connector {
    let cards = (0..4).map(|rank| (rank, format!("{name}:{rank}")));
    Connector::new(Group::new(name, 4, cards), rank, Settings::default())
}

pub(super) fn outputs(process: &mut Connector) -> Vec<Output> {
    std::iter::from_fn(|| process.poll()).collect()
}

pub(super) fn feed(
    process: &mut Connector,
    id: ConnectionId,
    inputs: impl IntoIterator<Item = Input>,
) {
    for input in inputs {
        process.handle(0.0, id, input);
    }
}

pub(super) fn state(process: &Connector, id: ConnectionId) -> Option<C> {
    let connection = process.connections.all.get(&id);
    connection.map(|connection| connection.state)
}

pub(super) fn request(name: &str, rank: u32) -> [Input; 2] {
    let group_length = u32::try_from(name.len()).unwrap();
    [
        Input::Read(HandshakeMessage::OpenReq { group_length, rank }),
        Input::Read(HandshakeMessage::Group(name.to_owned())),
    ]
}

/// The answer to a request.
pub(super) const fn response(verdict: Verdict) -> HandshakeMessage {
    HandshakeMessage::OpenResp { verdict }
}

/// One message that is written.
pub(super) fn written(connection: ConnectionId, message: HandshakeMessage) -> Output {
    let messages = vec![message];
    Output::Write {
        connection,
        messages,
    }
}

/// The peer of connection 0 answers no.
fn refuse(process: &mut Connector, verdict: Verdict) {
    let no = Input::Read(response(verdict));
    feed(process, 0, [Input::ConnectDone, Input::WriteDone, no]);
}

pub(super) const YES: Input = Input::Read(response(Verdict::Accept));

/// The inputs of a connection until the first packet has left.
pub(super) const CONNECTS: [Input; 4] =
    [Input::ConnectDone, Input::WriteDone, YES, Input::WriteDone];

#[test]
fn n1_n7_the_channel_part_is_derived() {
    use virtual_connection::Channel;
    for &vc in virtual_connection::TABLE.states {
        for &connection in socket::TABLE.states {
            let channel = virtual_connection::channel(vc, Some(connection));
            assert_eq!(
                channel == Channel::Connected,
                vc != V::Moribund && connection == C::Connected
            );
            assert_eq!(
                channel == Channel::Failed,
                vc == V::Moribund || connection == C::Failed
            );
        }
    }
    let mut one = process("world", 0);
    one.send(0.0, member(1), 0);
    assert_eq!(one.channel(member(1)), Channel::Connecting);
    feed(&mut one, 0, [Input::ConnectDone, Input::WriteDone, YES]);
    assert_eq!(one.channel(member(1)), Channel::Connected);
}

#[test]
fn n2_n7_what_the_table_does_not_know_is_refused_and_told() {
    let mut one = process("world", 0);
    one.send(0.0, member(1), 0);
    outputs(&mut one);
    one.handle(0.0, 0, Input::Closed);
    assert_eq!(state(&one, 0), Some(C::Connecting));
    let told = "connection 0: Closed [Always] in Connecting".to_owned();
    assert_eq!(outputs(&mut one), [Output::Illegal(told)]);
}

#[test]
fn n4_every_state_and_event_has_a_row_or_a_reason() {
    assert_eq!(socket::TABLE.gaps(), [""; 0]);
    assert_eq!(virtual_connection::TABLE.gaps(), [""; 0]);
}

#[test]
fn n5_addresses_come_from_the_book_of_the_group() {
    let mut one = process("a", 0);
    let other = Group::new("b", 3, [(0, "b:0".to_owned()), (1, "b:1".to_owned())]);
    let group = one.introduce(other.encode_group());
    assert_eq!(one.groups.all[group as usize], other);
    let card = |output: &Output| match output {
        Output::Connect { card, .. } => card.clone(),
        other => panic!("{other:?}"),
    };
    one.send(0.0, member(3), 0);
    assert_eq!(card(&outputs(&mut one)[0]), "a:3");
    one.send(0.0, Peer::Member { group, rank: 1 }, 0);
    assert_eq!(card(&outputs(&mut one)[0]), "b:1");
    let peer = Peer::Member { group, rank: 2 };
    one.send(0.0, peer, 5);
    let why = Failure::NoAddress;
    assert_eq!(
        outputs(&mut one),
        [Output::Failed {
            peer,
            packet: 5,
            why
        }]
    );
}

#[test]
fn n6_waiting_handshake_and_close_handshake_are_states() {
    for state in [
        C::OpenLRecvPkt,
        C::OpenLRecvData,
        C::OpenCSend,
        C::OpenCRecv,
        C::OpenLSend,
    ] {
        assert!(socket::TABLE.states.contains(&state));
    }
    for state in [V::LocalClose, V::RemoteClose, V::CloseAcked] {
        assert!(virtual_connection::TABLE.states.contains(&state));
    }
}

#[test]
fn n12_n13_handshakes_have_one_form_of_fixed_width_and_order() {
    let request = HandshakeMessage::OpenReq {
        group_length: 5,
        rank: 0x0102_0304,
    };
    let messages = [
        request.clone(),
        HandshakeMessage::ConnAccept { port: 7 },
        response(Verdict::Accept),
        response(Verdict::Tie),
        response(Verdict::Finalizing),
        response(Verdict::Unknown),
        HandshakeMessage::Close {
            acknowledges: false,
        },
        HandshakeMessage::Close { acknowledges: true },
        HandshakeMessage::Data(u64::MAX - 1),
    ];
    for message in messages {
        let bytes: [u8; MESSAGE_LENGTH] = message.encode().try_into().unwrap();
        assert_eq!(HandshakeMessage::from_bytes(&bytes), Some(message));
    }
    assert_eq!(request.encode(), [1, 0, 0, 0, 5, 1, 2, 3, 4]);
    assert_eq!(
        HandshakeMessage::from_bytes(&[3, 0, 0, 0, 0, 0, 0, 0, 9]),
        None
    );
    // Two ways into OpenLSend but one action that forms the answer.
    let mut ways = socket::TABLE
        .rows
        .iter()
        .filter(|row| row.to == C::OpenLSend);
    assert!(ways.all(|row| row.actions.contains(&socket::Action::SendOpenResp)));
}

#[test]
fn n14_after_a_refusal_the_queue_stays_with_the_virtual_connection() {
    let mut one = process("world", 0);
    one.send(0.0, member(1), 7);
    refuse(&mut one, Verdict::Tie);
    assert_eq!(
        (state(&one, 0), one.state(member(1))),
        (Some(C::Closing), V::Active)
    );
    outputs(&mut one);
    // N-19: a further send opens nothing; the peer's connection serves both.
    one.send(0.0, member(1), 8);
    assert_eq!(outputs(&mut one), []);
    let id = one.accept(0.0);
    feed(&mut one, id, request("world", 1));
    feed(&mut one, id, [Input::WriteDone, Input::WriteDone]);
    let all = outputs(&mut one);
    for packet in [7, 8] {
        let one = written(id, HandshakeMessage::Data(packet));
        assert!(all.contains(&one), "{all:?}");
    }
}

#[test]
fn n3_a_second_request_at_the_smaller_side_is_a_mistake_and_at_the_larger_a_late_loser() {
    for (me, peer, expected) in [(1, 0, Verdict::Tie), (0, 1, Verdict::Unknown)] {
        let mut one = process("world", me);
        one.send(0.0, member(peer), 7);
        feed(&mut one, 0, [Input::ConnectDone, Input::WriteDone, YES]);
        let id = one.accept(0.0);
        outputs(&mut one);
        feed(&mut one, id, request("world", peer));
        let written = written(id, response(expected));
        assert_eq!(outputs(&mut one).last(), Some(&written));
        assert_eq!(one.state(member(peer)), V::Active);
    }
}

/// §4: between groups the name decides, byte by byte.
#[test]
fn head_to_head_of_different_groups() {
    for (me, other, expected) in [
        ("a", "b", Verdict::Accept),
        ("b", "a", Verdict::Tie),
        ("a", "B", Verdict::Tie),
    ] {
        let mut one = process(me, 0);
        let cards = [(0, "x".to_owned())];
        let group = one.introduce(Group::new(other, 1, cards));
        one.send(0.0, Peer::Member { group, rank: 0 }, 1);
        let id = one.accept(0.0);
        outputs(&mut one);
        feed(&mut one, id, request(other, 0));
        let written = written(id, response(expected));
        assert_eq!(outputs(&mut one).last(), Some(&written), "{me} and {other}");
    }
}

#[test]
fn strangers_and_oneself_are_refused() {
    for (name, rank) in [("nobody", 0), ("world", 4), ("world", 0)] {
        let mut one = process("world", 0);
        let id = one.accept(0.0);
        feed(&mut one, id, request(name, rank));
        assert_eq!(state(&one, id), Some(C::OpenLSend));
        // The process ends before the answer is out.
        one.finalize(0.0);
        assert_eq!(state(&one, id), Some(C::Closing));
        feed(&mut one, id, [Input::WriteDone, Input::Closed]);
        assert_eq!(outputs(&mut one).last(), Some(&Output::Finalized));
        let mut one = process("world", 0);
        let (peer, packet, why) = (member(0), 1, Failure::Oneself);
        one.send(0.0, peer, packet);
        assert_eq!(outputs(&mut one), [Output::Failed { peer, packet, why }]);
    }
    // The one who asked gives up.
    let mut one = process("world", 0);
    one.send(0.0, member(1), 1);
    refuse(&mut one, Verdict::Unknown);
    assert_eq!(one.state(member(1)), V::Moribund);
}

#[test]
fn n16_accepts_that_are_pending_are_closed_before_the_listener() {
    let mut one = process("world", 0);
    let listener = one.listen();
    one.finalize(0.0);
    assert_eq!(
        outputs(&mut one),
        [Output::Close {
            connection: listener
        }]
    );
    let id = one.accept(0.0);
    assert_eq!(outputs(&mut one), [Output::Close { connection: id }]);
    feed(&mut one, listener, [Input::Closed]);
    assert_eq!(outputs(&mut one), []);
    feed(&mut one, id, [Input::Closed]);
    assert_eq!(outputs(&mut one), [Output::Finalized]);
    assert!(one.is_finalized());
}

#[test]
fn n18_sends_to_a_lost_peer_fail_at_once() {
    let mut one = process("world", 0);
    one.peer_failed(0.0, member(1));
    assert_eq!((one.state(member(1)), one.failed), (V::Moribund, 1));
    let (peer, packet, why) = (member(1), 7, Failure::PeerLost);
    one.send(0.0, peer, packet);
    assert_eq!(outputs(&mut one), [Output::Failed { peer, packet, why }]);
    assert_eq!(one.connections.all.len(), 0);
}

/// F4: started operations may still end after the connection was given up.
#[test]
fn n4_late_ends_of_what_was_begun_are_ignored_while_closing() {
    let late = [
        Input::ConnectDone,
        Input::ConnectError,
        Input::WriteDone,
        Input::Eof,
        Input::Read(HandshakeMessage::OpenReq {
            group_length: 1,
            rank: 1,
        }),
        Input::Read(HandshakeMessage::Group("world".to_owned())),
        Input::Read(HandshakeMessage::ConnAccept { port: 1 }),
        YES,
        Input::Read(HandshakeMessage::Data(3)),
    ];
    for input in late {
        let mut one = process("world", 0);
        one.send(0.0, member(1), 7);
        one.peer_failed(0.0, member(1));
        outputs(&mut one);
        feed(&mut one, 0, [input]);
        assert_eq!(
            (outputs(&mut one), state(&one, 0)),
            (Vec::new(), Some(C::Closing))
        );
    }
}

/// §3: a process of another world comes through a port, and both talk and close.
#[test]
fn ports_give_temporary_virtual_connections() {
    let (mut one, mut two) = (process("a", 0), process("b", 0));
    let to = one.connect_port(0.0, "b:0", 9);
    one.send(0.0, to, 5);
    feed(&mut one, 0, [Input::ConnectDone]);
    let id = two.accept(0.0);
    feed(
        &mut two,
        id,
        [Input::Read(HandshakeMessage::ConnAccept { port: 9 })],
    );
    let came = outputs(&mut two)
        .into_iter()
        .find_map(|output| match output {
            Output::PortAccepted { port: 9, peer } => Some(peer),
            _ => None,
        });
    let from = came.unwrap();
    feed(&mut two, id, [Input::WriteDone]);
    feed(&mut one, 0, [Input::WriteDone, YES]);
    let told = outputs(&mut one);
    assert_eq!(told.last(), Some(&written(0, HandshakeMessage::Data(5))));
    feed(&mut two, id, [Input::Read(HandshakeMessage::Data(5))]);
    assert!(outputs(&mut two).contains(&Output::Deliver {
        peer: from,
        packet: 5
    }));
    for (input, expected) in [
        (Input::ConnectError, Failure::Unreachable),
        (Input::Eof, Failure::PeerLost),
    ] {
        let mut one = process("a", 0);
        let peer = one.connect_port(0.0, "b:0", 9);
        one.send(0.0, peer, 5);
        feed(&mut one, 0, [input]);
        let failed = Output::Failed {
            peer,
            packet: 5,
            why: expected,
        };
        assert!(outputs(&mut one).contains(&failed));
        assert_eq!(one.state(peer), V::Moribund);
    }
}

/// §1: connections come and go without changing counts; the last reference closes, and gives the
/// group back.
#[test]
fn references_count_virtual_connections_and_groups() {
    let mut one = process("a", 0);
    let group = one.introduce(Group::new("b", 1, [(0, "b:0".to_owned())]));
    let peer = Peer::Member { group, rank: 0 };
    one.retain(peer);
    one.retain(peer);
    one.send(0.0, peer, 1);
    feed(&mut one, 0, CONNECTS);
    one.release(0.0, peer);
    assert_eq!(one.state(peer), V::Active);
    one.release(0.0, peer);
    assert_eq!((one.state(peer), one.outstanding), (V::LocalClose, 1));
    assert!(one.groups.all[group as usize].card(0).is_some());
    let close = Input::Read(HandshakeMessage::Close { acknowledges: true });
    feed(
        &mut one,
        0,
        [Input::WriteDone, close, Input::WriteDone, Input::Closed],
    );
    assert_eq!((one.state(peer), one.outstanding), (V::Inactive, 0));
    assert_eq!(one.groups.all[group as usize].card(0), None);
    // Memory from first use only: nothing is left of it.
    assert_eq!(one.vcs.len(), 0);
}

/// F6: the graphs have exactly the edges of the tables, and contain the edges of the specification.
#[test]
fn f6_graphs_come_from_the_tables_that_run() {
    let [connection, close] = machines();
    assert_eq!((connection.name, close.name), ("connection", "close"));
    // Each row is an edge, in the order of the table, and there is no other.
    let names = |machine: &crate::protocol::machine::Machine| {
        let edges = machine.transitions.iter();
        let edges = edges.map(|edge| format!("{} {} {}", edge.from, edge.event, edge.to));
        edges.collect::<Vec<String>>()
    };
    let rows = socket::TABLE.rows.iter().map(|row| {
        let (from, event, to) = (row.from, row.event, row.to);
        match row.guard {
            socket::Guard::Always => format!("{from:?} {event:?} {to:?}"),
            guard => format!("{from:?} {event:?} [{guard:?}] {to:?}"),
        }
    });
    assert_eq!(names(&connection), rows.collect::<Vec<String>>());
    let rows = virtual_connection::TABLE.rows.iter();
    let rows = rows.map(|row| format!("{:?} {:?} {:?}", row.from, row.event, row.to));
    assert_eq!(names(&close), rows.collect::<Vec<String>>());
    let dot = close.to_dot();
    for edge in [
        "Inactive -> Active [label=\"Use / ConnectIfNeeded [§5]\"]",
        "Active -> LocalClose [label=\"WeClose / CountOutstanding, SendClose [§5]\"]",
        "Active -> RemoteClose [label=\"CloseReceived [§5]\"]",
        "RemoteClose -> CloseAcked [label=\"WeClose / CountOutstanding, SendCloseAck [§5]\"]",
        "LocalClose -> CloseAcked [label=\"CloseReceived / SendCloseAck [§5]\"]",
        "LocalClose -> Closed [label=\"CloseAckReceived / SendCloseAck, TerminateConnection [§5]\"]",
        "CloseAcked -> Closed [label=\"CloseAckReceived / TerminateConnection [§5]\"]",
        "Closed -> Inactive [label=\"Terminated / DropOutstanding, ReleaseGroup [§5]\"]",
        "Inactive -> InactiveClosed [label=\"Finalize [N-8]\"]",
        "Active -> Moribund [label=\"Terminated / FailPosted, CountFailed [§5]\"]",
        "LocalClose -> Moribund [label=\"Terminated / FailPosted, CountFailed, DropOutstanding [§5]\"]",
        "Inactive -> Moribund [label=\"Terminated / CountFailed [§5]\"]",
    ] {
        assert!(dot.contains(edge), "{edge}");
    }
}
