//! Cases of operations: calls that are refused and operations that fail, with wrong arguments and
//! flags, buffers that run out, receivers without buffers, silent peers, operations that take too
//! long.

use std::rc::Rc;

use endpoint::simulated::Network;
use endpoint::{
    Access, Attribute, ConnectionId, ConnectionStage, Direction, EndpointSettings, Error,
    EventKind, Flags, MessageBytes, Status, Transfer,
};

use super::desk::Desk;
use super::simulation::{self, advance, connect};

/// Returns the ends of the operations of endpoint 0, as many as asked for.
fn ends(network: &mut Network, count: usize) -> Vec<(u64, Status)> {
    let mut ends = Vec::new();
    while ends.len() < count {
        advance(network);
        let endpoint = network.endpoint(0);
        while let Some(event) = endpoint.get_event().unwrap() {
            if let EventKind::Send {
                context, status, ..
            } = event.kind
            {
                ends.push((context, status));
            }
            endpoint.return_event(event.id).unwrap();
        }
    }
    ends
}

fn send(network: &mut Network, connection: ConnectionId, context: u64) -> Result<(), Error> {
    simulation::send(network, connection, (context, b"x"), Flags::default())
}

pub(crate) fn an_operation_that_takes_too_long_breaks_the_connection(settings: EndpointSettings) {
    let (mut network, connection, other) =
        simulation::connected(Attribute::ReliableOrdered, settings);
    // Half of the first retry of the queue pair.
    let timeout = 2_000_000_000;
    let endpoint = network.endpoint(0);
    endpoint
        .set_send_timeout(Some(connection), Some(timeout))
        .unwrap();
    network.endpoint(1).disconnect(other).unwrap();
    let begin = network.now();
    send(&mut network, connection, 7).unwrap();
    send(&mut network, connection, 8).unwrap();
    let expected = vec![(7, Status::TimedOut), (8, Status::TimedOut)];
    assert_eq!(ends(&mut network, 2), expected);
    assert_eq!(network.now() - begin, timeout);
    assert_eq!(
        network.endpoint(0).stage(connection),
        ConnectionStage::Broken
    );
    let refused = send(&mut network, connection, 9);
    assert_eq!(refused, Err(Error::Disconnected));
}

/// The retries of the queue pair end, too.
pub(crate) fn a_peer_that_does_not_answer(settings: EndpointSettings) {
    let (mut network, connection, other) =
        simulation::connected(Attribute::ReliableOrdered, settings);
    network.endpoint(1).disconnect(other).unwrap();
    send(&mut network, connection, 7).unwrap();
    send(&mut network, connection, 8).unwrap();
    let expected = vec![(7, Status::TimedOut), (8, Status::TimedOut)];
    assert_eq!(ends(&mut network, 2), expected);
    assert_eq!(
        network.endpoint(0).stage(connection),
        ConnectionStage::Broken
    );
}

/// An adapter that fails is reported once.
pub(crate) fn a_failed_adapter_is_reported_once(settings: EndpointSettings) {
    let mut desk = Desk::with_completions(settings, 2);
    let (initiator, _, _) = desk.connect(Attribute::ReliableOrdered);
    for _ in 0..3 {
        desk.send(0, initiator, b"x");
    }
    // The third message has no place in the completion queue.
    assert_eq!(desk.events(1), [EventKind::DeviceFailed]);
    desk.pass(settings.resend_after);
    assert_eq!(desk.events(1), []);
}

/// On a reliable ordered connection all later sends end in order with the same status.
pub(crate) fn a_receiver_without_buffers(settings: EndpointSettings) {
    let mut network = simulation::network(EndpointSettings {
        receive_buffers: 1,
        ..settings
    });
    let (connection, _) = connect(&mut network, Attribute::ReliableOrdered);
    for context in 1..=3 {
        send(&mut network, connection, context).unwrap();
    }
    let not_ready = Status::ReceiverNotReady;
    let expected = vec![(1, Status::Success), (2, not_ready), (3, not_ready)];
    assert_eq!(ends(&mut network, 3), expected);
}

pub(crate) fn buffers_run_out(settings: EndpointSettings) {
    let mut network = simulation::network(EndpointSettings {
        send_buffers: 2,
        receive_buffers: 2,
        ..settings
    });
    let (connection, _) = connect(&mut network, Attribute::ReliableOrdered);
    send(&mut network, connection, 1).unwrap();
    send(&mut network, connection, 2).unwrap();
    let refused = send(&mut network, connection, 3);
    assert_eq!(refused, Err(Error::NoBuffers));
    ends(&mut network, 2);
    let endpoint = network.endpoint(1);
    let first = endpoint.get_event().unwrap().unwrap();
    let second = endpoint.get_event().unwrap().unwrap();
    assert_eq!(endpoint.get_event(), Err(Error::NoBuffers));
    endpoint.return_event(second.id).unwrap();
    assert_eq!(endpoint.get_event(), Ok(None));
    endpoint.return_event(first.id).unwrap();
    let again = endpoint.return_event(first.id);
    assert!(matches!(again, Err(Error::Invalid(_))), "{again:?}");
}

