//! The capture of packets as they reach the links of their hosts.
//!
//! *Decided here*: a packet is captured once, at the host that sends it, with the headers and the
//! checksums of an InfiniBand link. *Not modelled*: the virtual lane, which is always lane 0.

use rdma::wire::{Grh, Lrh, NativeFrame, Packet};
use rdma::{Capture, CaptureLink};
use sim_core::HostId;

use super::CaptureFilter;
use super::state::{InFlight, lid, port_gid};

/// Routers that a packet may cross: all that a header can count.
const HOP_LIMIT: u8 = u8::MAX;

/// A capture, and the filter of the captured packets.
#[derive(Debug)]
pub(super) struct HostCapture {
    filter: CaptureFilter,
    capture: Capture,
    /// Used again for each packet.
    frame: Vec<u8>,
}

impl HostCapture {
    pub(super) fn new(filter: CaptureFilter) -> Self {
        Self {
            capture: Capture::new(CaptureLink::InfiniBand, filter.max_bytes),
            filter,
            frame: Vec::new(),
        }
    }

    pub(super) fn into_inner(self) -> Capture {
        self.capture
    }

    /// Adds a packet between two hosts that reaches the link at a time in picoseconds.
    pub(super) fn add_packet(&mut self, now: u64, hosts: [HostId; 2], packet: &InFlight) {
        let numbers = [packet.source_qp, packet.bth.dest_qp];
        let has_host = self.filter.host.is_none_or(|host| hosts.contains(&host));
        let has_qp = self.filter.qp_num.is_none_or(|qp| numbers.contains(&qp));
        if !has_host || !has_qp {
            return;
        }
        let (from, to) = (packet.from, packet.to);
        let frame = NativeFrame {
            lrh: Lrh {
                vl: 0,
                sl: packet.service_level,
                dlid: lid(to),
                slid: lid(from),
            },
            grh: packet.is_global.then(|| Grh {
                traffic_class: 0,
                flow_label: 0,
                hop_limit: HOP_LIMIT,
                source: port_gid(from),
                destination: port_gid(to),
            }),
            packet: Packet::new(packet.bth, packet.extension, &packet.payload),
        };
        self.frame.clear();
        frame.emit(&mut self.frame);
        self.capture.add_packet(now / 1000, &self.frame);
    }
}
