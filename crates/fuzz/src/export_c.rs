//! An interaction as a C program against libibverbs, for a failure below endpoints: the program can
//! be sent to the vendor of an adapter.
//!
//! All workers are in one process, on one adapter. Connections are made without the handshake of
//! endpoints. Unreliable connections, which are no queue pairs, are left out, as are functions of
//! an endpoint itself: flags that concern events, keepalive, reuse of buffers. The program ends
//! with status 1 if a completion is missing or fails, or a message or a byte of a region is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::command::{Attribute, BUFFER, Command, Span};
use crate::interaction::Interaction;
use crate::pattern::pattern;

/// Functions of all programs in C.
pub(crate) const ADAPTER: &str = include_str!("export/adapter.c");

/// Returns the text of the program; `failure` describes the reproduced failure.
pub fn c_program(interaction: &Interaction, failure: &str) -> String {
    let mut export = Export::default();
    for one in interaction.commands() {
        if let Command::ConnectTo {
            to,
            connection,
            attribute,
            ..
        } = one.command
            && attribute != Attribute::Uu
        {
            export.ends.insert(connection, (one.worker, to));
        }
    }
    for (number, step) in interaction.steps.iter().enumerate() {
        for one in &step.commands {
            let _ = writeln!(
                export.body,
                "  step = \"step {number}\"; /* {}: {:?} */",
                one.worker, one.command
            );
            export.export_command(one.worker, &one.command);
        }
    }
    let description = failure.replace("*/", "* /").replace('\n', " ");
    let connections = export.ends.keys().max().map_or(1, |most| most + 1);
    format!(
        "/* {description}\n\n   An interaction of `simrun fuzz`, as a program against libibverbs: cc -o program FILE -libverbs;\n   \
         ./program [ADAPTER]. Exit status 0 if the adapter does what it should. */\n\n{ADAPTER}{}\
         static struct connection c[{connections}];\n\nint main(int argc, char **argv) {{\n  \
         open_adapter(argc > 1 ? argv[1] : NULL);\n{}  puts(\"as expected\");\n  return 0;\n}}\n",
        include_str!("export/verbs.c"),
        export.body
    )
}

/// A transfer that was not waited for.
struct OpenTransfer {
    /// The connection and the message.
    key: (u32, u32),
    /// The side with the changed region, and the offset in the region.
    side: u32,
    offset: u32,
    /// Delivered bytes; `None` for bytes that a later transfer may have changed.
    bytes: Vec<Option<u8>>,
}

#[derive(Default)]
struct Export {
    /// Workers of reliable connections.
    ends: BTreeMap<u32, (u32, u32)>,
    /// Connections on which a transfer may fail.
    broken: BTreeSet<u32>,
    /// Contents of regions in a sequential execution, by connection and side.
    regions: BTreeMap<(u32, u32), Vec<u8>>,
    open: Vec<OpenTransfer>,
    body: String,
}

