//! Names that other libraries give to algorithms.
//!
//! An alias is written with its library, such as `smpi:lr` or `openmpi:knomial`, and may set the
//! parameters of the algorithm.

use crate::{Algorithm, Call, Collective, find as find_algorithm};

mod intel;
mod mpich;
mod mvapich2;
mod nccl;
mod openmpi;
mod smpi;

/// A name of another library.
#[derive(Debug)]
pub struct Alias {
    /// The kind of operation.
    pub collective: Collective,
    /// The name in that library.
    pub name: &'static str,
    /// Our name of the algorithm.
    pub algorithm: &'static str,
    /// Returns our name of the algorithm, if it depends on the call.
    pub choose: Option<fn(&Call) -> &'static str>,
    /// The algorithms of its parts, if it consists of others.
    pub parts: &'static [&'static str],
    /// True if the library finds out the nodes of the ranks by messages before its first call.
    pub asks_nodes: bool,
    /// Sets the parameters that the library uses for a call.
    pub adjust: fn(&mut Call),
}

impl Alias {
    /// An alias without parameters.
    pub(crate) const fn plain(
        collective: Collective,
        name: &'static str,
        algorithm: &'static str,
    ) -> Self {
        Self {
            collective,
            name,
            algorithm,
            choose: None,
            parts: &[],
            asks_nodes: false,
            adjust: |_| {},
        }
    }

    /// An alias without parameters of an algorithm for which the library finds out the nodes.
    pub(crate) const fn asking(
        collective: Collective,
        name: &'static str,
        algorithm: &'static str,
    ) -> Self {
        Self {
            asks_nodes: true,
            ..Self::plain(collective, name, algorithm)
        }
    }

    /// Sets parameters and parts of a call. Returns the algorithm that executes it: a fallback if
    /// the named one cannot.
    ///
    /// # Panics
    /// If the table names an algorithm that does not exist.
    #[must_use]
    pub fn apply(&self, call: &mut Call) -> &'static Algorithm {
        let named = |collective, name: &str| {
            find_algorithm(collective, name)
                .unwrap_or_else(|| panic!("{collective} by {name} is in the table of algorithms"))
        };
        (self.adjust)(call);
        let name = self.choose.map_or(self.algorithm, |choose| choose(call));
        let mut algorithm = named(self.collective, name);
        loop {
            for (number, (kind, name)) in algorithm.part_kinds().zip(self.parts).enumerate() {
                call.parts[number] = Some(named(kind, name));
            }
            if algorithm.suits(call) || algorithm.fallback.is_empty() {
                return algorithm;
            }
            algorithm = named(self.collective, algorithm.fallback);
        }
    }
}

/// The libraries and their names.
const LIBRARIES: &[(&str, &[&[Alias]])] = &[
    ("smpi", smpi::ALL),
    ("openmpi", openmpi::ALL),
    ("mpich", mpich::ALL),
    ("mvapich2", mvapich2::ALL),
    ("intel", intel::ALL),
    ("nccl", nccl::ALL),
];

/// Returns all aliases of an operation, written `library:name`.
pub fn names(collective: Collective) -> impl Iterator<Item = String> {
    let of_library = |(library, tables): &'static (&str, &[&[Alias]])| {
        let all = tables.iter().copied().flatten();
        all.map(move |alias| (*library, alias))
    };
    let all = LIBRARIES.iter().flat_map(of_library);
    let wanted = all.filter(move |(_, alias)| alias.collective == collective);
    wanted.map(|(library, alias)| format!("{library}:{}", alias.name))
}

/// Returns the alias of an operation that is written `library:name`.
#[must_use]
pub fn find(collective: Collective, text: &str) -> Option<&'static Alias> {
    find_with_library(collective, text).map(|(_, alias)| alias)
}

/// Returns the library and the alias of an operation that is written `library:name`.
pub(crate) fn find_with_library(
    collective: Collective,
    text: &str,
) -> Option<(&'static str, &'static Alias)> {
    let (library, name) = text.split_once(':')?;
    let (library, tables) = LIBRARIES.iter().find(|(known, _)| *known == library)?;
    let mut all = tables.iter().copied().flatten();
    let found = all.find(|alias| alias.collective == collective && alias.name == name)?;
    Some((*library, found))
}
