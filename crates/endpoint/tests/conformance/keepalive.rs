//! Cases of the supervision of peers.

use endpoint::{Attribute, ConnectionId, ConnectionStage, EndpointSettings, Error, EventKind};

use super::desk::{Desk, Letter, MESSAGE, PING, PONG};

/// Time of silence after which a peer is reported, in picoseconds: 4 ms.
const TIMEOUT: u64 = 4_000_000_000;

fn silent(connection: ConnectionId) -> EventKind {
    EventKind::KeepaliveTimedOut { connection }
}

/// Returns settings with supervision of new connections.
fn supervised(settings: EndpointSettings) -> EndpointSettings {
    EndpointSettings {
        keepalive_timeout: Some(TIMEOUT),
        ..settings
    }
}

/// The connection stays, and is not supervised any more.
pub(crate) fn a_silent_peer_is_reported_once(settings: EndpointSettings) {
    for &attribute in Attribute::ALL {
        let mut desk = Desk::new(supervised(settings));
        let (initiator, acceptor, _) = desk.connect(attribute);
        desk.pass(TIMEOUT - 1);
        assert_eq!((desk.events(0), desk.events(1)), (vec![], vec![]));
        desk.pass(1);
        assert_eq!(desk.events(0), [silent(initiator)]);
        assert_eq!(desk.events(1), [silent(acceptor)]);
        for number in [0, 1] {
            desk.letters(number);
            assert_eq!(desk.endpoint(number).next_timeout(), None);
        }
        assert_eq!(desk.endpoint(0).stage(initiator), ConnectionStage::Open);
        desk.send(0, initiator, b"x");
        desk.deliver_all(|_| true);
        assert_eq!(desk.events(1).len(), 1);
    }
}

/// Signs of life that a case delivers; all other datagrams are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    None,
    /// Pings of the peer.
    Ping,
    /// Answers of the peer to our pings.
    Pong,
    /// Messages of the peer.
    Message(Attribute),
}

impl Sign {
    fn delivers(self, letter: &Letter) -> bool {
        matches!(
            (self, letter.kind(), letter.from),
            (Self::Ping, PING, 1)
                | (Self::Pong, PING, 0)
                | (Self::Pong, PONG, 1)
                | (Self::Message(_), MESSAGE, _)
        )
    }
}

/// A ping, an answer to a ping and a message of any attribute are signs of life, each by itself;
/// datagrams of a stranger are none.
pub(crate) fn every_sign_of_life_counts(settings: EndpointSettings) {
    let messages = Attribute::ALL.iter().copied().map(Sign::Message);
    for sign in [Sign::None, Sign::Ping, Sign::Pong]
        .into_iter()
        .chain(messages)
    {
        let mut desk = Desk::new(settings);
        let (initiator, acceptor, _) = desk.connect(match sign {
            Sign::Message(attribute) => attribute,
            _ => Attribute::UnreliableUnordered,
        });
        desk.supervise(0, Some(initiator), Some(TIMEOUT));
        for round in 1..=20 {
            match sign {
                // Each time anew, since its pings are not answered.
                Sign::Ping => desk.supervise(1, Some(acceptor), Some(2 * TIMEOUT)),
                Sign::Message(_) => desk.send(1, acceptor, b"x"),
                _ => {}
            }
            desk.pass(TIMEOUT / 2);
            desk.deliver_all(|letter| sign.delivers(letter));
            let is_reported = desk.events(0).contains(&silent(initiator));
            assert_eq!(is_reported, sign == Sign::None && round == 2, "{sign:?}");
            desk.events(1);
        }
    }
    strangers_give_no_sign(settings);
}

fn strangers_give_no_sign(settings: EndpointSettings) {
    let mut desk = Desk::new(supervised(settings));
    let (initiator, _, _) = desk.connect(Attribute::UnreliableUnordered);
    for _ in 0..4 {
        desk.pass(TIMEOUT / 4);
        desk.letters(0);
        for letter in desk.letters(1) {
            desk.deliver_from(2, &letter);
        }
        // A ping of a stranger is not answered.
        assert_eq!(desk.letters(0), []);
    }
    assert_eq!(desk.events(0), [silent(initiator)]);
}

/// Supervision can be set for one connection and for all present and future ones, and can be ended.
pub(crate) fn supervision_begins_and_ends(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let uu = Attribute::UnreliableUnordered;
    let (first, _, _) = desk.connect(uu);
    let (second, _, _) = desk.connect(uu);
    let endpoint = desk.endpoint(0);
    let zero = endpoint.set_keepalive_timeout(None, Some(0));
    assert!(matches!(zero, Err(Error::Invalid(_))), "{zero:?}");
    desk.supervise(0, Some(second), Some(TIMEOUT));
    desk.pass(TIMEOUT);
    assert_eq!(desk.events(0), [silent(second)]);
    desk.supervise(0, None, Some(TIMEOUT));
    desk.supervise(0, Some(second), None);
    desk.letters(0);
    let (third, _, _) = desk.connect(uu);
    desk.pass(TIMEOUT);
    assert_eq!(desk.events(0), [silent(first), silent(third)]);
    // A connection of endpoint 1 with a number that endpoint 0 has not.
    desk.endpoint(0).disconnect(third).unwrap();
    let unknown = desk
        .endpoint(0)
        .set_keepalive_timeout(Some(third), Some(TIMEOUT));
    assert_eq!(unknown, Err(Error::Disconnected));
    // A connection in the handshake is supervised from its begin on only.
    let mut desk = Desk::new(settings);
    desk.request(uu);
    desk.supervise(0, None, Some(TIMEOUT));
    desk.pass(2 * TIMEOUT);
    assert_eq!(desk.events(0), []);
}

pub(crate) fn four_pings_in_each_timeout(settings: EndpointSettings) {
    let mut desk = Desk::new(settings);
    let (connection, _, _) = desk.connect(Attribute::ReliableOrdered);
    desk.supervise(0, Some(connection), Some(TIMEOUT));
    for _ in 0..12 {
        let next = desk.endpoint(0).next_timeout();
        assert_eq!(next, Some(desk.now() + TIMEOUT / 4));
        desk.pass(TIMEOUT / 4 - 1);
        assert_eq!(desk.letters(0), []);
        desk.pass(1);
        desk.carry(0, PING);
        desk.carry(1, PONG);
        assert_eq!((desk.events(0), desk.letters(0)), (vec![], vec![]));
    }
    // Without answers the third ping is the last one.
    for _ in 0..3 {
        desk.pass(TIMEOUT / 4);
        desk.letter(0, PING);
    }
    desk.pass(TIMEOUT / 4);
    assert_eq!(desk.letters(0), []);
    assert_eq!(desk.events(0), [silent(connection)]);
}
