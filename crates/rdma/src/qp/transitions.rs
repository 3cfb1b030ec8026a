//! The states of a queue pair and the attributes that each transition requires and permits, as a
//! table. IBA 10.3.1 and 11.2.5.2, in the form of `qp_state_table` of the Linux kernel.
//!
//! *Not modelled*: alternate paths and path migration; no program can set their attributes.

use crate::{QpModify, QpState, VerbsError};

/// An attribute of [`QpModify`] besides the states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(crate) enum QpAttribute {
    PkeyIndex,
    PortNum,
    AccessFlags,
    AddressVector,
    PathMtu,
    DestQpNum,
    RqPsn,
    SqPsn,
    MaxDestRdAtomic,
    MaxRdAtomic,
    MinRnrTimer,
    Timeout,
    RetryCnt,
    RnrRetry,
    SqdNotify,
    Qkey,
}

/// The service of a queue pair. `ibv_create_qp(3)`, `enum ibv_qp_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServiceType {
    /// Reliable connection.
    Rc,
    /// Unreliable datagram.
    Ud,
}

use QpAttribute::{
    AccessFlags, AddressVector, DestQpNum, MaxDestRdAtomic, MaxRdAtomic, MinRnrTimer, PathMtu,
    PkeyIndex, PortNum, Qkey, RetryCnt, RnrRetry, RqPsn, SqPsn, SqdNotify, Timeout,
};

impl QpAttribute {
    const ALL: [Self; 16] = [
        PkeyIndex,
        PortNum,
        AccessFlags,
        AddressVector,
        PathMtu,
        DestQpNum,
        RqPsn,
        SqPsn,
        MaxDestRdAtomic,
        MaxRdAtomic,
        MinRnrTimer,
        Timeout,
        RetryCnt,
        RnrRetry,
        SqdNotify,
        Qkey,
    ];

    /// Returns the field name of the attribute.
    const fn name(self) -> &'static str {
        match self {
            PkeyIndex => "pkey_index",
            PortNum => "port_num",
            AccessFlags => "qp_access_flags",
            AddressVector => "ah_attr",
            PathMtu => "path_mtu",
            DestQpNum => "dest_qp_num",
            RqPsn => "rq_psn",
            SqPsn => "sq_psn",
            MaxDestRdAtomic => "max_dest_rd_atomic",
            MaxRdAtomic => "max_rd_atomic",
            MinRnrTimer => "min_rnr_timer",
            Timeout => "timeout",
            RetryCnt => "retry_cnt",
            RnrRetry => "rnr_retry",
            SqdNotify => "en_sqd_async_notify",
            Qkey => "qkey",
        }
    }

    /// Returns the bit of the attribute in a set.
    const fn bit(self) -> u16 {
        1 << self as u16
    }

    const fn is_in(self, modify: &QpModify) -> bool {
        match self {
            PkeyIndex => modify.pkey_index.is_some(),
            PortNum => modify.port_num.is_some(),
            AccessFlags => modify.qp_access_flags.is_some(),
            AddressVector => modify.ah_attr.is_some(),
            PathMtu => modify.path_mtu.is_some(),
            DestQpNum => modify.dest_qp_num.is_some(),
            RqPsn => modify.rq_psn.is_some(),
            SqPsn => modify.sq_psn.is_some(),
            MaxDestRdAtomic => modify.max_dest_rd_atomic.is_some(),
            MaxRdAtomic => modify.max_rd_atomic.is_some(),
            MinRnrTimer => modify.min_rnr_timer.is_some(),
            Timeout => modify.timeout.is_some(),
            RetryCnt => modify.retry_cnt.is_some(),
            RnrRetry => modify.rnr_retry.is_some(),
            SqdNotify => modify.en_sqd_async_notify.is_some(),
            Qkey => modify.qkey.is_some(),
        }
    }
}

/// A legal transition.
struct QpTransition {
    from: QpState,
    to: QpState,
    /// Attributes that the transition requires, as bits.
    required: u16,
    /// Further attributes that the transition permits.
    optional: u16,
}