pub(crate) fn lent_messages_and_blocking_sends(settings: EndpointSettings) {
    let (mut network, connection, _) =
        simulation::connected(Attribute::ReliableUnordered, settings);
    let flags = Flags {
        blocking: true,
        ..Flags::default()
    };
    let message = MessageBytes::Lent(Rc::new(b"lent".to_vec()));
    let endpoint = network.endpoint(0);
    let operation = endpoint.send(connection, 1, message, flags).unwrap();
    let mut status = None;
    while status.is_none() {
        advance(&mut network);
        status = network.endpoint(0).blocking_status(operation);
    }
    assert_eq!(status, Some(Status::Success));
    assert_eq!(network.endpoint(0).blocking_status(operation), None);
    assert_eq!(network.endpoint(0).get_event(), Ok(None), "no event");
    let event = network.endpoint(1).get_event().unwrap().unwrap();
    assert!(matches!(event.kind, EventKind::Receive { message, .. } if message == b"lent"));
    // One without bytes.
    let empty = MessageBytes::Lent(Rc::new(Vec::new()));
    let endpoint = network.endpoint(0);
    let sent = endpoint.send(connection, 2, empty, Flags::default());
    assert!(sent.is_ok(), "{sent:?}");
    assert_eq!(ends(&mut network, 1), [(2, Status::Success)]);
}

/// An operation in progress when its connection is disconnected ends with the status disconnected,
/// and an unknown operation has no status.
pub(crate) fn blocking_operations_end_with_the_connection(settings: EndpointSettings) {
    let (mut network, connection, _) = simulation::connected(Attribute::ReliableOrdered, settings);
    let flags = Flags {
        blocking: true,
        ..Flags::default()
    };
    let endpoint = network.endpoint(0);
    let lent = MessageBytes::Lent(Rc::new(b"lent".to_vec()));
    let operations = [MessageBytes::Copied(b"copied"), lent]
        .map(|message| endpoint.send(connection, 1, message, flags).unwrap());
    let mut disconnected = |status| {
        let found = operations.map(|one| endpoint.blocking_status(one));
        assert_eq!(found, [status; 2]);
        endpoint.disconnect(connection)
    };
    assert_eq!(disconnected(None), Ok(()));
    assert!(disconnected(Some(Status::Disconnected)).is_err());
    assert!(disconnected(None).is_err());
    // Lent memory is given back, too.
    assert_eq!(network.destroy_endpoint(0), Ok(()));
}

pub(crate) fn wrong_arguments_are_refused(settings: EndpointSettings) {
    let (mut network, reliable, _) = simulation::connected(Attribute::ReliableUnordered, settings);
    let (unreliable, _) = connect(&mut network, Attribute::UnreliableUnordered);
    let endpoint = network.endpoint(0);
    let long = vec![0; 4097];
    let too_long = endpoint.send(reliable, 1, MessageBytes::Copied(&long), Flags::default());
    assert_eq!(too_long, Err(Error::MessageSize));
    let silent = Flags {
        silent: true,
        ..Flags::default()
    };
    let contradictory = Flags {
        blocking: true,
        ..silent
    };
    let fenced = Flags {
        fence: true,
        ..Flags::default()
    };
    let lent = MessageBytes::Lent(Rc::new(vec![1]));
    for (message, flags) in [
        (MessageBytes::Copied(b"x"), contradictory),
        (MessageBytes::Copied(b"x"), fenced),
        (lent, silent),
    ] {
        let refused = endpoint.send(reliable, 1, message, flags);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    let local = endpoint.rma_register(vec![0; 64], Access::NONE).unwrap();
    let transfer = Transfer {
        direction: Direction::Write,
        local: (local, 0),
        remote: (local, 0),
        length: 8,
    };
    let mut rma = |connection, transfer: Transfer| {
        endpoint.rma(connection, 1, &transfer, None, Flags::default())
    };
    assert!(matches!(rma(unreliable, transfer), Err(Error::Invalid(_))));
    assert_eq!(rma(reliable, transfer), Err(Error::RmaOperation));
    for (length, at) in [(0, 0), (65, 0), (8, 60)] {
        let local = (local, at);
        let outside = Transfer {
            length,
            local,
            ..transfer
        };
        assert!(matches!(rma(reliable, outside), Err(Error::Invalid(_))));
    }
    assert_eq!(endpoint.rma_deregister(local), Ok(vec![0; 64]));
    assert_eq!(endpoint.rma_deregister(local), Err(Error::RmaHandle));
    let unknown = endpoint.rma(reliable, 1, &transfer, None, Flags::default());
    assert_eq!(unknown, Err(Error::RmaHandle));
}
