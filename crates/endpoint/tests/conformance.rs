//! Promise: an endpoint behaves as CCI specifies, case by case: the handshake and its repetitions,
//! the supervision of peers, rings of buffers, operations, remote memory, the end of connections.
//! Each seeded defect of endpoints fails a case.
//!
//! Sources: header and documentation of CCI (Atchley et al., *The Common Communication Interface*,
//! Hot Interconnects 2011). *Not covered*: random faults of the network; the campaigns of the
//! package `fuzz` cover them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod conformance {
    pub(crate) mod desk;
    pub(crate) mod handshake;
    pub(crate) mod keepalive;
    pub(crate) mod memory;
    pub(crate) mod operations;
    pub(crate) mod rings;
    pub(crate) mod simulation;
}

use conformance::{handshake, keepalive, memory, operations, rings};
use endpoint::{Defect, EndpointSettings};

/// A case, which panics if an endpoint with these settings violates a rule.
type Case = fn(EndpointSettings);

/// Makes a list of all cases, and a test of each.
macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        const CASES: &[(&str, Case)] = &[$($((stringify!($case), $module::$case as Case)),*),*];

        $($(
            #[test]
            fn $case() {
                $module::$case(EndpointSettings::default());
            }
        )*)*
    };
}

cases! {
    handshake:
        contexts_and_payloads
        a_rejection_is_repeated
        an_acceptance_is_repeated
        a_repeated_acceptance_is_acknowledged_again
        a_repeated_request_makes_no_second_connection
        old_requests_are_remembered
        some_old_requests_are_remembered
        each_connection_has_its_own_packet_numbers
        strangers_are_not_heard
        malformed_datagrams_are_dropped
        a_request_is_decided_once
        a_connect_times_out
        an_accept_times_out
        a_first_message_is_an_acknowledgement
        a_notification_on_request
        no_event_after_disconnect
        disconnect_is_local
        destroy_releases_everything;
    keepalive:
        a_silent_peer_is_reported_once
        every_sign_of_life_counts
        supervision_begins_and_ends
        four_pings_in_each_timeout;
    rings:
        all_send_buffers_are_used
        all_work_requests_fit
        all_receive_buffers_are_used
        disconnected_connections_lend_no_buffers
        several_connections_have_buffers_of_their_own
        the_longest_message
        messages_and_completions_in_order
        silent_operations
        unreliable_messages;
    memory:
        transfers_at_offsets
        completion_messages_follow_the_data
        completion_messages_are_copied
        a_fence_orders_transfers
        each_transfer_uses_its_own_handle
        deregistered_memory_is_not_accessed
        rights_and_bounds_are_checked;
    operations:
        an_operation_that_takes_too_long_breaks_the_connection
        a_peer_that_does_not_answer
        a_failed_adapter_is_reported_once
        a_receiver_without_buffers
        buffers_run_out
        lent_messages_and_blocking_sends
        blocking_operations_end_with_the_connection
        wrong_arguments_are_refused;
}

#[test]
fn each_seeded_defect_fails_a_case() {
    for &defect in Defect::ALL {
        let settings = EndpointSettings {
            defect: Some(defect),
            ..EndpointSettings::default()
        };
        let fails =
            |(_, case): &&(&str, Case)| std::panic::catch_unwind(|| case(settings)).is_err();
        assert!(CASES.iter().any(|case| fails(&case)), "{defect:?}");
    }
}
