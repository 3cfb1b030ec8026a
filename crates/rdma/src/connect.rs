//! Connecting two queue pairs: the data that the sides exchange, and the attributes with safe
//! values.
//!
//! The caller exchanges the endpoints: by a socket, a file, or a simulated message. There is no
//! connection manager (IBA 12).

use std::fmt;

use crate::{
    Access, AddressVector, Gid, GidType, GlobalRoute, Mtu, QpModify, QpState, QueuePair, Verbs,
    VerbsError,
};

/// Times that the code of `min_rnr_timer` stands for, in microseconds. IBA 9.7.5.2.8, table 45.
pub const RNR_TIMER_US: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840,
    5_120, 7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840,
    245_760, 327_680, 491_520,
];

/// The attributes of a connection. The defaults work on any healthy fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionAttributes {
    /// The port to use, from 1.
    pub port_num: u8,
    /// Index of the port's global identifier to use. `None` takes the first of RoCE v2 that stands
    /// for an IPv4 address, else the first of RoCE v2, else the first.
    pub gid_index: Option<u8>,
    /// The largest payload of a packet. `None` takes the largest MTU of the port's link; the
    /// smaller value of the two sides applies.
    pub path_mtu: Option<Mtu>,
    /// The place of the partition key in the port's table.
    pub pkey_index: u16,
    /// The service level.
    pub sl: u8,
    /// Number of routers packets may pass.
    pub hop_limit: u8,
    /// The priority at routers.
    pub traffic_class: u8,
    /// Rights of requests from the other side.
    pub access: Access,
    /// Time to wait for an acknowledgement: 4.096 µs × 2^n. 18 is 1.07 s: a shorter time would
    /// expire where a software adapter is only slow.
    pub timeout: u8,
    /// Number of retransmissions of a packet that is not acknowledged, 0 to 7.
    pub retry_cnt: u8,
    /// Number of retransmissions of a request that finds no posted receive, 0 to 6. 7 retries
    /// without limit, for programs with their own flow control.
    pub rnr_retry: u8,
    /// Time that the other side is told to wait when no receive is posted: the place in
    /// [`RNR_TIMER_US`]. 12 is 0.64 ms.
    pub min_rnr_timer: u8,
    /// Reads and atomics that may be outstanding in each direction; less if an adapter can do less.
    pub max_rd_atomic: u8,
}

impl Default for ConnectionAttributes {
    fn default() -> Self {
        Self {
            port_num: 1,
            gid_index: None,
            path_mtu: None,
            pkey_index: 0,
            sl: 0,
            hop_limit: 64,
            traffic_class: 0,
            access: Access::ALL,
            timeout: 18,
            retry_cnt: 7,
            rnr_retry: 7,
            min_rnr_timer: 12,
            max_rd_atomic: 16,
        }
    }
}

impl ConnectionAttributes {
    /// Returns the index and value of the port's global identifier that is used; zeros if there are
    /// none, as may be on InfiniBand.
    fn select_gid(&self, verbs: &dyn Verbs) -> Result<(u8, Gid), VerbsError> {
        if let Some(index) = self.gid_index {
            return Ok((index, verbs.query_gid(self.port_num, index)?.0));
        }
        let length = verbs.query_port(self.port_num)?.gid_tbl_len;
        let length = u8::try_from(length).unwrap_or(u8::MAX);
        let mut best = (u8::MAX, (0, Gid::default()));
        for index in 0..length {
            let Ok((gid, kind)) = verbs.query_gid(self.port_num, index) else {
                continue;
            };
            let rank = match kind {
                GidType::RoceV2 if gid.is_ipv4() => 0,
                GidType::RoceV2 => 1,
                GidType::Ib | GidType::RoceV1 => 2,
            };
            if !gid.is_zero() && rank < best.0 {
                best = (rank, (index, gid));
            }
        }
        Ok(best.1)
    }
}

/// Facts that one side needs of the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// The number of the queue pair.
    pub qp_num: u32,
    /// The first packet sequence number that this side sends.
    pub psn: u32,
    /// The local identifier of the port; 0 on Ethernet.
    pub lid: u16,
    /// The global identifier of the port.
    pub gid: Gid,
    /// The largest payload of a packet that this side supports.
    pub mtu: Mtu,
    /// Reads and atomics of the peer that may be outstanding at this side.
    pub max_dest_rd_atomic: u8,
}

/// Bytes that are no [`Endpoint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointError;

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the endpoint of a queue pair: a number is out of range")
    }
}

impl std::error::Error for EndpointError {}

/// Numbers of queue pairs and packets have 24 bits.
const MAX_24: u32 = (1 << 24) - 1;

impl Endpoint {
    /// Number of bytes of a transmitted endpoint.
    pub const LENGTH: usize = 28;

