//! A program of work requests in C against libibverbs, for the vendor of an adapter.
//!
//! Both sides are in one process, on one adapter. The program ends with status 1 if a completion, a
//! byte of a region or a state differs from the model; faults of the network are left out.

use std::fmt::Write as _;

use rdma::{QpState, WcOpcode};

use super::execution::{WRONG_KEY, target_offset};
use super::layout::{Slots, target_number};
use super::model::{CompletionRecord, Model, SideObservation};
use super::program::{Receive, Request, RequestFault, RequestKind, VerbsProgram};
use crate::export_c::ADAPTER;

/// Returns the text of the C program.
pub fn c_source(program: &VerbsProgram) -> Result<String, String> {
    let expected = Model::expected_observation(program)?;
    let mut export = Export {
        slots: Vec::new(),
        posted: vec![[[0; 2]; 2]; program.connections.len()],
        body: String::new(),
    };
    for number in 0..program.connections.len() {
        export.export_connection(program, number);
    }
    let mut model = Model::new(program);
    for (number, round) in program.rounds.iter().enumerate() {
        export.line(&format!("step = \"rounds[{number}]\""));
        for receive in &round.receives {
            export.export_receive(receive);
        }
        for request in &round.requests {
            export.request(request);
        }
        model.execute_round(round)?;
        export.export_wait(program, &model);
    }
    for (connection, sides) in expected.iter().enumerate() {
        for (side, expected) in sides.iter().enumerate() {
            export.export_observation(connection, side, expected);
        }
    }
    Ok(format!(
        "/* A program of `simrun fuzz --layer verbs`, against libibverbs: cc -o program FILE -libverbs;\n   \
         ./program [ADAPTER]. Exit status 0 if the adapter does what it should. */\n\n{ADAPTER}{}\
         static struct connection c[{}];\n\nint main(int argc, char **argv) {{\n  \
         open_adapter(argc > 1 ? argv[1] : NULL);\n{}  puts(\"as expected\");\n  return 0;\n}}\n",
        include_str!("../export/requests.c"),
        program.connections.len(),
        export.body
    ))
}

struct Export {
    /// By connection and side.
    slots: Vec<[Slots; 2]>,
    /// Requests and receives that were posted, by connection and side.
    posted: Vec<[[usize; 2]; 2]>,
    body: String,
}