/// The legal transitions of a reliable connection, except the transitions to RESET and ERR, which
/// are legal from every state and take no attribute.
const RC_TRANSITIONS: &[QpTransition] = &[
    QpTransition {
        from: QpState::Reset,
        to: QpState::Init,
        required: bits(&[PkeyIndex, PortNum, AccessFlags]),
        optional: bits(&[]),
    },
    QpTransition {
        from: QpState::Init,
        to: QpState::Init,
        required: bits(&[]),
        optional: bits(&[PkeyIndex, PortNum, AccessFlags]),
    },
    QpTransition {
        from: QpState::Init,
        to: QpState::Rtr,
        required: bits(&[
            AddressVector,
            PathMtu,
            DestQpNum,
            RqPsn,
            MaxDestRdAtomic,
            MinRnrTimer,
        ]),
        optional: bits(&[PkeyIndex, AccessFlags]),
    },
    QpTransition {
        from: QpState::Rtr,
        to: QpState::Rts,
        required: bits(&[Timeout, RetryCnt, RnrRetry, SqPsn, MaxRdAtomic]),
        optional: bits(&[AccessFlags, MinRnrTimer]),
    },
    QpTransition {
        from: QpState::Rts,
        to: QpState::Rts,
        required: bits(&[]),
        optional: bits(&[AccessFlags, MinRnrTimer]),
    },
    QpTransition {
        from: QpState::Rts,
        to: QpState::Sqd,
        required: bits(&[]),
        optional: bits(&[SqdNotify]),
    },
    QpTransition {
        from: QpState::Sqd,
        to: QpState::Rts,
        required: bits(&[]),
        optional: bits(&[AccessFlags, MinRnrTimer]),
    },
    QpTransition {
        from: QpState::Sqd,
        to: QpState::Sqd,
        required: bits(&[]),
        optional: bits(&[
            AddressVector,
            Timeout,
            RetryCnt,
            RnrRetry,
            MaxRdAtomic,
            MaxDestRdAtomic,
            PkeyIndex,
            PortNum,
            AccessFlags,
            MinRnrTimer,
        ]),
    },
];

/// The transitions of unreliable datagrams, which leave SQE by going back to RTS.
const UD_TRANSITIONS: &[QpTransition] = &[
    QpTransition {
        from: QpState::Reset,
        to: QpState::Init,
        required: bits(&[PkeyIndex, PortNum, Qkey]),
        optional: bits(&[]),
    },
    QpTransition {
        from: QpState::Init,
        to: QpState::Init,
        required: bits(&[]),
        optional: bits(&[PkeyIndex, PortNum, Qkey]),
    },
    QpTransition {
        from: QpState::Init,
        to: QpState::Rtr,
        required: bits(&[]),
        optional: bits(&[PkeyIndex, Qkey]),
    },
    QpTransition {
        from: QpState::Rtr,
        to: QpState::Rts,
        required: bits(&[SqPsn]),
        optional: bits(&[Qkey]),
    },
    QpTransition {
        from: QpState::Rts,
        to: QpState::Rts,
        required: bits(&[]),
        optional: bits(&[Qkey]),
    },
    QpTransition {
        from: QpState::Rts,
        to: QpState::Sqd,
        required: bits(&[]),
        optional: bits(&[SqdNotify]),
    },
    QpTransition {
        from: QpState::Sqd,
        to: QpState::Rts,
        required: bits(&[]),
        optional: bits(&[Qkey]),
    },
    QpTransition {
        from: QpState::Sqd,
        to: QpState::Sqd,
        required: bits(&[]),
        optional: bits(&[PkeyIndex, Qkey]),
    },
    QpTransition {
        from: QpState::Sqe,
        to: QpState::Rts,
        required: bits(&[]),
        optional: bits(&[Qkey]),
    },
];

impl ServiceType {
    const fn transitions(self) -> &'static [QpTransition] {
        match self {
            Self::Rc => RC_TRANSITIONS,
            Self::Ud => UD_TRANSITIONS,
        }
    }
}

/// Returns the bits of attributes.
const fn bits(mut attributes: &[QpAttribute]) -> u16 {
    let mut bits = 0;
    while let [first, rest @ ..] = attributes {
        bits |= first.bit();
        attributes = rest;
    }
    bits
}

