//! Process groups: a name that is unique in the world, and an address book with the business card
//! of each member.
//!
//! The own group's book is filled from the process manager's key-value store. The book of another
//! group is a copy that a member of that group ships ([`Group::encode_group`]), because this
//! process cannot read the store of that group (N-5).
//!
//! *Not modelled*: the process manager. A card that is not in the book makes a connect fail.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::Peer;

/// A process group as one process sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    name: Rc<str>,
    size: u32,
    cards: AddressBook,
    /// Virtual connections to the group that communicators refer to.
    pub(super) in_use: u32,
    /// No new connection is opened or accepted.
    pub(super) finalizing: bool,
}

/// The business cards of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
enum AddressBook {
    Book(Rc<BTreeMap<u32, String>>),
    /// The card of each process is its rank.
    Ranks,
}

impl Hash for Group {
    /// The name stands for size and cards.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.name, self.in_use, self.finalizing).hash(hasher);
    }
}

impl Group {
    /// A group of `size` processes with the business cards that are known.
    pub fn new(name: &str, size: u32, cards: impl IntoIterator<Item = (u32, String)>) -> Self {
        Self {
            name: name.into(),
            size,
            cards: AddressBook::Book(Rc::new(cards.into_iter().collect())),
            in_use: 0,
            finalizing: false,
        }
    }

    /// Returns a group of `size` processes with their ranks as business cards, without a table.
    pub fn of_ranks(name: &str, size: u32) -> Self {
        Self {
            cards: AddressBook::Ranks,
            ..Self::new(name, size, [])
        }
    }

    /// Returns the name of the group.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of processes of the group.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The business card of a member.
    #[must_use]
    pub fn card(&self, rank: u32) -> Option<Cow<'_, str>> {
        match &self.cards {
            AddressBook::Book(book) => book.get(&rank).map(|card| card.as_str().into()),
            AddressBook::Ranks => (rank < self.size).then(|| rank.to_string().into()),
        }
    }

    /// Returns the message with the data that a member of another group needs.
    #[must_use]
    pub fn encode_group(&self) -> Self {
        Self {
            in_use: 0,
            finalizing: false,
            ..self.clone()
        }
    }

    /// The last reference is gone: the book is not needed any more.
    pub(super) fn destroy_book(&mut self) {
        self.cards = AddressBook::Book(Rc::default());
    }
}

/// The groups that a process knows; group 0 is the own one.
#[derive(Clone, Hash, Debug)]
pub(super) struct KnownGroups {
    /// The rank in the own group.
    pub(super) rank: u32,
    pub(super) all: Vec<Group>,
}

impl KnownGroups {
    /// Returns the groups of a process that knows only the own group.
    pub(super) fn new(own: Group, rank: u32) -> Self {
        let all = vec![own];
        Self { rank, all }
    }

    /// Returns the name of this process in its own group.
    pub(super) const fn own_name(&self) -> Peer {
        Peer::Member {
            group: 0,
            rank: self.rank,
        }
    }

    /// Returns another process, by the name of the group and the rank.
    pub(super) fn find_member(&self, group: &str, rank: u32) -> Option<Peer> {
        let known = self.all.iter().position(|known| known.name() == group);
        let number = known.filter(|&number| rank < self.all[number].size())?;
        let peer = Peer::Member {
            group: u32::try_from(number).expect("groups are counted in 32 bits"),
            rank,
        };
        (peer != self.own_name()).then_some(peer)
    }
}
