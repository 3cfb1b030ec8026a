//! Wire formats against frames of other sources, and against themselves.
//!
//! `wire/rocev2-icrc.csv`: two published vectors of RoCE v2 and 14 frames that an independent
//! implementation made, each with its source. `wire/native.csv`: InfiniBand packets of a public
//! capture of 2008.

use proptest::prelude::*;
use rdma::wire::{
    Aeth, AtomicEth, Bth, Deth, Extension, Grh, Ip, Layout, Lrh, Nak, NativeFrame, Opcode, Packet,
    Reth, RoceFrame, Syndrome, WireError,
};
use rdma::{Gid, Psn};

const ROCE: &str = include_str!("wire/rocev2-icrc.csv");
const NATIVE: &str = include_str!("wire/native.csv");

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().collect();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).expect("hexadecimal digits");
        u8::from_str_radix(text, 16).expect("hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}

/// Returns the lines of a table after its header, in columns.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect()
}

#[test]
fn frames_of_roce_are_read_and_written() {
    let rows = rows(ROCE);
    assert_eq!(rows.len(), 16);
    for row in rows {
        let (name, opcode, frame) = (row[0], row[1], bytes(row[3]));
        let parsed = RoceFrame::parse(&frame).unwrap_or_else(|error| panic!("{name}: {error}"));
        let code = parsed.packet.bth().opcode.code();
        assert_eq!(format!("{code:#x}"), opcode, "{name}");
        let mut written = Vec::new();
        parsed.emit(&mut written);
        assert_eq!(written, frame, "{name}");
    }
}

#[test]
fn packets_of_a_capture_are_read_and_written() {
    let rows = rows(NATIVE);
    assert!(rows.len() >= 20);
    for row in rows {
        let (opcode, pad, ack_request, psn) = (row[1], row[2], row[3], row[4]);
        let (vcrc, captured) = (bytes(row[6]), bytes(row[7]));
        let whole = [captured.clone(), vcrc].concat();
        let frame =
            NativeFrame::parse(&whole).unwrap_or_else(|error| panic!("{}: {error}", row[0]));
        let bth = frame.packet.bth();
        assert_eq!(format!("{:#04x}", bth.opcode.code()), opcode);
        assert_eq!(bth.psn.to_string(), psn);
        assert_eq!(u8::from(bth.ack_request).to_string(), ack_request);
        assert_eq!(
            (frame.packet.payload().len().wrapping_neg() % 4).to_string(),
            pad
        );
        if let Extension::Aeth(aeth) = frame.packet.extension() {
            let text = format!("syndrome={:#04x} msn={}", aeth.syndrome.code(), aeth.msn);
            assert_eq!(text, row[5]);
        }
        let mut written = Vec::new();
        frame.emit(&mut written);
        assert_eq!(written, whole);
        assert_eq!(NativeFrame::parse_invariant(&captured), Ok(frame));
    }
}

#[test]
fn a_changed_bit_is_found_unless_it_may_change_on_the_way() {
    let row = rows(ROCE).remove(11);
    let frame = bytes(row[3]);
    // The Ethernet header, what routers change in IP, checksums, and byte 4 of the BTH.
    let may_change = |at: usize| at < 12 || [15, 22, 24, 25, 40, 41, 46].contains(&at);
    for bit in 0..8 * frame.len() {
        let mut changed = frame.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let is_accepted = RoceFrame::parse(&changed).is_ok();
        assert_eq!(is_accepted, may_change(bit / 8), "byte {}", bit / 8);
    }
}

#[test]
#[should_panic(expected = "RcReadRequest has the headers Reth, not None")]
fn other_headers_than_those_of_the_opcode_are_refused() {
    let bth = Bth::new(Opcode::RcReadRequest, 1, Psn::new(0));
    let _ = Packet::new(bth, Extension::None, &[]);
}

#[test]
fn versions_and_reserved_codes_are_refused() {
    let mut packet = Vec::new();
    let bth = Bth::new(Opcode::RcSendOnly, 1, Psn::new(0));
    Packet::new(bth, Extension::None, b"four").emit(&mut packet);
    packet[1] |= 1;
    assert_eq!(Packet::parse(&packet), Err(WireError::Version(1)));
    packet[0] = 0x15;
    packet[1] = 0;
    assert_eq!(Packet::parse(&packet), Err(WireError::Opcode(0x15)));
    let mut large = vec![0; 12 + 4100];
    large[0] = Opcode::RcSendOnly.code();
    assert_eq!(Packet::parse(&large), Err(WireError::Payload(4100)));
    let nothing = Packet::parse(&[]).expect_err("there is no header");
    assert_eq!(nothing.to_string(), "0 bytes: expected at least 12");
}

fn aeth() -> impl Strategy<Value = Aeth> {
    let syndrome = prop_oneof![
        (0..32_u8).prop_map(Syndrome::Ack),
        (0..32_u8).prop_map(Syndrome::RnrNak),
        Just(Syndrome::Nak(Nak::RemoteAccess)),
    ];
    (syndrome, 0..1_u32 << 24).prop_map(|(syndrome, msn)| Aeth { syndrome, msn })
}