/// Returns the state to which a modification leads from `from`.
///
/// # Errors
/// [`VerbsError::Invalid`] if the transition is illegal, or an attribute is missing or not
/// permitted.
pub(crate) fn target_state(
    service: ServiceType,
    from: QpState,
    modify: &QpModify,
) -> Result<QpState, VerbsError> {
    let invalid = |why: String| Err(VerbsError::Invalid { why });
    if let Some(assumed) = modify.cur_qp_state.filter(|assumed| *assumed != from) {
        return invalid(format!("cur_qp_state is {assumed}, the state is {from}"));
    }
    let to = modify.qp_state.unwrap_or(from);
    let (required, optional) = match to {
        QpState::Reset | QpState::Err => (0, 0),
        _ => match service
            .transitions()
            .iter()
            .find(|row| row.from == from && row.to == to)
        {
            Some(row) => (row.required, row.optional),
            None => return invalid(format!("no transition from {from} to {to}")),
        },
    };
    let given = QpAttribute::ALL
        .into_iter()
        .filter(|attribute| attribute.is_in(modify));
    let given = given.fold(0, |bits, attribute| bits | attribute.bit());
    let missing = required & !given;
    let excess = given & !(required | optional);
    if missing | excess == 0 {
        return Ok(to);
    }
    for attribute in QpAttribute::ALL {
        let name = attribute.name();
        if missing & attribute.bit() != 0 {
            return invalid(format!(
                "the transition from {from} to {to} requires {name}"
            ));
        }
        if excess & attribute.bit() != 0 {
            return invalid(format!(
                "the transition from {from} to {to} does not permit {name}"
            ));
        }
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, AddressVector as Vector, Mtu};

    /// The legal pairs, written once more from IBA figure 124: one row per state, RESET to ERR.
    const RC_LEGAL: [[u8; 7]; 7] = [
        [1, 1, 0, 0, 0, 0, 1],
        [1, 1, 1, 0, 0, 0, 1],
        [1, 0, 0, 1, 0, 0, 1],
        [1, 0, 0, 1, 1, 0, 1],
        [1, 0, 0, 1, 1, 0, 1],
        [1, 0, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, 0, 0, 1],
    ];

    /// The same of datagrams: SQE to RTS besides.
    const UD_LEGAL: [[u8; 7]; 7] = {
        let mut legal = RC_LEGAL;
        legal[5][3] = 1;
        legal
    };

    fn set(attribute: QpAttribute, modify: &mut QpModify) {
        match attribute {
            PkeyIndex => modify.pkey_index = Some(0),
            PortNum => modify.port_num = Some(1),
            AccessFlags => modify.qp_access_flags = Some(Access::ALL),
            AddressVector => {
                modify.ah_attr = Some(Vector {
                    dlid: 1,
                    sl: 0,
                    grh: None,
                    port_num: 1,
                });
            }
            PathMtu => modify.path_mtu = Some(Mtu::Mtu256),
            DestQpNum => modify.dest_qp_num = Some(1),
            RqPsn => modify.rq_psn = Some(1),
            SqPsn => modify.sq_psn = Some(1),
            MaxDestRdAtomic => modify.max_dest_rd_atomic = Some(1),
            MaxRdAtomic => modify.max_rd_atomic = Some(1),
            MinRnrTimer => modify.min_rnr_timer = Some(1),
            Timeout => modify.timeout = Some(1),
            RetryCnt => modify.retry_cnt = Some(1),
            RnrRetry => modify.rnr_retry = Some(1),
            SqdNotify => modify.en_sqd_async_notify = Some(true),
            Qkey => modify.qkey = Some(1),
        }
    }

    /// Every pair of states of both services with every set of attributes: 2 times 49 times 2^16
    /// modifications.
    #[test]
    fn d5_exactly_the_transitions_of_the_table_are_legal() {
        for (service, legal) in [(ServiceType::Rc, RC_LEGAL), (ServiceType::Ud, UD_LEGAL)] {
            for (from, row) in QpState::ALL.into_iter().zip(legal) {
                for (to, legal) in QpState::ALL.into_iter().zip(row) {
                    let mut rows = service.transitions().iter();
                    let optional = rows
                        .find(|row| row.from == from && row.to == to)
                        .map_or(0, |row| row.optional.count_ones());
                    let expected = if legal == 1 { 1 << optional } else { 0 };
                    let accepted = count_accepted(service, from, to);
                    assert_eq!(accepted, expected, "{service:?}: {from} to {to}");
                }
            }
        }
    }

    /// Returns the number of sets of attributes with which a transition is accepted.
    fn count_accepted(service: ServiceType, from: QpState, to: QpState) -> u32 {
        let accepts = |bits: &u32| {
            let mut modify = QpModify::to_state(to);
            for (at, attribute) in QpAttribute::ALL.into_iter().enumerate() {
                if bits >> at & 1 == 1 {
                    set(attribute, &mut modify);
                }
            }
            target_state(service, from, &modify) == Ok(to)
        };
        let sets = 0..1_u32 << QpAttribute::ALL.len();
        u32::try_from(sets.filter(accepts).count()).expect("at most 2^16")
    }

    #[test]
    fn refusals_name_the_attribute() {
        let why = |from, modify: &QpModify| {
            target_state(ServiceType::Rc, from, modify)
                .unwrap_err()
                .to_string()
        };
        let to_init = QpModify {
            pkey_index: Some(0),
            ..QpModify::to_state(QpState::Init)
        };
        assert_eq!(
            why(QpState::Reset, &to_init),
            "the transition from RESET to INIT requires port_num"
        );
        let to_err = QpModify {
            timeout: Some(3),
            ..QpModify::to_state(QpState::Err)
        };
        assert_eq!(
            why(QpState::Rts, &to_err),
            "the transition from RTS to ERR does not permit timeout"
        );
        let assumed = QpModify {
            cur_qp_state: Some(QpState::Rts),
            ..QpModify::to_state(QpState::Sqd)
        };
        assert_eq!(
            why(QpState::Sqd, &assumed),
            "cur_qp_state is RTS, the state is SQD"
        );
    }
}
