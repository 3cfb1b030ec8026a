//! Hashes of 128 bits, the same in every run, by which searches of tests tell states apart without
//! keeping them.

use std::hash::{BuildHasher, Hasher as _};

use foldhash::quality::FixedState;

/// Returns two hashes of everything that `add` adds.
pub fn hash_parts(add: impl Fn(&mut <FixedState as BuildHasher>::Hasher)) -> (u64, u64) {
    let hash = |seed| {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        add(&mut hasher);
        hasher.finish()
    };
    (hash(1), hash(2))
}
