//! OpenMP: the functions of the package `openmp`, with the heap, the clock and the log of the rank.

use openmp::Host;

use super::heap;
use crate::bridge::{RankEnd, caller, read_clock};

const HOST: Host = Host {
    state: || &caller().openmp,
    allocate: heap::aligned,
    reallocate: heap::realloc,
    free: heap::free,
    read_clock,
    fail: fail_rank,
    warn: log_warning,
};

fn fail_rank(call: &str, problem: &str) -> ! {
    let rank = caller();
    let text = format!("{call}{}: {problem}", rank.call_line());
    rank.finish(RankEnd::Failed(text))
}

fn log_warning(text: &str) {
    let rank = caller();
    let line = rank.call_line();
    let text = format_args!("OpenMP{line}: {text}");
    rank.world().log(mpi::Level::Warn, text);
}

/// Returns the address of a function of OpenMP.
pub(super) fn find_address(symbol: &str) -> Option<usize> {
    openmp::function_address(symbol, &HOST)
}
