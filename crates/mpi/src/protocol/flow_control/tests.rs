//! Counters that would go below 0, or above their limit, end the run: such counts are internal
//! errors (M-13).

use super::{FlowControl, Hold, PacketSlot};
use crate::Limits;
use crate::channel::CreditReturn;

fn limited() -> FlowControl {
    FlowControl::new(&Limits {
        credits: Some(4),
        buffers: Some(1),
        ..Limits::NONE
    })
}

/// Returns credits and messages to a connection on which none are outstanding.
fn return_credits(credits: u32, messages: u32) {
    let returned = CreditReturn {
        credits,
        messages,
        ..CreditReturn::NOTHING
    };
    limited().apply_credit_return(1, &returned, 0.0);
}

#[test]
#[should_panic(expected = "no more credits come back than left (M-13)")]
fn m13_credits_never_exceed_the_window() {
    return_credits(1, 0);
}

#[test]
#[should_panic(expected = "what comes back was outstanding (M-13)")]
fn m13_outstanding_messages_are_never_below_0() {
    return_credits(0, 1);
}

#[test]
#[should_panic(expected = "an operation with activities is known")]
fn m13_activities_are_never_below_0() {
    let mut flow = limited();
    flow.shared.under_way = 1;
    let slot = PacketSlot {
        peer: 1,
        hold: Hold::Nothing,
        operation: Some(7),
    };
    flow.handle_left(slot, 0.0);
}

#[test]
#[should_panic(expected = "does not know the event")]
fn an_event_that_is_not_in_the_table_ends_the_run() {
    limited().step(
        1,
        crate::protocol::machine::receive::ReceiveEvent::EagerData,
        0.0,
    );
}
