//! Cases of remote memory access: places, order, completion messages, handles, failures.

use endpoint::simulated::Network;
use endpoint::{
    Access, Attribute, ConnectionId, ConnectionStage, Direction, EndpointSettings, Error, Flags,
    RmaHandle, Status, Transfer,
};

use super::simulation::{connect, network, run, run_watched, send, successes};

/// Bytes of registered memory.
const LENGTH: usize = 3000;

/// A connection between two endpoints with registered memory.
struct Memories {
    network: Network,
    connection: ConnectionId,
    local: RmaHandle,
    remote: RmaHandle,
}

/// Returns the byte of a memory at a position.
fn pattern(seed: u8, at: usize) -> u8 {
    (at % 251) as u8 ^ seed
}

fn register(network: &mut Network, number: u32, seed: u8) -> RmaHandle {
    let memory = (0..LENGTH).map(|at| pattern(seed, at)).collect();
    let endpoint = network.endpoint(number);
    let handle = endpoint.rma_register(memory, Access::ALL).unwrap();
    // Handles travel as bytes.
    RmaHandle::from_bytes(handle.to_bytes())
}

impl Memories {
    fn new(settings: EndpointSettings) -> Self {
        let mut network = network(settings);
        let (connection, _) = connect(&mut network, Attribute::ReliableOrdered);
        Self {
            local: register(&mut network, 0, 0),
            remote: register(&mut network, 1, 0xFF),
            network,
            connection,
        }
    }

    /// Returns a transfer between offsets in local and remote memory.
    fn transfer(&self, direction: Direction, at: (u64, u64), length: u64) -> Transfer {
        Transfer {
            direction,
            local: (self.local, at.0),
            remote: (self.remote, at.1),
            length,
        }
    }

    fn begin(&mut self, context: u64, transfer: &Transfer, message: Option<&[u8]>, flags: Flags) {
        let endpoint = self.network.endpoint(0);
        let begun = endpoint.rma(self.connection, context, transfer, message, flags);
        assert!(begun.is_ok(), "{context}: {begun:?}");
    }

    fn content(&mut self, number: u32) -> Vec<u8> {
        let handle = [self.local, self.remote][number as usize];
        content(&mut self.network, number, handle)
    }
}

fn content(network: &mut Network, number: u32, handle: RmaHandle) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    let endpoint = network.endpoint(number);
    endpoint.rma_content(handle, 0, &mut bytes).unwrap();
    bytes
}

/// Returns a memory with a range of another one: both patterns, and where the range is in each.
fn with_range(seeds: (u8, u8), to: usize, from: usize, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..LENGTH).map(|at| pattern(seeds.0, at)).collect();
    for at in 0..length {
        bytes[to + at] = pattern(seeds.1, from + at);
    }
    bytes
}

/// Offsets and lengths of transfers: within a packet, over packets, and all of the memory.
const PLACES: [(u64, u64, u64); 4] = [(100, 7, 1), (3, 1024, 500), (11, 5, 2900), (0, 0, 3000)];

pub(crate) fn transfers_at_offsets(settings: EndpointSettings) {
    let directions = [(Direction::Write, (0, 0)), (Direction::Read, (1, 0xFF))];
    for ((direction, (source, seed)), (from, to, length)) in directions
        .into_iter()
        .flat_map(|one| PLACES.map(|place| (one, place)))
    {
        let mut memories = Memories::new(settings);
        let offsets = [(from, to), (to, from)][source as usize];
        let transfer = memories.transfer(direction, offsets, length);
        memories.begin(1, &transfer, None, Flags::default());
        assert_eq!(run(&mut memories.network).ends, successes([1]));
        let seeds = (seed ^ 0xFF, seed);
        let expected = with_range(seeds, to as usize, from as usize, length as usize);
        let case = format!("{direction:?}, {from}, {to}, {length}");
        assert!(memories.content(1 - source) == expected, "{case}");
        assert!(
            memories.content(source) == with_range((seed, seed), 0, 0, 0),
            "{case}"
        );
    }
}

