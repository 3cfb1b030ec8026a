//! Moments of the close protocol, each by itself: a request, a loss, and a limit of descriptors
//! while a connection closes.

use super::super::*;
use super::requirements::{
    CONNECTS, YES, feed, outputs, process, request, response, state, written,
};
use super::world::member;
use settings::AtLimit;
use socket::ConnectionState as C;
use virtual_connection::VirtualConnectionState as V;

const CLOSE: Input = Input::Read(HandshakeMessage::Close {
    acknowledges: false,
});
const CLOSE_ACK: Input = Input::Read(HandshakeMessage::Close { acknowledges: true });

/// Returns the inputs after which the closing side of a connection is in this state.
fn inputs_until(state: V) -> Vec<Input> {
    match state {
        V::LocalClose => vec![],
        V::CloseAcked => vec![Input::WriteDone, CLOSE, Input::WriteDone],
        V::Closed => vec![Input::WriteDone, CLOSE_ACK],
        other => unreachable!("{other:?} is no state of the closing side"),
    }
}

/// Returns process 0, which closes connection 0 to process 1, in this state of the close protocol.
fn closing(settings: Settings, at: V) -> Connector {
    closing_between(0, 1, settings, at)
}

/// The same with connection 0 of a process to another one.
fn closing_between(me: u32, peer: u32, settings: Settings, at: V) -> Connector {
    let mut one = process("world", me);
    one.settings = settings;
    one.send(0.0, member(peer), 1);
    feed(&mut one, 0, CONNECTS);
    one.close(0.0, member(peer));
    feed(&mut one, 0, inputs_until(at));
    assert_eq!(one.state(member(peer)), at);
    outputs(&mut one);
    one
}

/// Returns the answer to a request of a peer that comes now, if there is one.
fn answer(process: &mut Connector, peer: u32) -> Option<Verdict> {
    let id = process.accept(0.0);
    feed(process, id, request("world", peer));
    outputs(process)
        .into_iter()
        .find_map(|output| match output {
            Output::Write {
                connection,
                messages,
            } if connection == id => match messages[..] {
                [HandshakeMessage::OpenResp { verdict }] => Some(verdict),
                ref other => panic!("{other:?}"),
            },
            _ => None,
        })
}

/// A request while we close: a request of the smaller side is the late loser of a head-to-head; the
/// larger side cannot send a request before the answer to our close. After both have closed the
/// larger side opens again, and its last packet is under way.
#[test]
fn n3_a_request_while_we_close() {
    for (me, peer, at, expected) in [
        (1, 0, V::LocalClose, Some(Verdict::Tie)),
        (0, 1, V::LocalClose, Some(Verdict::Unknown)),
        (1, 0, V::CloseAcked, None),
        (0, 1, V::CloseAcked, None),
        (1, 0, V::Closed, Some(Verdict::Accept)),
        (0, 1, V::Closed, Some(Verdict::Accept)),
    ] {
        let mut one = closing_between(me, peer, Settings::default(), at);
        assert_eq!(answer(&mut one, peer), expected, "{me}, {at:?}");
        if at == V::CloseAcked {
            // The request waits for that packet, and is answered then.
            feed(&mut one, 0, [CLOSE_ACK]);
            let written = written(1, response(Verdict::Accept));
            assert!(outputs(&mut one).contains(&written));
        }
    }
}

fn failed(peer: u32, packet: u64, why: Failure) -> Output {
    let peer = member(peer);
    Output::Failed { peer, packet, why }
}

