//! Cases of connecting and disconnecting: requests, decisions, repetitions, time limits, strangers.

use std::collections::BTreeSet;

use endpoint::{
    Access, Attribute, ConnectionStage, EndpointSettings, Error, EventKind, Flags, MessageBytes,
    Status,
};

use super::desk::{ACCEPT, Desk, ESTABLISHED, Letter, MESSAGE, REJECT, REQUEST};

const UU: Attribute = Attribute::UnreliableUnordered;

pub(crate) fn contexts_and_payloads(settings: EndpointSettings) {
    for (&attribute, length) in Attribute::ALL.iter().zip([0, 5, 1024]) {
        let mut desk = Desk::new(settings);
        let payload: Vec<u8> = (0..length).map(|at: u32| at as u8).collect();
        assert_eq!(desk.ask((attribute, &payload), None), Ok(()));
        desk.carry(0, REQUEST);
        let event = desk.endpoint(1).get_event().unwrap().unwrap();
        let EventKind::ConnectRequest { request, .. } = event.kind else {
            panic!("{event:?}");
        };
        let expected = EventKind::ConnectRequest {
            request,
            attribute,
            payload,
        };
        assert_eq!(event.kind, expected);
        desk.endpoint(1).accept(request, 8).unwrap();
        desk.endpoint(1).return_event(event.id).unwrap();
        assert_eq!(desk.events(1), []);
        desk.carry(1, ACCEPT);
        let initiator = desk.connected(0);
        desk.carry(0, ESTABLISHED);
        let acceptor = desk.connected(1);
        assert_eq!(desk.endpoint(0).stage(initiator), ConnectionStage::Open);
        assert_eq!(desk.endpoint(1).stage(acceptor), ConnectionStage::Open);
        assert_eq!((desk.letters(0), desk.letters(1)), (vec![], vec![]));
    }
    let mut desk = Desk::new(settings);
    let refused = desk.ask((UU, &[0; 1025]), None);
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

/// The first rejection is lost: the request is repeated, and so is the answer.
pub(crate) fn a_rejection_is_repeated(settings: EndpointSettings) {
    for &attribute in Attribute::ALL {
        let mut desk = Desk::new(settings);
        let request = desk.request(attribute);
        desk.endpoint(1).reject(request).unwrap();
        desk.letter(1, REJECT);
        for _ in 0..3 {
            desk.pass(settings.resend_after);
            desk.carry(0, REQUEST);
            // The second rejection is lost, too; the program is not asked once more.
            desk.letter(1, REJECT);
            assert_eq!(desk.events(1), []);
        }
        desk.pass(settings.resend_after);
        desk.carry(0, REQUEST);
        let reject = desk.carry(1, REJECT);
        let refused = EventKind::Connect {
            context: 7,
            result: Err(Status::Refused),
        };
        assert_eq!(desk.events(0), [refused]);
        // The initiator has ended: it neither repeats its request nor takes another answer.
        desk.pass(10 * settings.resend_after);
        desk.deliver(&reject);
        assert_eq!((desk.events(0), desk.letters(0)), (vec![], vec![]));
    }
}

pub(crate) fn an_acceptance_is_repeated(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let first = desk.acceptance(UU);
    desk.pass(settings.resend_after - 1);
    assert_eq!(desk.letters(1), []);
    desk.pass(1);
    assert_eq!(desk.letters(1), [first]);
    desk.pass(settings.resend_after);
    desk.carry(1, ACCEPT);
    assert_eq!(desk.events(0).len(), 1);
}

/// The first acknowledgement is lost: the answer is repeated, and acknowledged again, also on a
/// connection that is broken meanwhile.
pub(crate) fn a_repeated_acceptance_is_acknowledged_again(settings: EndpointSettings) {
    for breaks in [false, true] {
        let mut desk = Desk::new(settings);
        let accept = desk.acceptance(Attribute::ReliableOrdered);
        desk.deliver(&accept);
        let acknowledgement = desk.letter(0, ESTABLISHED);
        let connection = desk.connected(0);
        if breaks {
            let endpoint = desk.endpoint(0);
            endpoint.set_send_timeout(None, Some(1)).unwrap();
            let flags = Flags::default();
            let sent = endpoint.send(connection, 1, MessageBytes::Copied(b"x"), flags);
            assert!(sent.is_ok());
            desk.endpoint(0).handle_timeout(1);
            assert_eq!(desk.endpoint(0).stage(connection), ConnectionStage::Broken);
            desk.events(0);
        }
        desk.pass(settings.resend_after);
        let repeated = desk.letter(1, ACCEPT);
        assert_eq!(repeated, accept);
        desk.deliver(&repeated);
        assert_eq!(desk.letter(0, ESTABLISHED), acknowledgement);
        assert_eq!(desk.events(0), [], "it is reported once");
        desk.deliver(&acknowledgement);
        desk.connected(1);
        // An acceptance of another number is none of this connection.
        let mut other = accept.clone();
        other.bytes[8] ^= 1;
        desk.deliver(&other);
        assert_eq!((desk.events(0), desk.letters(0)), (vec![], vec![]));
        // The end of the repetitions, and of the handshake.
        desk.pass(10 * settings.resend_after);
        assert_eq!(desk.letters(1), []);
        desk.deliver(&acknowledgement);
        assert_eq!(desk.events(1), []);
    }
}

pub(crate) fn a_repeated_request_makes_no_second_connection(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let request = desk.request(UU);
    desk.pass(settings.resend_after);
    let repeated = desk.carry(0, REQUEST);
    assert_eq!((desk.events(1), desk.letters(1)), (vec![], vec![]));
    desk.endpoint(1).accept(request, 8).unwrap();
    let accept = desk.letter(1, ACCEPT);
    desk.deliver(&repeated);
    assert_eq!(desk.letter(1, ACCEPT), accept);
    desk.deliver(&accept);
    desk.carry(0, ESTABLISHED);
    desk.events(1);
    // A request that was under way for long: its answer has not changed.
    desk.deliver(&repeated);
    assert_eq!((desk.events(1), desk.letters(1)), (vec![], vec![accept]));
}

/// A repeated request is not reported again after its connection has ended.
pub(crate) fn old_requests_are_remembered(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let request = desk.request(UU);
    desk.pass(settings.resend_after);
    let repeated = desk.letter(0, REQUEST);
    desk.endpoint(1).accept(request, 8).unwrap();
    desk.deliver_all(|_| true);
    let acceptor = desk.connected(1);
    desk.endpoint(1).disconnect(acceptor).unwrap();
    desk.deliver(&repeated);
    assert_eq!((desk.events(1), desk.letters(1)), (vec![], vec![]));
}

/// The last 1024 requests that have ended are remembered, and no more.
pub(crate) fn some_old_requests_are_remembered(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let mut requests = Vec::new();
    for _ in 0..1025 {
        assert_eq!(desk.ask((UU, b""), None), Ok(()));
        let request = desk.carry(0, REQUEST);
        requests.push(request);
        let (_, request) = desk.take_request();
        // The connection ends with its last event, whatever the decision.
        if requests.len() % 2 == 0 {
            desk.endpoint(1).reject(request).unwrap();
            desk.letter(1, REJECT);
        } else {
            desk.endpoint(1).accept(request, 8).unwrap();
            desk.deliver_all(|_| true);
            let connection = desk.connected(1);
            desk.endpoint(1).disconnect(connection).unwrap();
        }
        if requests.len() == 1024 {
            desk.deliver(&requests[0]);
            assert_eq!(desk.endpoint(1).get_event(), Ok(None));
        }
    }
    desk.deliver(&requests[1]);
    assert_eq!(desk.endpoint(1).get_event(), Ok(None));
    desk.deliver(&requests[0]);
    assert!(desk.endpoint(1).get_event().unwrap().is_some());
}

/// The sequence numbers of packets differ from connection to connection.
pub(crate) fn each_connection_has_its_own_packet_numbers(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    for _ in 0..16 {
        desk.ask((Attribute::ReliableOrdered, b""), None).unwrap();
    }
    // Kind, number, attribute and presence of a queue pair, then its number and that of packets.
    let requests = desk.letters(0);
    let numbers = requests
        .iter()
        .map(|request| request.bytes[11..15].to_vec());
    let numbers: BTreeSet<Vec<u8>> = numbers.collect();
    assert_eq!(numbers.len(), 16);
}

/// A datagram counts only if the peer of its connection has sent the datagram.
pub(crate) fn strangers_are_not_heard(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let request = desk.request(UU);
    desk.endpoint(1).reject(request).unwrap();
    let reject = desk.letter(1, REJECT);
    let mut desk = Desk::new(settings);
    let accept = desk.acceptance(UU);
    for letter in [&reject, &accept] {
        desk.deliver_from(2, letter);
        assert_eq!((desk.events(0), desk.letters(0)), (vec![], vec![]));
    }
    desk.deliver(&accept);
    let established = desk.letter(0, ESTABLISHED);
    let connection = desk.connected(0);
    desk.send(0, connection, b"hello");
    let message = desk.letter(0, MESSAGE);
    for letter in [&established, &message] {
        desk.deliver_from(2, letter);
        assert_eq!(desk.events(1), []);
    }
    desk.deliver(&established);
    assert_eq!(desk.events(1).len(), 1);
    desk.deliver_from(2, &message);
    assert_eq!(desk.events(1), []);
    desk.deliver(&message);
    assert_eq!(desk.events(1).len(), 1);
}

pub(crate) fn malformed_datagrams_are_dropped(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    for attribute in [UU, Attribute::ReliableOrdered] {
        desk.ask((attribute, b""), None).unwrap();
    }
    let requests = desk.letters(0);
    // The attributes of the other one: a reliable connection has a queue pair, and no other has.
    let codes = [requests[1].bytes[5], requests[0].bytes[5]];
    for (request, code) in requests.iter().zip(codes) {
        let mut wrong = request.clone();
        wrong.bytes[5] = code;
        desk.deliver(&wrong);
        for length in 0..request.bytes.len() {
            let bytes = request.bytes[..length].to_vec();
            desk.deliver(&Letter {
                bytes,
                ..request.clone()
            });
        }
        let mut long = request.clone();
        long.bytes.extend([0; 1025]);
        desk.deliver(&long);
        assert_eq!((desk.events(1), desk.letters(1)), (vec![], vec![]));
    }
    // A datagram of an unreliable connection is no message of a reliable one.
    let (_, acceptor, _) = Desk::new(settings).connect(Attribute::ReliableOrdered);
    let mut desk = Desk::new(settings);
    let (initiator, same, _) = desk.connect(UU);
    assert_eq!(same, acceptor);
    desk.send(0, initiator, b"x");
    let message = desk.letter(0, MESSAGE);
    let mut desk = Desk::new(settings);
    desk.connect(Attribute::ReliableOrdered);
    desk.deliver(&message);
    assert_eq!(desk.events(1), []);
}

pub(crate) fn a_request_is_decided_once(settings: EndpointSettings) {
    for accepts in [false, true] {
        let mut desk = Desk::new(settings);
        desk.ask((UU, b""), None).unwrap();
        desk.carry(0, REQUEST);
        let (event, request) = desk.take_request();
        let endpoint = desk.endpoint(1);
        let undecided = endpoint.return_event(event);
        assert!(matches!(undecided, Err(Error::Invalid(_))), "{undecided:?}");
        assert_eq!(endpoint.borrowed_events(), 1);
        let decided = if accepts {
            endpoint.accept(request, 8)
        } else {
            endpoint.reject(request)
        };
        assert_eq!(decided, Ok(()));
        for decided in [endpoint.accept(request, 9), endpoint.reject(request)] {
            assert!(matches!(decided, Err(Error::Invalid(_))), "{decided:?}");
        }
        assert_eq!(endpoint.return_event(event), Ok(()));
        assert_eq!(endpoint.borrowed_events(), 0);
        let kind = if accepts { ACCEPT } else { REJECT };
        desk.letter(1, kind);
    }
}

pub(crate) fn a_connect_times_out(settings: EndpointSettings) {
    let timeout = 5 * settings.resend_after / 2;
    for limit in [Some(timeout), None] {
        let mut desk = Desk::new(settings);
        let begin = desk.now();
        desk.ask((UU, b""), limit).unwrap();
        desk.letter(0, REQUEST);
        for _ in 0..2 {
            let next = desk.endpoint(0).next_timeout().unwrap();
            assert_eq!(next, desk.now() + settings.resend_after);
            desk.pass(settings.resend_after);
            desk.letter(0, REQUEST);
        }
        if limit.is_none() {
            // It lasts for ever.
            for _ in 0..1000 {
                desk.pass(settings.resend_after);
                desk.letter(0, REQUEST);
            }
            assert_eq!(desk.events(0), []);
            continue;
        }
        assert_eq!(desk.endpoint(0).next_timeout(), Some(begin + timeout));
        desk.pass(settings.resend_after / 2 - 1);
        assert_eq!(desk.events(0), []);
        desk.pass(1);
        let timed_out = EventKind::Connect {
            context: 7,
            result: Err(Status::TimedOut),
        };
        assert_eq!(desk.events(0), [timed_out]);
        assert_eq!(desk.endpoint(0).next_timeout(), None);
        assert_eq!(desk.letters(0), []);
    }
}

/// An acceptor that is not acknowledged gives up after a number of repetitions.
pub(crate) fn an_accept_times_out(settings: EndpointSettings) {
    let settings = EndpointSettings {
        accept_tries: 3,
        ..settings
    };
    let mut desk = Desk::new(settings);
    let accept = desk.acceptance(UU);
    for _ in 0..3 {
        desk.pass(settings.resend_after);
        desk.letter(1, ACCEPT);
        assert_eq!(desk.events(1), []);
    }
    desk.pass(settings.resend_after);
    let timed_out = EventKind::Accept {
        context: 8,
        result: Err(Status::TimedOut),
    };
    assert_eq!((desk.events(1), desk.letters(1)), (vec![timed_out], vec![]));
    // An acknowledgement comes too late.
    desk.deliver(&accept);
    let established = desk.letters(0).pop().unwrap();
    desk.deliver(&established);
    assert_eq!(desk.events(1), []);
}

/// A message that overtakes the acknowledgement says the same.
pub(crate) fn a_first_message_is_an_acknowledgement(settings: EndpointSettings) {
    for &attribute in Attribute::ALL {
        let mut desk = Desk::new(settings);
        let accept = desk.acceptance(attribute);
        desk.deliver(&accept);
        let established = desk.letter(0, ESTABLISHED);
        let initiator = desk.connected(0);
        desk.send(0, initiator, b"first");
        for letter in desk.letters(0) {
            desk.deliver(&letter);
        }
        let events = desk.events(1);
        let [
            EventKind::Accept {
                context: 8,
                result: Ok(acceptor),
            },
            ref received,
        ] = events[..]
        else {
            panic!("{events:?}");
        };
        let first = EventKind::Receive {
            connection: acceptor,
            message: b"first".to_vec(),
        };
        assert_eq!(*received, first);
        desk.deliver(&established);
        assert_eq!(desk.events(1), []);
    }
}

/// The adapter reports the next completion only on request.
pub(crate) fn a_notification_on_request(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let (initiator, _, _) = desk.connect(Attribute::ReliableOrdered);
    for asks in [false, true, false] {
        if asks {
            assert_eq!(desk.endpoint(1).request_notification(), Ok(()));
            assert!(!desk.is_notified(1), "nothing has come");
        }
        desk.send(0, initiator, b"x");
        assert_eq!(desk.is_notified(1), asks);
        assert_eq!(desk.events(1).len(), 1);
    }
}

/// A disconnect drops the events of the connection that were not fetched, and no other events.
pub(crate) fn no_event_after_disconnect(settings: EndpointSettings) {
    let mut desk = Desk::new(EndpointSettings {
        keepalive_timeout: Some(settings.resend_after),
        ..settings
    });
    let (initiator, acceptor, _) = desk.connect(UU);
    let (second, second_acceptor, _) = desk.connect(UU);
    for connection in [initiator, second] {
        let sent = MessageBytes::Copied(b"x");
        let sent = desk.endpoint(0).send(connection, 5, sent, Flags::default());
        assert!(sent.is_ok());
    }
    for letter in desk.letters(0) {
        desk.deliver(&letter);
    }
    desk.pass(settings.resend_after);
    assert_eq!(desk.endpoint(0).disconnect(initiator), Ok(()));
    assert_eq!(desk.endpoint(1).disconnect(acceptor), Ok(()));
    let sent = EventKind::Send {
        connection: second,
        context: 5,
        status: Status::Success,
    };
    let received = EventKind::Receive {
        connection: second_acceptor,
        message: b"x".to_vec(),
    };
    let silent = |connection| EventKind::KeepaliveTimedOut { connection };
    assert_eq!(desk.events(0), [sent, silent(second)]);
    assert_eq!(desk.events(1), [received, silent(second_acceptor)]);
}

/// The peer is not notified, and notices the end when it uses the connection.
pub(crate) fn disconnect_is_local(settings: EndpointSettings) {
    for &attribute in Attribute::ALL {
        let mut desk = Desk::new(settings);
        let (initiator, acceptor, _) = desk.connect(attribute);
        assert_eq!(desk.endpoint(1).disconnect(acceptor), Ok(()));
        assert_eq!(desk.endpoint(1).stage(acceptor), ConnectionStage::Closed);
        let again = desk.endpoint(1).disconnect(acceptor);
        assert_eq!(again, Err(Error::Disconnected));
        assert_eq!((desk.letters(1), desk.events(0)), (vec![], vec![]));
        assert_eq!(desk.endpoint(0).stage(initiator), ConnectionStage::Open);
        let message = MessageBytes::Copied(b"x");
        let refused = desk
            .endpoint(1)
            .send(acceptor, 1, message, Flags::default());
        assert_eq!(refused, Err(Error::Disconnected));
        desk.send(0, initiator, b"x");
        desk.deliver_all(|_| true);
        assert_eq!(desk.events(1), []);
    }
}

/// Connections of every stage and registered memory are released: the adapter refuses to destroy
/// objects in use.
pub(crate) fn destroy_releases_everything(settings: EndpointSettings) {
    let reliable = Attribute::ReliableOrdered;
    let mut desk = Desk::new(settings);
    desk.acceptance(reliable);
    desk.connect(reliable);
    desk.request(reliable);
    for number in [0, 1] {
        let registered = desk.endpoint(number).rma_register(vec![0; 8], Access::ALL);
        assert!(registered.is_ok());
    }
    assert_eq!(desk.destroy(), [Ok(()), Ok(()), Ok(())]);
}