/// The peer receives the completion message when the data is in place, and in order with the
/// earlier and later messages.
pub(crate) fn completion_messages_follow_the_data(settings: EndpointSettings) {
    for direction in [Direction::Write, Direction::Read] {
        let mut memories = Memories::new(settings);
        let transfer = memories.transfer(direction, (0, 0), LENGTH as u64);
        let (connection, flags) = (memories.connection, Flags::default());
        send(&mut memories.network, connection, (1, b"before"), flags).unwrap();
        memories.begin(2, &transfer, Some(b"data"), flags);
        send(&mut memories.network, connection, (3, b"behind"), flags).unwrap();
        let (to, handle, seed) = match direction {
            Direction::Write => (1, memories.remote, 0),
            Direction::Read => (0, memories.local, 0xFF),
        };
        let mut arrivals = 0;
        let observed = run_watched(&mut memories.network, |network| {
            arrivals += 1;
            if arrivals == 2 {
                let expected = with_range((seed, seed), 0, 0, 0);
                assert!(content(network, to, handle) == expected, "{direction:?}");
            }
        });
        assert_eq!(observed.ends, successes(1..=3));
        let messages: [&[u8]; 3] = [b"before", b"data", b"behind"];
        assert_eq!(observed.received, messages);
    }
}

/// The buffer of a completion message can be used again at once, and a message may be empty or as
/// long as any other.
pub(crate) fn completion_messages_are_copied(settings: EndpointSettings) {
    let mut memories = Memories::new(settings);
    let transfer = memories.transfer(Direction::Write, (0, 0), 8);
    let long = vec![3; settings.max_send_size as usize];
    let messages: [&[u8]; 4] = [b"one", b"two", b"", &long];
    for (context, message) in (0..).zip(messages) {
        memories.begin(context, &transfer, Some(message), Flags::default());
    }
    let longer = vec![3; settings.max_send_size as usize + 1];
    let endpoint = memories.network.endpoint(0);
    let refused = endpoint.rma(
        memories.connection,
        9,
        &transfer,
        Some(&longer),
        Flags::default(),
    );
    assert_eq!(refused, Err(Error::MessageSize));
    let observed = run(&mut memories.network);
    assert_eq!(observed.ends, successes(0..4));
    assert_eq!(observed.received, messages);
}

/// A fenced write waits for the data of the read before it; so does a write after a fenced read.
/// Without a fence a write does not wait for the read. Transfers after a fenced write do not wait.
pub(crate) fn a_fence_orders_transfers(settings: EndpointSettings) {
    let fenced = Flags {
        fence: true,
        ..Flags::default()
    };
    let none = Flags::default();
    let mut durations = Vec::new();
    for flags in [[none; 3], [none, fenced, none], [fenced, none, none]] {
        let mut memories = Memories::new(settings);
        let begin = memories.network.now();
        let read = memories.transfer(Direction::Read, (0, 0), 1000);
        let write = memories.transfer(Direction::Write, (0, 2000), 1000);
        memories.begin(1, &read, None, flags[0]);
        memories.begin(2, &write, None, flags[1]);
        memories.begin(3, &read, None, flags[2]);
        let observed = run(&mut memories.network);
        assert_eq!(observed.ends, successes([1, 2, 3]));
        durations.push(memories.network.now() - begin);
        if flags != [none; 3] {
            let expected = with_range((0xFF, 0xFF), 2000, 0, 1000);
            assert!(memories.content(1) == expected, "{flags:?}");
        }
    }
    // One round trip, and one more behind a fence.
    assert_eq!(durations, [1, 2, 2].map(|trips| trips * durations[0]));
}

pub(crate) fn each_transfer_uses_its_own_handle(settings: EndpointSettings) {
    let mut memories = Memories::new(settings);
    let second = register(&mut memories.network, 1, 0x55);
    let transfer = memories.transfer(Direction::Write, (0, 0), 1000);
    let other = Transfer {
        remote: (second, 2000),
        ..transfer
    };
    memories.begin(1, &transfer, None, Flags::default());
    memories.begin(2, &other, None, Flags::default());
    assert_eq!(run(&mut memories.network).ends, successes([1, 2]));
    assert!(memories.content(1) == with_range((0xFF, 0), 0, 0, 1000));
    let content = content(&mut memories.network, 1, second);
    assert!(content == with_range((0x55, 0), 2000, 0, 1000));
}