    /// As bytes, big-endian: `qp_num` 4, `psn` 4, `lid` 2, MTU code 1, `max_dest_rd_atomic` 1,
    /// `gid` 16.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..4].copy_from_slice(&self.qp_num.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.psn.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.lid.to_be_bytes());
        bytes[10] = self.mtu.code();
        bytes[11] = self.max_dest_rd_atomic;
        bytes[12..].copy_from_slice(&self.gid.0);
        bytes
    }

    /// From the bytes that [`to_bytes`](Self::to_bytes) gave at the other side.
    ///
    /// # Errors
    /// If a number is out of range. Whatever the bytes are, this never panics.
    pub fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Result<Self, EndpointError> {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (qp_num, psn) = (word(0), word(4));
        if qp_num > MAX_24 || psn > MAX_24 {
            return Err(EndpointError);
        }
        let mut gid = Gid::default();
        gid.0.copy_from_slice(&bytes[12..]);
        Ok(Self {
            qp_num,
            psn,
            lid: u16::from_be_bytes([bytes[8], bytes[9]]),
            gid,
            mtu: Mtu::from_code(bytes[10]).ok_or(EndpointError)?,
            max_dest_rd_atomic: bytes[11],
        })
    }
}

/// Brings a new queue pair to INIT, where receives may be posted, and returns the data that the
/// other side needs. Packets are numbered from `psn` on (24 bits). `psn` should differ each time,
/// so that late packets of an earlier connection are not accepted as new packets.
///
/// # Errors
/// Errors of the adapter.
pub fn prepare(
    verbs: &dyn Verbs,
    qp: QueuePair,
    options: &ConnectionAttributes,
    psn: u32,
) -> Result<Endpoint, VerbsError> {
    let port = verbs.query_port(options.port_num)?;
    let device = verbs.query_device();
    let (_, gid) = options.select_gid(verbs)?;
    let at_most = |limit: u32| u8::try_from(limit).unwrap_or(u8::MAX);
    verbs.modify_qp(
        qp,
        &QpModify {
            pkey_index: Some(options.pkey_index),
            port_num: Some(options.port_num),
            qp_access_flags: Some(options.access),
            ..QpModify::to_state(QpState::Init)
        },
    )?;
    Ok(Endpoint {
        qp_num: qp.qp_num,
        psn: psn & MAX_24,
        lid: port.lid,
        gid,
        mtu: options
            .path_mtu
            .map_or(port.active_mtu, |mtu| mtu.min(port.active_mtu)),
        max_dest_rd_atomic: options.max_rd_atomic.min(at_most(device.max_qp_rd_atom)),
    })
}

/// Brings a prepared queue pair over RTR to RTS: from now on the queue pair sends and accepts
/// requests. `local` is the result of [`prepare`] here, `remote` the result at the other side.
///
/// # Errors
/// Errors of the adapter.
pub fn connect(
    verbs: &dyn Verbs,
    qp: QueuePair,
    options: &ConnectionAttributes,
    local: &Endpoint,
    remote: &Endpoint,
) -> Result<(), VerbsError> {
    let (sgid_index, _) = options.select_gid(verbs)?;
    // On Ethernet there are no local identifiers, and every packet has a global header.
    let is_global = remote.lid == 0 || local.lid == 0;
    let grh = is_global.then_some(GlobalRoute {
        dgid: remote.gid,
        sgid_index,
        flow_label: 0,
        hop_limit: options.hop_limit,
        traffic_class: options.traffic_class,
    });
    let device = verbs.query_device();
    let initiates = u8::try_from(device.max_qp_init_rd_atom).unwrap_or(u8::MAX);
    verbs.modify_qp(
        qp,
        &QpModify {
            path_mtu: Some(local.mtu.min(remote.mtu)),
            ah_attr: Some(AddressVector {
                dlid: remote.lid,
                sl: options.sl,
                grh,
                port_num: options.port_num,
            }),
            dest_qp_num: Some(remote.qp_num),
            rq_psn: Some(remote.psn),
            max_dest_rd_atomic: Some(local.max_dest_rd_atomic),
            min_rnr_timer: Some(options.min_rnr_timer),
            ..QpModify::to_state(QpState::Rtr)
        },
    )?;
    verbs.modify_qp(
        qp,
        &QpModify {
            sq_psn: Some(local.psn),
            timeout: Some(options.timeout),
            retry_cnt: Some(options.retry_cnt),
            rnr_retry: Some(options.rnr_retry),
            max_rd_atomic: Some(
                options
                    .max_rd_atomic
                    .min(initiates)
                    .min(remote.max_dest_rd_atomic),
            ),
            ..QpModify::to_state(QpState::Rts)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: Endpoint = Endpoint {
        qp_num: 0x12_3456,
        psn: MAX_24,
        lid: 7,
        gid: Gid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2]),
        mtu: Mtu::Mtu1024,
        max_dest_rd_atomic: 16,
    };

    #[test]
    fn an_endpoint_comes_back_from_its_bytes() {
        let bytes = ENDPOINT.to_bytes();
        assert_eq!(
            bytes[..12],
            [0, 0x12, 0x34, 0x56, 0, 0xff, 0xff, 0xff, 0, 7, 3, 16]
        );
        assert_eq!(Endpoint::from_bytes(&bytes), Ok(ENDPOINT));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for at in [0, 4, 10] {
            let mut bytes = ENDPOINT.to_bytes();
            bytes[at] = 0xff;
            assert_eq!(
                Endpoint::from_bytes(&bytes),
                Err(EndpointError),
                "byte {at}"
            );
        }
    }

    #[test]
    fn rnr_timers_grow_from_one_on() {
        assert!(RNR_TIMER_US[1..].is_sorted());
        assert_eq!(RNR_TIMER_US[0], 655_360);
        assert_eq!(RNR_TIMER_US[31], 491_520);
    }
}
