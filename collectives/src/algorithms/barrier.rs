//! Barriers: all messages are empty.

use crate::Algorithm;

pub(super) mod dissemination;

pub(crate) const ALL: &[&Algorithm] = &[&dissemination::DISSEMINATION];
