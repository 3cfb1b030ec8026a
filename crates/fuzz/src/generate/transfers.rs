//! Transfers of remote memory: exchange of handles, then bursts of reads and writes.
//!
//! A burst comes from one side, and is complete before the next burst. Local bytes of a burst do
//! not overlap. Remote bytes may: writes are in order, reads see earlier writes, and a write that
//! overlaps with an earlier read has a fence. So a sequential execution determines all contents.

use super::Elemental;
use crate::command::{BUFFER, Command, Span};

/// Transfers in a burst. \[choice\]
const BURST: u32 = 4;

/// The longest transfer in bytes. \[choice\]
const LONGEST: u32 = 512;

impl Elemental<'_, '_> {
    /// Exchanges handles, transfers and checks the contents of both buffers, once or twice.
    pub(super) fn transfers(&mut self) {
        let connection = self.connection;
        let (first, end) = (self.sends + 1, 2 * self.sends);
        let middle = if self.flip() {
            end
        } else {
            self.between(first - 1, end)
        };
        self.exchange_handles(0);
        self.bursts(first, middle);
        if middle < end {
            self.append_element(|this| {
                this.both(&Command::RmaFreeHandles { connection });
                this.exchange_handles(1);
                this.bursts(middle + 1, end);
            });
        }
    }

    fn bursts(&mut self, mut next: u32, last: u32) {
        while next <= last {
            let burst = self.between(1, BURST).min(last + 1 - next);
            self.append_element(|this| this.burst(next, burst));
            next += burst;
        }
        self.append_element(|this| {
            this.both(&Command::RmaContent {
                connection: this.connection,
            });
        });
    }

    /// Exchanges the handles of both sides for the n-th time.
    fn exchange_handles(&mut self, time: u32) {
        let connection = self.connection;
        let first = 3 * self.sends + 1 + 2 * time;
        let sides = [(self.from, first), (self.to, first + 1)];
        for (worker, _) in sides {
            if self.flip() {
                self.append_element(|this| {
                    this.step(vec![(worker, Command::RmaReuseHandle { connection })]);
                });
            }
        }
        for (worker, message) in sides {
            let exchange = Command::RmaHandleExchange {
                connection,
                message,
            };
            self.step(vec![(worker, exchange)]);
        }
        let wait = |(worker, message)| {
            let wait = Command::RmaWaitExchange {
                connection,
                message,
            };
            (worker, wait)
        };
        self.step(sides.into_iter().map(wait).collect());
    }

    fn burst(&mut self, first: u32, count: u32) {
        let connection = self.connection;
        let (worker, peer) = self.direction();
        let prepare = Command::RmaPrepareRead {
            connection,
            message: first,
        };
        if self.flip() {
            self.append_element(|this| this.step(vec![(peer, prepare)]));
        }
        // Remote bytes of reads that a write could overtake.
        let mut read: Vec<(u32, u32)> = Vec::new();
        let mut waits: Vec<(u32, bool)> = Vec::new();
        for place in 0..count {
            let Some(element) = self.choices.enter() else {
                continue;
            };
            let message = first + place;
            let is_read = self.flip();
            let mut span = self.span(place);
            waits.push((message, span.quiet));
            let bytes = (span.remote, span.remote + span.length);
            let overlaps = |other: &(u32, u32)| bytes.0 < other.1 && other.0 < bytes.1;
            if !is_read && read.iter().any(overlaps) {
                span.fence = true;
            }
            if span.fence {
                read.clear();
            }
            if is_read {
                read.push(bytes);
            }
            self.step(vec![(
                worker,
                transfer_command((connection, message), span, is_read),
            )]);
            self.choices.leave_element(element);
        }
        for (message, is_quiet) in waits {
            let wait = Command::RmaWait {
                connection,
                message,
            };
            let mut commands = vec![(worker, wait.clone())];
            if !is_quiet {
                commands.push((peer, wait));
            }
            self.step(commands);
        }
    }

    /// Draws the bytes of a transfer of a burst.
    pub(super) fn span(&mut self, place: u32) -> Span {
        let slot = BUFFER / BURST;
        let length = self.between(1, LONGEST);
        Span {
            local: place * slot + self.between(0, slot - length),
            // Transfers of a burst overlap often.
            remote: self.between(0, LONGEST),
            length,
            fence: self.choices.once_in(4),
            quiet: self.choices.once_in(4),
        }
    }
}

pub(super) const fn transfer_command(
    (connection, message): (u32, u32),
    span: Span,
    is_read: bool,
) -> Command {
    if is_read {
        Command::RmaRead {
            connection,
            message,
            span,
        }
    } else {
        Command::RmaWrite {
            connection,
            message,
            span,
        }
    }
}
