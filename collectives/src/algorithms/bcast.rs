//! Broadcasts: the area `Recv` has the data, at first of the root alone.

use crate::Algorithm;

mod binomial;

pub(crate) const ALL: &[&Algorithm] = &[&binomial::BINOMIAL];
