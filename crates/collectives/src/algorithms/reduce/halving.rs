//! Reduction by recursive halving: partners at distances 1, 2, 4, … exchange halves of their common
//! elements, and each partner reduces and keeps one half. Then the parts are gathered at the root,
//! with descending distance.
//!
//! If the number of ranks is no power of two, the odd ranks of the first 2·rem ranks hand their
//! operands to the previous rank, and sit out. If the root sits out, rank 0 hands its part to the
//! root, which replaces rank 0 in the gather.
//!
//! Sources: R. Rabenseifner, "A new optimized MPI reduce algorithm", 1997; R. Thakur, R.
//! Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH",
//! International Journal of High Performance Computing Applications 19(1), 2005.

use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Requirement, Steps};

pub(crate) static RABENSEIFNER: Algorithm = Algorithm {
    name: "rabenseifner",
    collectives: &[Collective::Reduce],
    about: "reduce-scatter by recursive halving, then a binomial gather",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    needs: Requirement::ElementPerPowerOfTwo,
    fallback: "binomial",
    ordered: true,
    copies_operand: true,
    temp: |call| BLOCKS.temp(call),
    rounds: Halving::rounds,
    round: |call, round, steps| BLOCKS.round(call, round, steps),
    ..Algorithm::BASE
};

/// Source: SimGrid 4.1, `src/smpi/colls/reduce/reduce-scatter-gather.cpp`.
pub(crate) static RABENSEIFNER_PADDED: Algorithm = Algorithm {
    name: "rabenseifner_padded",
    about: "as rabenseifner, with short messages made longer",
    needs: Requirement::None,
    fallback: "",
    temp: |call| PADDED.temp(call),
    round: |call, round, steps| PADDED.round(call, round, steps),
    ..RABENSEIFNER
};

/// The first form of Rabenseifner's reduction.
pub(crate) static RABENSEIFNER_HALVES: Algorithm = Algorithm {
    name: "rabenseifner_halves",
    about: "reduce-scatter by recursive halving with halves of halves, then a binomial gather",
    temp: |call| HALVES.temp(call),
    round: |call, round, steps| HALVES.round(call, round, steps),
    ..RABENSEIFNER_PADDED
};

/// Rabenseifner's first reduction, without superfluous messages.
///
/// Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, reduce-scatter and gather.
pub(crate) static RABENSEIFNER_PAIRS: Algorithm = Algorithm {
    name: "rabenseifner_pairs",
    about: "as rabenseifner_halves, and a rank is done after one send of the gather",
    temp: |call| PAIRS.temp(call),
    round: |call, round, steps| PAIRS.round(call, round, steps),
    ..RABENSEIFNER_PADDED
};

const BLOCKS: Halving = Halving {
    cut: Cut::Blocks,
    is_padded: false,
    gathers_all: false,
};

const PADDED: Halving = Halving {
    is_padded: true,
    ..BLOCKS
};

const PAIRS: Halving = Halving {
    cut: Cut::Halves,
    ..BLOCKS
};

const HALVES: Halving = Halving {
    gathers_all: true,
    ..PAIRS
};

/// A division of the elements among the ranks that take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// Blocks of equal lengths; the last one has the rest too. A rank that sits out hands all
    /// elements over.
    Blocks,
    /// Halves of halves. Of a pair of ranks, both reduce half of the elements before one sits out.
    Halves,
}

/// A reduction by recursive halving.
#[derive(Clone, Copy, Debug)]
struct Halving {
    cut: Cut,
    /// A contribution with fewer elements than there are ranks is sent with more bytes, such that
    /// there is one element for each rank.
    is_padded: bool,
    /// True if a rank takes part in the whole gather after the first send, and sends
    /// bytes that the root does not need.
    gathers_all: bool,
}

impl Halving {
    /// Returns the number of bytes that are divided.
    fn divided_bytes(self, call: &Call) -> u64 {
        if self.is_padded {
            let element = call.element.max(1);
            call.bytes.max(u64::from(call.size) * element)
        } else {
            call.bytes
        }
    }

    /// Returns true if there are bytes that do not belong to the contribution.
    fn pads(self, call: &Call) -> bool {
        self.divided_bytes(call) > call.bytes
    }

    /// Returns the memory of a rank in bytes: for arriving data, and for a result that is longer
    /// than the contribution.
    fn temp(self, call: &Call) -> u64 {
        self.divided_bytes(call) * (1 + u64::from(self.pads(call)))
    }

    /// Returns the number of rounds.
    const fn rounds(call: &Call) -> u32 {
        let halvings = power_of_two_below(call.size).ilog2();
        // Before and after the halvings, and at the end.
        3 + 2 * halvings
    }

    /// Makes the steps of a round.
    fn round(self, call: &Call, round: u32, steps: &mut dyn Steps) {
        let halvings = power_of_two_below(call.size).ilog2();
        let role = Fold::Odd.role(call.rank, call.size);
        match round {
            0 => self.fold(call, steps),
            _ if round <= halvings => {
                if let Some(core) = role.core {
                    self.halve(call, core, round - 1, steps);
                }
            }
            _ if round == halvings + 1 => self.replace(call, halvings, steps),
            _ if round <= 2 * halvings + 1 => {
                self.gather_halves(call, 2 * halvings + 1 - round, steps);
            }
            _ => {
                if self.pads(call) && call.is_root() {
                    let own = Part::recv(0, call.bytes);
                    steps.copy(self.result_part(call, 0, call.bytes), own);
                }
            }
        }
    }

