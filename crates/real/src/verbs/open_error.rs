//! Reasons why no adapter can be used, with the remedies.

use std::fmt;

use rdma::VerbsError;

/// Why an adapter was not opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// There is none.
    NoDevice,
    /// There is none of that name.
    NoSuchDevice {
        /// The name.
        name: String,
        /// The adapters of this machine.
        available: Vec<String>,
    },
    /// The library, the kernel or the adapter does not work.
    Broken(VerbsError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => f.write_str(
                "this machine has no RDMA device, or no driver for it is loaded: `ibv_devices` (Debian package ibverbs-utils) shows \
                 none. Without an adapter use TCP (`--backend tcp`), or an emulated one: see docs/verbs.md",
            ),
            Self::NoSuchDevice { name, available } if available.is_empty() => write!(
                f,
                "there is no RDMA device `{name}`, and no other one: see docs/verbs.md"
            ),
            Self::NoSuchDevice { name, available } => write!(
                f,
                "there is no RDMA device `{name}`; there is: {}",
                available.join(", ")
            ),
            Self::Broken(VerbsError::Unsupported { .. }) => f.write_str(
                "the kernel has no InfiniBand verbs (module ib_uverbs), or no device uses them. Without an adapter use TCP (`--backend tcp`), or \
                 an emulated one: see docs/verbs.md",
            ),
            Self::Broken(error) => write!(f, "the RDMA device cannot be used: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}
