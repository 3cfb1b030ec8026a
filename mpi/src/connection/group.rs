//! Process groups: a name that is unique in the world, and an address book with the business card of each member.
//!
//! The own group's book is filled from the process manager's key-value store. Another group's book comes as a copy that one
//! of its members ships ([`Group::ship`]), because its store cannot be asked from here (N-5).
//!
//! *Not modelled*: the process manager. A card that is not in the book makes a connect fail.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A process group as one process sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    name: Rc<str>,
    size: u32,
    cards: Rc<BTreeMap<u32, String>>,
    /// Virtual connections to it that communicators refer to.
    pub(super) in_use: u32,
    /// Nothing new is opened or accepted.
    pub(super) finalizing: bool,
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
            cards: Rc::new(cards.into_iter().collect()),
            in_use: 0,
            finalizing: false,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its processes.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The business card of a member.
    #[must_use]
    pub fn card(&self, rank: u32) -> Option<&str> {
        self.cards.get(&rank).map(String::as_str)
    }

    /// What a member of another group needs to know.
    #[must_use]
    pub fn ship(&self) -> Self {
        Self {
            in_use: 0,
            finalizing: false,
            ..self.clone()
        }
    }

    /// The last reference is gone: the book is not needed any more.
    pub(super) fn destroy(&mut self) {
        self.cards = Rc::default();
    }
}