    /// Combines the operands of ranks that sit out with the operands of their partners.
    fn fold(self, call: &Call, steps: &mut dyn Steps) {
        let bytes = self.divided_bytes(call);
        if self.pads(call) {
            let own = Part::recv(0, call.bytes);
            steps.copy(own, self.result_part(call, 0, call.bytes));
        }
        let role = Fold::Odd.role(call.rank, call.size);
        let Some(partner) = role.partner else {
            return;
        };
        let middle = match self.cut {
            Cut::Blocks => 0,
            Cut::Halves => bytes / call.element.max(1) / 2 * call.element.max(1),
        };
        let (lower, upper) = ((0, middle), (middle, bytes - middle));
        if role.core.is_some() {
            if self.cut == Cut::Halves {
                let (out, into) = (self.range_part(call, upper), self.incoming(lower));
                steps.exchange(partner, out, partner, into);
                self.reduce_arrived(call, lower, Operand::Right, steps);
                steps.recv(partner, self.range_part(call, upper));
            } else {
                steps.recv(partner, self.incoming(upper));
                self.reduce_arrived(call, upper, Operand::Right, steps);
            }
        } else {
            if self.cut == Cut::Halves {
                let (out, into) = (self.range_part(call, lower), self.incoming(upper));
                steps.exchange(partner, out, partner, into);
                self.reduce_arrived(call, upper, Operand::Left, steps);
            }
            steps.send(partner, self.range_part(call, upper));
        }
    }

    fn halve(self, call: &Call, core: u32, done: u32, steps: &mut dyn Steps) {
        let other = core ^ (1 << done);
        let partner = Fold::Odd.rank(other, call.size);
        let (kept, left) = (
            self.owned_range(call, core, done + 1),
            self.owned_range(call, other, done + 1),
        );
        let (out, into) = (self.range_part(call, left), self.incoming(kept));
        steps.exchange(partner, out, partner, into);
        let operand = if other < core {
            Operand::Left
        } else {
            Operand::Right
        };
        self.reduce_arrived(call, kept, operand, steps);
    }

    /// Hands the part of rank 0 to a root that has sat out.
    fn replace(self, call: &Call, halvings: u32, steps: &mut dyn Steps) {
        if !sits_out(call.root, call.size) {
            return;
        }
        let part = self.range_part(call, self.owned_range(call, 0, halvings));
        if call.rank == 0 {
            steps.send(call.root, part);
        } else if call.is_root() {
            steps.recv(0, part);
        }
    }

    fn gather_halves(self, call: &Call, bit: u32, steps: &mut dyn Steps) {
        let root_sits_out = sits_out(call.root, call.size);
        // The root takes the place of rank 0.
        let core = match Fold::Odd.role(call.rank, call.size).core {
            _ if root_sits_out && call.is_root() => Some(0),
            Some(0) if root_sits_out => None,
            core => core,
        };
        let root = Fold::Odd.role(call.root, call.size).core.unwrap_or(0);
        let takes_part = |core: &u32| self.gathers_all || core >> (bit + 1) == root >> (bit + 1);
        let Some(core) = core.filter(takes_part) else {
            return;
        };
        let other = core ^ (1 << bit);
        let partner = if root_sits_out && other == 0 {
            call.root
        } else {
            Fold::Odd.rank(other, call.size)
        };
        if core >> bit & 1 == root >> bit & 1 {
            let part = self.range_part(call, self.owned_range(call, other, bit + 1));
            steps.recv(partner, part);
        } else {
            let part = self.range_part(call, self.owned_range(call, core, bit + 1));
            steps.send(partner, part);
        }
    }

    /// Returns the bytes that a rank which takes part has after a number of halvings, as the first
    /// byte and the length.
    fn owned_range(self, call: &Call, core: u32, halvings: u32) -> (u64, u64) {
        let element = call.element.max(1);
        let count = self.divided_bytes(call) / element;
        let (mut first, mut end) = match self.cut {
            Cut::Blocks => (0, u64::from(power_of_two_below(call.size))),
            Cut::Halves => (0, count),
        };
        for bit in 0..halvings {
            let middle = first + (end - first) / 2;
            if core >> bit & 1 == 0 {
                end = middle;
            } else {
                first = middle;
            }
        }
        if self.cut == Cut::Blocks {
            let blocks = u64::from(power_of_two_below(call.size));
            let element_of = |block| {
                if block == blocks {
                    count
                } else {
                    block * (count / blocks)
                }
            };
            (first, end) = (element_of(first), element_of(end));
        }
        (first * element, (end - first) * element)
    }

    /// Returns the place of bytes of the result.
    fn result_part(self, call: &Call, offset: u64, length: u64) -> Part {
        let (area, before) = if self.pads(call) {
            (Area::Temp, self.divided_bytes(call))
        } else {
            (Area::Recv, 0)
        };
        Part {
            area,
            offset: before + offset,
            length,
        }
    }

    fn range_part(self, call: &Call, (offset, length): (u64, u64)) -> Part {
        self.result_part(call, offset, length)
    }

    /// Returns the place where bytes arrive.
    const fn incoming(self, (offset, length): (u64, u64)) -> Part {
        Part::temp(offset, length)
    }

    /// Reduces the arrived data, except data that belong to no contribution.
    fn reduce_arrived(
        self,
        call: &Call,
        (offset, length): (u64, u64),
        operand: Operand,
        steps: &mut dyn Steps,
    ) {
        let length = length.min(call.bytes.saturating_sub(offset));
        if length > 0 || !self.pads(call) {
            let into = self.result_part(call, offset, length);
            steps.reduce(Part::temp(offset, length), into, operand);
        }
    }
}

/// Returns true if a rank hands its operand to another rank and sits out.
const fn sits_out(rank: u32, size: u32) -> bool {
    Fold::Odd.role(rank, size).core.is_none()
}