fn extension(layout: Layout) -> BoxedStrategy<Extension> {
    let reth = any::<(u64, u32, u32)>().prop_map(|(address, rkey, length)| Reth {
        address,
        rkey,
        length,
    });
    let deth =
        (any::<u32>(), 0..1_u32 << 24).prop_map(|(qkey, source_qp)| Deth { qkey, source_qp });
    match layout {
        Layout::None => Just(Extension::None).boxed(),
        Layout::Immediate => any::<u32>().prop_map(Extension::Immediate).boxed(),
        Layout::Ieth => any::<u32>().prop_map(Extension::Ieth).boxed(),
        Layout::Reth => reth.prop_map(Extension::Reth).boxed(),
        Layout::RethImmediate => {
            let both = (reth, any::<u32>());
            both.prop_map(|(reth, data)| Extension::RethImmediate(reth, data))
                .boxed()
        }
        Layout::Aeth => aeth().prop_map(Extension::Aeth).boxed(),
        Layout::AtomicAck => {
            let both = (aeth(), any::<u64>());
            both.prop_map(|(aeth, value)| Extension::AtomicAck(aeth, value))
                .boxed()
        }
        Layout::AtomicEth => any::<(u64, u32, u64, u64)>()
            .prop_map(|(address, rkey, swap_or_add, compare)| {
                Extension::AtomicEth(AtomicEth {
                    address,
                    rkey,
                    swap_or_add,
                    compare,
                })
            })
            .boxed(),
        Layout::Deth => deth.prop_map(Extension::Deth).boxed(),
        Layout::DethImmediate => {
            let both = (deth, any::<u32>());
            both.prop_map(|(deth, data)| Extension::DethImmediate(deth, data))
                .boxed()
        }
    }
}

prop_compose! {
    fn header()(
        opcode in prop::sample::select(Opcode::ALL),
        marks in any::<[bool; 5]>(),
        pkey in any::<u16>(),
        dest_qp in 0..1_u32 << 24,
        psn in any::<u32>(),
    ) -> Bth {
        let [solicited, migration, fecn, becn, ack_request] = marks;
        let psn = Psn::new(psn);
        Bth { opcode, solicited, migration, pkey, fecn, becn, dest_qp, ack_request, psn }
    }
}

fn header_and_extension() -> impl Strategy<Value = (Bth, Extension)> {
    header().prop_flat_map(|bth| (Just(bth), extension(bth.opcode.layout())))
}

fn ip() -> impl Strategy<Value = Ip> {
    prop_oneof![
        (any::<(u8, u16, bool, u8)>(), any::<[[u8; 4]; 2]>()).prop_map(|(fields, addresses)| {
            let (tos, identification, dont_fragment, ttl) = fields;
            let [source, destination] = addresses.map(Into::into);
            Ip::V4 {
                tos,
                identification,
                dont_fragment,
                ttl,
                source,
                destination,
            }
        }),
        (any::<(u8, u8)>(), 0..1_u32 << 20, any::<[[u8; 16]; 2]>()).prop_map(
            |((traffic_class, hop_limit), flow_label, addresses)| {
                let [source, destination] = addresses.map(Into::into);
                Ip::V6 {
                    traffic_class,
                    flow_label,
                    hop_limit,
                    source,
                    destination,
                }
            }
        ),
    ]
}

fn grh() -> impl Strategy<Value = Grh> {
    (any::<(u8, u8)>(), 0..1_u32 << 20, any::<[[u8; 16]; 2]>()).prop_map(
        |((traffic_class, hop_limit), flow_label, [source, destination])| Grh {
            traffic_class,
            flow_label,
            hop_limit,
            source: Gid(source),
            destination: Gid(destination),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (bth, extension) in header_and_extension(),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        ip in ip(),
        (vl, sl) in (0..16_u8, 0..16_u8),
        (dlid, slid) in any::<(u16, u16)>(),
        grh in prop::option::of(grh()),
        has_udp_checksum in any::<bool>(),
    ) {
        let packet = Packet::new(bth, extension, &payload);
        let mut written = Vec::new();
        packet.emit(&mut written);
        prop_assert_eq!(Packet::parse(&written), Ok(packet));

        let lrh = Lrh { vl, sl, dlid, slid };
        let native = NativeFrame { lrh, grh, packet };
        let mut written = Vec::new();
        native.emit(&mut written);
        prop_assert_eq!(NativeFrame::parse(&written), Ok(native));

        let roce = RoceFrame {
            destination_mac: [2; 6],
            source_mac: [4; 6],
            ip,
            source_port: 0xC000 | slid,
            has_udp_checksum,
            packet,
        };
        let mut written = Vec::new();
        roce.emit(&mut written);
        prop_assert_eq!(RoceFrame::parse(&written), Ok(roce));
    }

    #[test]
    fn no_bytes_make_the_readers_panic(noise in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = Packet::parse(&noise);
        let _ = NativeFrame::parse_invariant(&noise);
        let _ = RoceFrame::parse(&noise);
    }

    #[test]
    fn no_changed_frame_makes_the_readers_panic(
        row in 0..16_usize,
        cut in 0..100_usize,
        changes in prop::collection::vec((0..100_usize, any::<u8>()), 0..4),
    ) {
        let mut frame = bytes(rows(ROCE)[row][3]);
        for (at, byte) in changes {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        frame.truncate(frame.len().saturating_sub(cut));
        let _ = RoceFrame::parse(&frame);
    }
}