/// The peer opens again while the old socket of both closes. A finalizing process accepts if one of
/// its own messages waits, which leaves on that connection; else the process refuses.
#[test]
fn n8_a_process_that_finalizes_accepts_while_a_message_waits() {
    for waits in [true, false] {
        let mut one = closing(Settings::default(), V::Closed);
        if waits {
            one.send(0.0, member(1), 2);
        }
        one.finalize(0.0);
        let verdict = if waits {
            Verdict::Accept
        } else {
            Verdict::Finalizing
        };
        assert_eq!(answer(&mut one, 1), Some(verdict));
        let id = 1;
        feed(&mut one, 0, [Input::WriteDone, Input::Closed]);
        feed(&mut one, id, [Input::WriteDone]);
        let told = outputs(&mut one);
        let data = written(id, HandshakeMessage::Data(2));
        assert_eq!(told.contains(&data), waits, "{told:?}");
        if waits {
            let completed = Output::Completed {
                peer: member(1),
                packet: 2,
            };
            feed(&mut one, id, [Input::WriteDone]);
            assert!(outputs(&mut one).contains(&completed));
            let closes = [Input::WriteDone, CLOSE_ACK, Input::WriteDone];
            feed(&mut one, id, closes);
        }
        feed(&mut one, id, [Input::Closed]);
        assert_eq!(outputs(&mut one).last(), Some(&Output::Finalized));
    }
}

/// A peer that is lost during the close: all messages that wait for the peer fail, no connection to
/// the peer is opened, no close is outstanding, and finalize ends.
#[test]
fn f4_a_loss_during_the_close() {
    for at in [V::LocalClose, V::CloseAcked, V::Closed] {
        let mut one = closing(Settings::default(), at);
        one.send(0.0, member(1), 2);
        one.send(0.0, member(1), 3);
        one.peer_failed(0.0, member(1));
        assert_eq!(state(&one, 0), Some(C::Closing), "{at:?}");
        feed(&mut one, 0, [Input::WriteDone, Input::Closed]);
        let lost = [2, 3].map(|packet| failed(1, packet, Failure::PeerLost));
        let told = outputs(&mut one);
        let close = Output::Close { connection: 0 };
        let (closes, failures): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|output| *output == close);
        assert_eq!((failures, closes.len()), (lost.to_vec(), 1), "{at:?}");
        assert_eq!((one.state(member(1)), one.failed), (V::Moribund, 1));
        assert_eq!((one.outstanding, one.connections.all.len()), (0, 0));
        one.finalize(0.0);
        assert_eq!(outputs(&mut one), [Output::Finalized]);
    }
}

/// The same where the peer has closed first, and a message is being written.
#[test]
fn f4_a_loss_after_the_close_of_the_peer() {
    let mut one = process("world", 0);
    one.settings.answer = CloseAckPolicy::WhenClosed;
    one.send(0.0, member(1), 1);
    feed(&mut one, 0, [Input::ConnectDone, Input::WriteDone, YES]);
    one.send(0.0, member(1), 2);
    feed(&mut one, 0, [CLOSE]);
    assert_eq!(one.state(member(1)), V::RemoteClose);
    outputs(&mut one);
    one.peer_failed(0.0, member(1));
    let lost = [1, 2].map(|packet| failed(1, packet, Failure::PeerLost));
    let close = Output::Close { connection: 0 };
    assert_eq!(outputs(&mut one), [&lost[..], &[close]].concat());
    assert_eq!((one.outstanding, one.failed), (0, 1));
}

/// `at_limit = "fail"`: while a connection closes, a send waits for the freed descriptor.
#[test]
fn n17_a_send_does_not_fail_while_a_connection_closes() {
    let settings = Settings {
        descriptors: Some(1),
        at_limit: AtLimit::Fail,
        ..Settings::default()
    };
    for at in [V::LocalClose, V::CloseAcked, V::Closed] {
        let mut one = closing(settings, at);
        one.send(0.0, member(2), 5);
        assert_eq!(outputs(&mut one), [], "{at:?}");
        let rest = match at {
            V::LocalClose => vec![Input::WriteDone, CLOSE_ACK, Input::WriteDone],
            V::CloseAcked => vec![CLOSE_ACK],
            _ => vec![Input::WriteDone],
        };
        feed(&mut one, 0, rest);
        outputs(&mut one);
        feed(&mut one, 0, [Input::Closed]);
        let connect = Output::Connect {
            connection: 0,
            peer: member(2),
            card: "world:2".to_owned(),
        };
        assert_eq!(outputs(&mut one), [connect], "{at:?}");
        // The connection is not idle now: nothing will give its descriptor back.
        one.send(0.0, member(3), 6);
        let no_descriptor = failed(3, 6, Failure::NoDescriptor);
        assert_eq!(outputs(&mut one), [no_descriptor]);
    }
}