impl Export {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "  {line};");
    }

    fn export_command(&mut self, worker: u32, command: &Command) {
        let connection = command.connection();
        let Some(&(from, _)) = self.ends.get(&connection) else {
            return;
        };
        let side = u32::from(worker != from);
        let (at, message) = (
            format!("&c[{connection}], {side}"),
            command.message_number().unwrap_or(0),
        );
        let key = (connection, side);
        match command {
            Command::WaitConnection { .. } if side == 0 => {
                self.line(&format!("open_connection(&c[{connection}])"));
            }
            Command::Send { length, .. } => {
                self.line(&format!("send_message({at}, {message}, {length})"));
            }
            Command::WaitSendCompletion { .. } => {
                self.line(&format!("wait_sent({at}, {message})"));
            }
            Command::WaitReceive { .. } => self.line(&format!("wait_received({at}, {message})")),
            Command::RmaHandleExchange { .. } => {
                self.regions.insert(key, vec![0; BUFFER as usize]);
                self.line(&format!("register_region({at})"));
            }
            Command::RmaPrepareRead { .. } => {
                let bytes = (0..BUFFER).map(|place| pattern(message, place));
                self.regions.insert(key, bytes.collect());
                self.line(&format!("prepare_region({at}, {message})"));
            }
            Command::RmaWrite { span, .. } => self.export_write(key, message, *span),
            Command::RmaRead { span, .. } => self.export_read(key, message, *span),
            Command::RmaWait { .. } => self.export_wait(key, message),
            Command::RmaContent { .. } => self.export_region_check(key),
            Command::RmaDeregister { .. } => {
                self.broken.insert(connection);
                self.line(&format!("deregister_region({at})"));
            }
            Command::Disconnect { .. } => {
                self.line(&format!("close_side(&c[{connection}].side[{side}])"));
            }
            _ => {}
        }
    }

    fn export_transfer(
        &mut self,
        (connection, side): (u32, u32),
        message: u32,
        span: Span,
        opcode: &str,
    ) {
        let Span {
            local,
            remote,
            length,
            ..
        } = span;
        let (fence, quiet) = (u8::from(span.fence), u8::from(span.quiet));
        self.line(&format!(
            "transfer(&c[{connection}], {side}, {message}, {opcode}, {local}, {remote}, {length}, {fence}, {quiet})"
        ));
    }

    fn export_write(&mut self, key: (u32, u32), message: u32, span: Span) {
        let (connection, side) = key;
        let Span { local, length, .. } = span;
        self.line(&format!(
            "fill_region(&c[{connection}], {side}, {message}, {local}, {length})"
        ));
        let bytes: Vec<u8> = (0..length).map(|place| pattern(message, place)).collect();
        self.update_region((connection, side), local, &bytes);
        self.note_open((connection, message), (1 - side, span.remote), bytes);
        self.export_transfer(key, message, span, "IBV_WR_RDMA_WRITE");
    }

    fn export_read(&mut self, key: (u32, u32), message: u32, span: Span) {
        let (connection, side) = key;
        let remote = self.regions.get(&(connection, 1 - side));
        let bytes = (span.remote..span.remote + span.length)
            .map(|place| remote.map_or(0, |remote| remote[place as usize]))
            .collect();
        self.note_open((connection, message), (side, span.local), bytes);
        self.export_transfer(key, message, span, "IBV_WR_RDMA_READ");
    }

    fn update_region(&mut self, key: (u32, u32), offset: u32, bytes: &[u8]) {
        if let Some(region) = self.regions.get_mut(&key) {
            let begin = offset as usize;
            region[begin..begin + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Records a transfer with the bytes that the transfer delivers.
    fn note_open(&mut self, key: (u32, u32), (side, offset): (u32, u32), bytes: Vec<u8>) {
        self.update_region((key.0, side), offset, &bytes);
        for place in (offset..).take(bytes.len()) {
            for old in &mut self.open {
                let is_there = (old.key.0, old.side) == (key.0, side);
                let at = place.checked_sub(old.offset).filter(|_| is_there);
                if let Some(byte) = at.and_then(|at| old.bytes.get_mut(at as usize)) {
                    *byte = None;
                }
            }
        }
        self.open.push(OpenTransfer {
            key,
            side,
            offset,
            bytes: bytes.into_iter().map(Some).collect(),
        });
    }

    /// Waits for a transfer, at the worker that has started the transfer or at the peer, and checks
    /// the delivered bytes there.
    fn export_wait(&mut self, (connection, side): (u32, u32), message: u32) {
        let is_peer = {
            let marker = format!("transfer(&c[{connection}], {side}, {message}, ");
            !self.body.contains(&marker)
        };
        if is_peer {
            self.line(&format!(
                "wait_received(&c[{connection}], {side}, {message})"
            ));
        } else if self.broken.contains(&connection) {
            self.line(&format!(
                "(void)wait_transfer(&c[{connection}], {side}, {message})"
            ));
            return;
        } else {
            self.line(&format!(
                "if (!wait_transfer(&c[{connection}], {side}, {message})) fail(\"a transfer failed\", {message})"
            ));
        }
        let brought = self
            .open
            .iter()
            .position(|one| one.key == (connection, message) && one.side == side);
        let Some(brought) = brought.map(|at| self.open.remove(at)) else {
            return;
        };
        self.export_byte_check((connection, side), brought.offset as usize, &brought.bytes);
    }

    /// Exports the check of a region; bytes of transfers that were not waited for are left out.
    fn export_region_check(&mut self, key: (u32, u32)) {
        let Some(region) = self.regions.get(&key) else {
            return;
        };
        let mut bytes: Vec<Option<u8>> = region.iter().copied().map(Some).collect();
        for one in self.open.iter().filter(|one| (one.key.0, one.side) == key) {
            for byte in bytes
                .iter_mut()
                .skip(one.offset as usize)
                .take(one.bytes.len())
            {
                *byte = None;
            }
        }
        self.export_byte_check(key, 0, &bytes);
    }

    /// Exports the check of bytes of a region.
    fn export_byte_check(
        &mut self,
        (connection, side): (u32, u32),
        offset: usize,
        bytes: &[Option<u8>],
    ) {
        let mut place = 0;
        while place < bytes.len() {
            let run: Vec<u8> = bytes[place..].iter().map_while(|byte| *byte).collect();
            if !run.is_empty() {
                let list: Vec<String> = run.iter().map(ToString::to_string).collect();
                self.line(&format!(
                    "expect(&c[{connection}], {side}, {}, (const unsigned char[]){{{}}}, {})",
                    offset + place,
                    list.join(", "),
                    run.len()
                ));
            }
            place += run.len().max(1);
        }
    }
}
