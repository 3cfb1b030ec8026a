//! Cases of messages: rings of send and receive buffers, order, flags.

use std::rc::Rc;

use endpoint::{
    Access, Attribute, Direction, EndpointSettings, Error, EventKind, Flags, MessageBytes, Transfer,
};

use super::simulation::{advance, connect, connected, network, run, send, successes};

const RELIABLE: [Attribute; 2] = [Attribute::ReliableOrdered, Attribute::ReliableUnordered];

/// Returns a message of a number.
fn numbered(number: u64) -> Vec<u8> {
    format!("message {number}").into_bytes()
}

/// As many messages as buffers can be in flight, each with its own bytes, in each of three rounds.
pub(crate) fn all_send_buffers_are_used(settings: EndpointSettings) {
    for (attribute, send_buffers) in RELIABLE.into_iter().zip([1, 5]) {
        let mut network = network(EndpointSettings {
            send_buffers,
            ..settings
        });
        let (connection, _) = connect(&mut network, attribute);
        for round in 0..3 {
            let numbers = round * 10..round * 10 + u64::from(send_buffers);
            for number in numbers.clone() {
                let message = (number, &numbered(number)[..]);
                let sent = send(&mut network, connection, message, Flags::default());
                assert_eq!(sent, Ok(()), "{number}");
            }
            let refused = send(&mut network, connection, (99, b"x"), Flags::default());
            assert_eq!(refused, Err(Error::NoBuffers));
            let observed = run(&mut network);
            assert_eq!(observed.ends, successes(numbers.clone()));
            assert_eq!(observed.received, numbers.map(numbered).collect::<Vec<_>>());
        }
    }
}

/// Twice as many messages as buffers (lent ones take none), and as many transfers as buffers, each
/// with a completion message, can be under way.
pub(crate) fn all_work_requests_fit(settings: EndpointSettings) {
    let send_buffers = 20;
    let mut network = network(EndpointSettings {
        send_buffers,
        receive_buffers: 64,
        ..settings
    });
    let (connection, _) = connect(&mut network, Attribute::ReliableOrdered);
    let remote = network.endpoint(1).rma_register(vec![0; 8], Access::ALL);
    let endpoint = network.endpoint(0);
    let local = endpoint.rma_register(vec![7; 8], Access::NONE).unwrap();
    let transfer = Transfer {
        direction: Direction::Write,
        local: (local, 0),
        remote: (remote.unwrap(), 0),
        length: 8,
    };
    let buffers = u64::from(send_buffers);
    for round in 0..2 {
        let endpoint = network.endpoint(0);
        let lent = |number| MessageBytes::Lent(Rc::new(numbered(number)));
        for number in 0..2 * buffers {
            let sent = endpoint.send(connection, number, lent(number), Flags::default());
            assert!(sent.is_ok(), "{round}: message {number}: {sent:?}");
        }
        let refused = endpoint.send(connection, 99, lent(99), Flags::default());
        assert_eq!(refused, Err(Error::NoBuffers));
        let (transfers, message) = (2 * buffers..3 * buffers, Some(&b"done"[..]));
        for number in transfers {
            let begun = endpoint.rma(connection, number, &transfer, message, Flags::default());
            assert!(begun.is_ok(), "{round}: transfer {number}: {begun:?}");
        }
        let refused = endpoint.rma(connection, 99, &transfer, None, Flags::default());
        assert_eq!(refused, Err(Error::NoBuffers));
        let observed = run(&mut network);
        assert_eq!(observed.ends, successes(0..3 * buffers));
        let messages = (0..2 * buffers).map(numbered);
        let messages = messages.chain((0..buffers).map(|_| b"done".to_vec()));
        assert_eq!(observed.received, messages.collect::<Vec<_>>());
    }
}

