//! Barriers: all messages are empty.

use crate::Algorithm;

mod dissemination;

pub(crate) const ALL: &[&Algorithm] = &[&dissemination::DISSEMINATION];
