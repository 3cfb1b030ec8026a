//! The families of cases. A new one is a file and two lines here.

mod c09_027;
mod c09_060;
mod c09_130;
mod c09_142;
mod duplicates;
mod receiver;
mod refusals;
mod requester;
mod sequence;

use super::CaseFamily;

/// All families.
pub const FAMILIES: &[CaseFamily] = &[
    c09_027::FAMILY,
    c09_060::FAMILY,
    c09_130::FAMILY,
    c09_142::FAMILY,
    sequence::FAMILY,
    duplicates::FAMILY,
    receiver::FAMILY,
    refusals::FAMILY,
    requester::FAMILY,
];