/// As many messages as buffers wait for the program, and buffers come back in any order.
pub(crate) fn all_receive_buffers_are_used(settings: EndpointSettings) {
    for receive_buffers in [1, 4, 16, 17, 100] {
        let mut network = network(EndpointSettings {
            send_buffers: 100,
            receive_buffers,
            ..settings
        });
        let (connection, _) = connect(&mut network, Attribute::ReliableOrdered);
        let count = u64::from(receive_buffers);
        for round in 0..3 {
            let numbers = round * count..(round + 1) * count;
            for number in numbers.clone() {
                let message = (number, &numbered(number)[..]);
                send(&mut network, connection, message, Flags::default()).unwrap();
            }
            let mut borrowed = Vec::new();
            while borrowed.len() < receive_buffers as usize {
                match network.endpoint(1).get_event() {
                    Ok(Some(event)) => borrowed.push(event),
                    Ok(None) => advance(&mut network),
                    Err(error) => panic!("{} of {receive_buffers}: {error}", borrowed.len()),
                }
            }
            let endpoint = network.endpoint(1);
            assert_eq!(endpoint.get_event(), Err(Error::NoBuffers));
            assert_eq!(endpoint.borrowed_events(), borrowed.len());
            let middle = borrowed.len() / 2;
            borrowed.rotate_left(middle);
            for event in &borrowed {
                assert_eq!(endpoint.return_event(event.id), Ok(()));
                assert_eq!(endpoint.get_event(), Ok(None));
            }
            borrowed.rotate_right(middle);
            for (number, event) in numbers.clone().zip(borrowed) {
                let EventKind::Receive { message, .. } = event.kind else {
                    panic!("{event:?}");
                };
                assert_eq!(message, numbered(number));
            }
            assert_eq!(run(&mut network).ends, successes(numbers));
        }
    }
}

/// A connection that has ended lends no buffers any more; another one that does still counts.
pub(crate) fn disconnected_connections_lend_no_buffers(settings: EndpointSettings) {
    let mut network = network(EndpointSettings {
        receive_buffers: 1,
        ..settings
    });
    let connections = [(); 2].map(|()| connect(&mut network, Attribute::ReliableOrdered));
    let mut borrowed = Vec::new();
    for (initiator, _) in connections {
        send(&mut network, initiator, (1, b"x"), Flags::default()).unwrap();
        let event = loop {
            match network.endpoint(1).get_event() {
                Ok(Some(event)) => break event,
                _ => advance(&mut network),
            }
        };
        borrowed.push(event.id);
    }
    assert_ne!(borrowed[0], borrowed[1]);
    let endpoint = network.endpoint(1);
    assert_eq!(endpoint.get_event(), Err(Error::NoBuffers));
    assert_eq!(endpoint.disconnect(connections[0].1), Ok(()));
    assert_eq!(endpoint.get_event(), Err(Error::NoBuffers));
    assert_eq!(endpoint.disconnect(connections[1].1), Ok(()));
    assert_eq!(endpoint.get_event(), Ok(None));
    // Their events are still returned, each once.
    assert_eq!(endpoint.return_event(borrowed[0]), Ok(()));
    let again = endpoint.return_event(borrowed[0]);
    assert!(matches!(again, Err(Error::Invalid(_))), "{again:?}");
    assert_eq!(endpoint.return_event(borrowed[1]), Ok(()));
}

/// A connection without free buffers takes none of another one.
pub(crate) fn several_connections_have_buffers_of_their_own(settings: EndpointSettings) {
    let mut network = network(EndpointSettings {
        send_buffers: 1,
        receive_buffers: 1,
        ..settings
    });
    let connections = [(); 3].map(|()| connect(&mut network, Attribute::ReliableOrdered).0);
    for (context, connection) in (0..).zip(connections) {
        let sent = send(&mut network, connection, (context, b"x"), Flags::default());
        assert_eq!(sent, Ok(()));
        let refused = send(&mut network, connection, (9, b"x"), Flags::default());
        assert_eq!(refused, Err(Error::NoBuffers));
    }
    let observed = run(&mut network);
    assert_eq!(observed.received.len(), 3);
    assert_eq!(observed.ends, successes(0..3));
}