/// The transfer fails once, with its status; the connection is broken, and later operations fail.
pub(crate) fn deregistered_memory_is_not_accessed(settings: EndpointSettings) {
    for direction in [Direction::Write, Direction::Read] {
        let mut memories = Memories::new(settings);
        let deregistered = memories.network.endpoint(1).rma_deregister(memories.remote);
        assert_eq!(deregistered, Ok(with_range((0xFF, 0xFF), 0, 0, 0)));
        let again = memories.network.endpoint(1).rma_deregister(memories.remote);
        assert_eq!(again, Err(Error::RmaHandle));
        let transfer = memories.transfer(direction, (0, 0), 8);
        memories.begin(1, &transfer, Some(b"never"), Flags::default());
        let observed = run(&mut memories.network);
        assert_eq!(observed.ends, [(1, Status::RmaHandle)]);
        assert!(observed.received.is_empty());
        let endpoint = memories.network.endpoint(0);
        assert_eq!(endpoint.stage(memories.connection), ConnectionStage::Broken);
        let connection = memories.connection;
        let flags = Flags::default();
        let refused = endpoint.rma(connection, 2, &transfer, None, flags);
        assert_eq!(refused, Err(Error::Disconnected));
        let refused = send(&mut memories.network, connection, (3, b"x"), flags);
        assert_eq!(refused, Err(Error::Disconnected));
    }
}

pub(crate) fn rights_and_bounds_are_checked(settings: EndpointSettings) {
    let mut memories = Memories::new(settings);
    let length = LENGTH as u64;
    let (read, write) = (Direction::Read, Direction::Write);
    let mut only = |access| {
        let endpoint = memories.network.endpoint(1);
        endpoint.rma_register(vec![0; LENGTH], access).unwrap()
    };
    let (readable, writable) = (only(Access::REMOTE_READ), only(Access::REMOTE_WRITE));
    let (local, remote, connection) = (memories.local, memories.remote, memories.connection);
    let endpoint = memories.network.endpoint(0);
    let mut result = |direction, local, remote, length| {
        let transfer = Transfer {
            direction,
            local,
            remote,
            length,
        };
        let begun = endpoint.rma(connection, 1, &transfer, None, Flags::default());
        begun.map(|_| ())
    };
    assert_eq!(result(read, (local, 0), (readable, 0), 8), Ok(()));
    assert_eq!(result(write, (local, 0), (writable, 0), 8), Ok(()));
    let no_right = Err(Error::RmaOperation);
    assert_eq!(result(write, (local, 0), (readable, 0), 8), no_right);
    assert_eq!(result(read, (local, 0), (writable, 0), 8), no_right);
    // The last byte of both, and one more of either.
    let last = (length - 8, length - 8);
    for direction in [read, write] {
        assert_eq!(
            result(direction, (local, last.0), (remote, last.1), 8),
            Ok(())
        );
        for (from, to) in [
            (last.0 + 1, last.1),
            (last.0, last.1 + 1),
            (u64::MAX, 0),
            (0, u64::MAX),
        ] {
            let outside = result(direction, (local, from), (remote, to), 8);
            assert!(matches!(outside, Err(Error::Invalid(_))), "{outside:?}");
        }
    }
    // A handle of the other endpoint is not one of local memory.
    let unknown = result(read, (RmaHandle::from_bytes([9; 32]), 0), (remote, 0), 8);
    assert_eq!(unknown, Err(Error::RmaHandle));
    let empty = endpoint.rma_register(Vec::new(), Access::ALL);
    assert!(matches!(empty, Err(Error::Invalid(_))), "{empty:?}");
    let mut bytes = [0; 8];
    assert_eq!(endpoint.rma_fill(local, 5, b"filled"), Ok(()));
    assert_eq!(endpoint.rma_content(local, 4, &mut bytes), Ok(()));
    assert_eq!(&bytes[1..7], b"filled");
    assert!(endpoint.rma_fill(local, length - 5, b"filled").is_err());
    assert!(endpoint.rma_content(local, length - 7, &mut bytes).is_err());
}