impl Export {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "  {line};");
    }

    fn export_connection(&mut self, program: &VerbsProgram, number: usize) {
        let connection = program.connections[number];
        let mut access = "IBV_ACCESS_LOCAL_WRITE".to_owned();
        for (is_set, name) in [
            (connection.access.write, "WRITE"),
            (connection.access.read, "READ"),
            (connection.access.atomic, "ATOMIC"),
        ] {
            if is_set {
                let _ = write!(access, " | IBV_ACCESS_REMOTE_{name}");
            }
        }
        let slots = [0, 1].map(|side| Slots::new(program, number, side));
        for (side, slots) in slots.iter().enumerate() {
            let (pattern, length) = (target_number(number, side), slots.content.len());
            self.line(&format!(
                "make_side(&c[{number}].side[{side}], {access}, {pattern}, {length})"
            ));
            let requests = program.requests((number, side)).zip(&slots.requests);
            for (at, (request, offset)) in (1..).zip(requests) {
                if !request.kind.returns_data() {
                    self.line(&format!(
                        "fill(c[{number}].side[{side}].local + {offset}, {at}, 0, {})",
                        request.length
                    ));
                }
            }
        }
        for (side, peer) in [(0, 1), (1, 0)] {
            self.line(&format!(
                "connect_qp(c[{number}].side[{side}].qp, c[{number}].side[{peer}].qp, \
                 IBV_MTU_{}, {}, {}, {}, {})",
                program.mtu,
                connection.psn,
                connection.max_rd_atomic,
                connection.retry_cnt,
                connection.rnr_retry
            ));
        }
        self.slots.push(slots);
    }

    /// Returns the number of the next request or receive of a side.
    fn next_number(&mut self, (connection, side): (usize, usize), kind: usize) -> usize {
        let posted = &mut self.posted[connection][side][kind];
        *posted += 1;
        *posted - 1
    }

    fn export_receive(&mut self, receive: &Receive) {
        let (connection, side) = (receive.connection, receive.side);
        let number = self.next_number((connection, side), 1);
        let offset = self.slots[connection][side].receives[number];
        self.line(&format!(
            "post_receive(&c[{connection}].side[{side}], {number}, {offset}, {})",
            receive.length
        ));
    }

    fn request(&mut self, request: &Request) {
        let (connection, side) = (request.connection, request.side);
        let number = self.next_number((connection, side), 0);
        let offset = self.slots[connection][side].requests[number];
        let flags: String = [
            (!request.unsignaled, "IBV_SEND_SIGNALED | "),
            (request.fence, "IBV_SEND_FENCE | "),
            (request.solicited, "IBV_SEND_SOLICITED | "),
            (request.inline, "IBV_SEND_INLINE | "),
        ]
        .iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, name)| *name)
        .collect();
        let key = |fault| {
            if request.fault == Some(fault) {
                WRONG_KEY
            } else {
                0
            }
        };
        self.line(&format!(
            "post_request(&c[{connection}], {side}, {number}, {}, {flags}0, {offset}, {}, {}, {}, {}, {}, {})",
            opcode(request.kind),
            request.length,
            target_offset(request),
            request.value,
            request.compare,
            key(RequestFault::WrongLkey),
            key(RequestFault::WrongRkey)
        ));
    }

    fn export_wait(&mut self, program: &VerbsProgram, model: &Model) {
        let count = program.connections.len();
        let row = |number| {
            let ([sends, receives], [others, taken]) =
                (model.completions(number, 0), model.completions(number, 1));
            format!("{{{sends}, {receives}, {others}, {taken}}}")
        };
        let rows: Vec<String> = (0..count).map(row).collect();
        self.line(&format!(
            "await(c, {count}, (const int[][4]){{{}}})",
            rows.join(", ")
        ));
    }

    fn export_observation(
        &mut self,
        connection: usize,
        side: usize,
        expected: &SideObservation<Option<u8>>,
    ) {
        self.line(&format!("step = \"connection {connection}, side {side}\""));
        let place = format!("c[{connection}].side[{side}]");
        for (kind, completions) in [&expected.sends, &expected.receives].iter().enumerate() {
            for (at, completion) in completions.iter().enumerate() {
                self.line(&format!(
                    "expect_completion(&{place}, {kind}, {at}, {})",
                    fields(completion)
                ));
            }
        }
        let state = if expected.state == QpState::Err {
            "ERR"
        } else {
            "RTS"
        };
        let (sends, receives) = (expected.sends.len(), expected.receives.len());
        self.line(&format!(
            "expect_state(&{place}, IBV_QPS_{state}, {sends}, {receives})"
        ));
        for (region, bytes) in [("target", &expected.target), ("local", &expected.local)] {
            self.expect_bytes(&format!("{place}.{region}"), bytes);
        }
    }

    /// Checks the bytes of a region that are defined.
    fn expect_bytes(&mut self, region: &str, bytes: &[Option<u8>]) {
        let mut begin = 0;
        while begin < bytes.len() {
            let defined = bytes[begin..].iter().map_while(|byte| *byte);
            let run: Vec<String> = defined.map(|byte| byte.to_string()).collect();
            if !run.is_empty() {
                self.line(&format!(
                    "expect({region}, {begin}, (const unsigned char[]){{{}}}, {})",
                    run.join(", "),
                    run.len()
                ));
            }
            begin += run.len().max(1);
        }
    }
}

const fn opcode(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Send => "IBV_WR_SEND",
        RequestKind::SendWithImm => "IBV_WR_SEND_WITH_IMM",
        RequestKind::Write => "IBV_WR_RDMA_WRITE",
        RequestKind::WriteWithImm => "IBV_WR_RDMA_WRITE_WITH_IMM",
        RequestKind::Read => "IBV_WR_RDMA_READ",
        RequestKind::FetchAdd => "IBV_WR_ATOMIC_FETCH_AND_ADD",
        RequestKind::CompareSwap => "IBV_WR_ATOMIC_CMP_AND_SWP",
    }
}

/// Returns the fields of a completion: number, status, opcode, length and immediate data.
fn fields(completion: &CompletionRecord) -> String {
    let opcode = completion.opcode.map_or("0", |opcode| match opcode {
        WcOpcode::Send => "IBV_WC_SEND",
        WcOpcode::RdmaWrite => "IBV_WC_RDMA_WRITE",
        WcOpcode::RdmaRead => "IBV_WC_RDMA_READ",
        WcOpcode::CompSwap => "IBV_WC_COMP_SWAP",
        WcOpcode::FetchAdd => "IBV_WC_FETCH_ADD",
        WcOpcode::Recv => "IBV_WC_RECV",
        WcOpcode::RecvRdmaWithImm => "IBV_WC_RECV_RDMA_WITH_IMM",
    });
    format!(
        "{}, {}, {opcode}, {}, {}",
        completion.wr_id,
        completion.status.name(),
        completion.byte_len,
        completion.imm_data.unwrap_or(0)
    )
}