pub(crate) fn the_longest_message(settings: EndpointSettings) {
    for &attribute in Attribute::ALL {
        let mut network = network(EndpointSettings {
            max_send_size: 100,
            ..settings
        });
        let (connection, _) = connect(&mut network, attribute);
        let message: Vec<u8> = (0..100).collect();
        for length in [0, 1, 99, 100] {
            let message = (length as u64, &message[..length]);
            send(&mut network, connection, message, Flags::default()).unwrap();
        }
        let long = send(&mut network, connection, (9, &[0; 101]), Flags::default());
        assert_eq!(long, Err(Error::MessageSize));
        let observed = run(&mut network);
        assert_eq!(observed.ends, successes([0, 1, 99, 100]));
        let expected = [0, 1, 99, 100].map(|length| message[..length].to_vec());
        assert_eq!(observed.received, expected);
    }
}

/// Messages and ends of operations keep the order of the calls, lent messages and copies mixed.
pub(crate) fn messages_and_completions_in_order(settings: EndpointSettings) {
    for attribute in RELIABLE {
        let (mut network, connection, _) = connected(attribute, settings);
        let numbers = 0..u64::from(settings.send_buffers);
        for number in numbers.clone() {
            let bytes = numbered(number);
            let message = if number % 3 == 0 {
                MessageBytes::Lent(Rc::new(bytes.clone()))
            } else {
                MessageBytes::Copied(&bytes)
            };
            let endpoint = network.endpoint(0);
            let sent = endpoint.send(connection, number, message, Flags::default());
            assert!(sent.is_ok(), "{number}");
        }
        let observed = run(&mut network);
        assert_eq!(observed.ends, successes(numbers.clone()));
        assert_eq!(observed.received, numbers.map(numbered).collect::<Vec<_>>());
    }
}

/// A silent operation has no event, and the message of the operation arrives.
pub(crate) fn silent_operations(settings: EndpointSettings) {
    let silent = Flags {
        silent: true,
        ..Flags::default()
    };
    for &attribute in Attribute::ALL {
        let (mut network, connection, _) = connected(attribute, settings);
        for (context, flags) in [(1, silent), (2, Flags::default()), (3, silent)] {
            send(&mut network, connection, (context, b"x"), flags).unwrap();
        }
        if attribute == Attribute::ReliableOrdered {
            let lent = MessageBytes::Lent(Rc::new(b"x".to_vec()));
            let sent = network.endpoint(0).send(connection, 4, lent, silent);
            assert!(sent.is_ok(), "{sent:?}");
        }
        let observed = run(&mut network);
        assert_eq!(observed.ends, successes([2]));
        let lent = usize::from(attribute == Attribute::ReliableOrdered);
        assert_eq!(observed.received, vec![b"x".to_vec(); 3 + lent]);
    }
}

/// The end of an unreliable send says nothing about the peer, and is reported at once.
pub(crate) fn unreliable_messages(settings: EndpointSettings) {
    let (mut network, connection, acceptor) = connected(Attribute::UnreliableUnordered, settings);
    let begin = network.now();
    for number in 0..100 {
        let message = (number, &numbered(number)[..]);
        send(&mut network, connection, message, Flags::default()).unwrap();
        let event = network.endpoint(0).get_event().unwrap().unwrap();
        assert!(
            matches!(event.kind, EventKind::Send { context, .. } if context == number),
            "{event:?}"
        );
        network.endpoint(0).return_event(event.id).unwrap();
    }
    assert_eq!(network.now(), begin);
    let observed = run(&mut network);
    assert_eq!(observed.ends, []);
    assert_eq!(
        observed.received,
        (0..100).map(numbered).collect::<Vec<_>>()
    );
    // The peer has gone: the end is the same.
    network.endpoint(1).disconnect(acceptor).unwrap();
    send(&mut network, connection, (1, b"x"), Flags::default()).unwrap();
    let observed = run(&mut network);
    assert_eq!(
        (observed.ends, observed.received.len()),
        (successes([1]), 0)
    );
}
