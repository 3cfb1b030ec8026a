//! The tester: plays the steps of a dialogue with a device, and compares.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::form::RemoteMemory;
use super::responder::RECEIVE_ID;
use super::step::{Dialogue, DialogueStep};
use super::{
    CaseVerdict, DeviceCommand, DeviceCompletion, DeviceReply, DialogueCase, DialogueParameters,
    FormHeaders, Mismatch, OpenedDevice, PacketForm, PatternData, TesterEnd, WordValue,
};
use crate::WcStatus;
use crate::wire::{Extension, Packet};

/// A packet from a device: its bytes from the base transport header to the padding, or the reason
/// why the received bytes are no packet.
pub type Arrival = Result<Vec<u8>, String>;

/// An adapter under test, and the wire to the adapter.
pub trait DeviceUnderTest {
    /// Executes a command on the device's side.
    ///
    /// # Errors
    /// A sentence, if the device refuses the command or is not reached.
    fn command(&mut self, command: &DeviceCommand) -> Result<DeviceReply, String>;

    /// Sends a packet to the device.
    ///
    /// # Errors
    /// A sentence, if the wire is broken.
    fn transmit(&mut self, packet: &Packet<'_>) -> Result<(), String>;

    /// Returns the next packet of the device; `None` if none comes until a time, in picoseconds.
    ///
    /// # Errors
    /// A sentence, if the wire is broken.
    fn receive(&mut self, until: u64) -> Result<Option<Arrival>, String>;

    /// Returns the time in picoseconds.
    fn now(&self) -> u64;

    /// Returns a time before which the last packet received had not arrived, in picoseconds: at
    /// most [`now`](Self::now), since a tester of real adapters may look late.
    fn arrived_after(&self) -> u64;

    /// Returns by how much a device's timer may be too short, in picoseconds.
    fn tolerance(&self) -> u64;

    /// Returns the time after which a device that has no event to wait for counts as silent, in
    /// picoseconds.
    fn quiet_time(&self) -> u64;
}

/// Time to wait for an action of a device, in picoseconds: more than the longest acknowledgement
/// timeout of a case, which may be four times as long as its code says (IBA 9.9.2.1.1).
const PATIENCE: u64 = 6_000_000_000_000;

/// Time between polls of completions, in picoseconds.
const POLL_INTERVAL: u64 = 2_000_000_000;

/// Packets that are dropped after a dialogue at most: more than the requests of a case can bring.
const LEFT_OVER_MAX: usize = 1000;

/// The end of a dialogue that does not continue.
enum Stop {
    Mismatch(Mismatch),
    /// The device cannot be used.
    Device(String),
}

impl From<String> for Stop {
    fn from(problem: String) -> Self {
        Self::Device(problem)
    }
}

/// Plays a case with a device.
///
/// # Errors
/// A sentence, if the device cannot be used or the case cannot be read: no verdict.
pub fn run_case(
    case: &DialogueCase,
    parameters: &DialogueParameters,
    device: &mut dyn DeviceUnderTest,
) -> Result<CaseVerdict, String> {
    run_dialogue(&case.dialogue(parameters)?, device)
}

/// Plays a dialogue with a device.
///
/// # Errors
/// A sentence, if the device cannot be used: no verdict.
pub fn run_dialogue(
    dialogue: &Dialogue,
    device: &mut dyn DeviceUnderTest,
) -> Result<CaseVerdict, String> {
    let opened = match device.command(&DeviceCommand::Open(dialogue.setup))? {
        DeviceReply::Opened(opened) => opened,
        other => return Err(format!("the device replies {other:?} to a command to open")),
    };
    let verdict = match why_not_applicable(&opened, dialogue) {
        Some(reason) => Ok(CaseVerdict::NotApplicable(reason)),
        None => Conversation::new(device, opened).play(dialogue),
    };
    device.command(&DeviceCommand::Close)?;
    if matches!(verdict, Ok(CaseVerdict::Fail(_))) {
        drop_packets(device)?;
    }
    verdict
}

/// Drops the packets of a dialogue that has failed: they do not belong to the next dialogue.
fn drop_packets(device: &mut dyn DeviceUnderTest) -> Result<(), String> {
    for _ in 0..LEFT_OVER_MAX {
        if device
            .receive(device.now() + device.quiet_time())?
            .is_none()
        {
            break;
        }
    }
    Ok(())
}

fn why_not_applicable(opened: &OpenedDevice, dialogue: &Dialogue) -> Option<String> {
    let mtu = dialogue.setup.parameters.mtu.bytes();
    if opened.max_mtu < mtu {
        let most = opened.max_mtu;
        return Some(format!("the path MTU is {mtu}, that of the port {most}"));
    }
    let is_atomic = |step: &DialogueStep| {
        let (DialogueStep::Send(form) | DialogueStep::Expect(form)) = step else {
            return false;
        };
        matches!(form.headers, FormHeaders::Atomic { .. })
    };
    if dialogue.steps.iter().any(is_atomic) && !opened.has_atomics {
        return Some("the device supports no atomic operations".to_owned());
    }
    let returns_data = |step: &&DialogueStep| matches!(step, DialogueStep::Post { operation, .. } if operation.returns_data());
    let outstanding = dialogue.steps.iter().filter(returns_data).count();
    let limit = opened.max_rd_atomic as usize;
    let reason = || format!("{outstanding} reads or atomics have to be outstanding, not {limit}");
    (limit < outstanding).then(reason)
}

/// A dialogue in progress.
struct Conversation<'a> {
    device: &'a mut dyn DeviceUnderTest,
    opened: OpenedDevice,
    base: u64,
    /// Packets that came before they were asked for.
    arrived: VecDeque<Arrival>,
    completions: VecDeque<DeviceCompletion>,
    /// A time before which the last packet was not there.
    last_packet: u64,
    step: usize,
}

impl<'a> Conversation<'a> {
    fn new(device: &'a mut dyn DeviceUnderTest, opened: OpenedDevice) -> Self {
        Self {
            last_packet: device.now(),
            device,
            opened,
            base: 0,
            arrived: VecDeque::new(),
            completions: VecDeque::new(),
            step: 0,
        }
    }

    fn play(mut self, dialogue: &Dialogue) -> Result<CaseVerdict, String> {
        let mut played = Ok(());
        for step in &dialogue.steps {
            self.step += 1;
            played = self.play_step(step);
            if played.is_err() {
                break;
            }
        }
        let quiet_time = self.device.quiet_time();
        let ended = played.and_then(|()| {
            self.step += 1;
            self.silence("the end of the dialogue", self.device.now() + quiet_time)
        });
        match ended {
            Ok(()) => Ok(CaseVerdict::Pass),
            Err(Stop::Mismatch(mismatch)) => Ok(CaseVerdict::Fail(mismatch)),
            Err(Stop::Device(problem)) => Err(problem),
        }
    }

    fn play_step(&mut self, step: &DialogueStep) -> Result<(), Stop> {
        match *step {
            DialogueStep::Send(form) => self.send_form(&form),
            DialogueStep::Expect(form) => self.expect_packet(&form),
            DialogueStep::Silence(time) => self.pause(time),
            DialogueStep::Post {
                request,
                operation,
                length,
            } => self.send_command(&DeviceCommand::Post {
                request,
                operation,
                length,
            }),
            DialogueStep::PostReceive => self.send_command(&DeviceCommand::PostReceive),
            DialogueStep::ExpectCompletion { request, status } => {
                let name = format!("completion of request {request}");
                self.expect_completion(&name, request, status, None)
            }
            DialogueStep::ExpectReceived { receive, result } => {
                let name = format!("completion of receive {receive}");
                let (id, status) = (RECEIVE_ID + u64::from(receive), result.err());
                let status = status.unwrap_or(WcStatus::Success);
                self.expect_completion(&name, id, status, result.ok())
            }
            DialogueStep::ExpectMemory(offset, data) => self.expect_memory(offset, data),
            DialogueStep::ExpectWord(offset, value) => self.expect_word(offset, value),
        }
    }

    /// Compares; the first difference ends the dialogue.
    fn same<T: PartialEq + Debug>(
        &self,
        packet: &str,
        field: &'static str,
        expected: &T,
        got: &T,
    ) -> Result<(), Stop> {
        if expected == got {
            return Ok(());
        }
        self.differs(packet, field, format!("{expected:?}"), format!("{got:?}"))
    }

    fn differs(
        &self,
        packet: &str,
        field: &'static str,
        expected: String,
        got: String,
    ) -> Result<(), Stop> {
        Err(Stop::Mismatch(Mismatch {
            step: self.step,
            packet: packet.to_owned(),
            field,
            expected,
            got,
        }))
    }

    fn send_command(&mut self, command: &DeviceCommand) -> Result<(), Stop> {
        match self.device.command(command)? {
            DeviceReply::Done => Ok(()),
            other => Err(format!("the device replies {other:?} to {command:?}").into()),
        }
    }

    fn send_form(&mut self, form: &PacketForm) -> Result<(), Stop> {
        let remote = RemoteMemory {
            address: self.opened.address,
            key: self.opened.rkey,
        };
        let mut payload = Vec::new();
        let packet = form.build_packet((self.opened.qp_num, remote), self.base, &mut payload);
        self.last_packet = self.device.now();
        self.device.transmit(&packet)?;
        Ok(())
    }

    /// Returns the next packet, if one comes until a time.
    fn next_arrival(&mut self, until: u64) -> Result<Option<Arrival>, Stop> {
        let arrival = self.device.receive(until)?;
        if arrival.is_some() {
            self.last_packet = self.device.arrived_after();
        }
        Ok(arrival)
    }

    fn expect_packet(&mut self, form: &PacketForm) -> Result<(), Stop> {
        let name = format!("{:?} with PSN {}", form.opcode, form.psn);
        let arrival = match self.arrived.pop_front() {
            Some(arrival) => Some(arrival),
            None => self.next_arrival(self.device.now() + PATIENCE)?,
        };
        match arrival {
            None => self.differs(&name, "packet", name.clone(), "none".to_owned()),
            Some(Err(problem)) => self.differs(&name, "packet", name.clone(), problem),
            Some(Ok(bytes)) => match Packet::parse(&bytes) {
                Ok(packet) => self.compare_packet(&name, form, &packet),
                Err(error) => self.differs(&name, "packet", name.clone(), error.to_string()),
            },
        }
    }

    fn compare_packet(
        &mut self,
        name: &str,
        form: &PacketForm,
        got: &Packet<'_>,
    ) -> Result<(), Stop> {
        let bth = got.bth();
        self.same(name, "opcode", &form.opcode, &bth.opcode)?;
        self.same(name, "PSN", &form.psn, &bth.psn)?;
        self.same(name, "destination queue pair", &TesterEnd::QP, &bth.dest_qp)?;
        self.same(name, "partition key", &0x7FFF, &(bth.pkey & 0x7FFF))?;
        self.same(name, "solicited event", &false, &bth.solicited)?;
        if let Some(asks) = form.ack_request {
            self.same(name, "AckReq", &asks, &bth.ack_request)?;
        }
        self.compare_headers(name, form, got.extension())?;
        let expected = form.payload.bytes();
        self.compare_bytes(name, "payload", &expected, got.payload())
    }

    fn compare_headers(
        &mut self,
        name: &str,
        form: &PacketForm,
        got: &Extension,
    ) -> Result<(), Stop> {
        let expected = form.extension(RemoteMemory::TESTER, self.base);
        match (form.headers, expected, *got) {
            (FormHeaders::Reth { .. }, Extension::Reth(expected), Extension::Reth(got)) => {
                self.same(name, "virtual address", &expected.address, &got.address)?;
                self.same(name, "R_Key", &expected.rkey, &got.rkey)?;
                self.same(name, "DMA length", &expected.length, &got.length)
            }
            (
                FormHeaders::Atomic { .. },
                Extension::AtomicEth(expected),
                Extension::AtomicEth(got),
            ) => {
                self.same(name, "virtual address", &expected.address, &got.address)?;
                self.same(name, "R_Key", &expected.rkey, &got.rkey)?;
                let (add, found) = (expected.swap_or_add, got.swap_or_add);
                self.same(name, "swap or add data", &add, &found)?;
                // A FetchAdd does not compare (IBA 9.4.5.2).
                if form.opcode == crate::wire::Opcode::RcCompareSwap {
                    self.same(name, "compare data", &expected.compare, &got.compare)?;
                }
                Ok(())
            }
            (FormHeaders::Aeth { syndrome, msn }, _, Extension::Aeth(got)) => {
                if !syndrome.fits(got.syndrome) {
                    let (expected, got) = (format!("{syndrome:?}"), format!("{:?}", got.syndrome));
                    return self.differs(name, "syndrome", expected, got);
                }
                self.same(name, "MSN", &msn, &got.msn)
            }
            (FormHeaders::AtomicAck { msn, original }, _, Extension::AtomicAck(aeth, got)) => {
                if !super::SyndromeForm::Ack.fits(aeth.syndrome) {
                    let (expected, got) = ("Ack".to_owned(), format!("{:?}", aeth.syndrome));
                    return self.differs(name, "syndrome", expected, got);
                }
                if let Some(msn) = msn {
                    self.same(name, "MSN", &msn, &aeth.msn)?;
                }
                self.compare_word(name, "original value", original, got)
            }
            (_, expected, got) => self.same(name, "extended headers", &expected, &got),
        }
    }

    fn compare_word(
        &mut self,
        name: &str,
        field: &'static str,
        expected: WordValue,
        got: u64,
    ) -> Result<(), Stop> {
        match expected.number_from_base(self.base) {
            Some(number) if number != got => {
                let hex = |number: u64| format!("{number:#018x}");
                self.differs(name, field, hex(number), hex(got))
            }
            Some(_) => Ok(()),
            None => {
                self.base = got;
                Ok(())
            }
        }
    }

    fn compare_bytes(
        &self,
        name: &str,
        field: &'static str,
        expected: &[u8],
        got: &[u8],
    ) -> Result<(), Stop> {
        let bytes = |count: usize| format!("{count} bytes");
        if expected.len() != got.len() {
            return self.differs(name, field, bytes(expected.len()), bytes(got.len()));
        }
        let different = expected.iter().zip(got).position(|(one, two)| one != two);
        let Some(at) = different else {
            return Ok(());
        };
        let byte = |bytes: &[u8]| format!("{:#04x} at byte {at}", bytes[at]);
        self.differs(name, field, byte(expected), byte(got))
    }

    fn poll_completions(&mut self) -> Result<(), Stop> {
        match self.device.command(&DeviceCommand::Poll)? {
            DeviceReply::Completions(found) => {
                self.completions.extend(found);
                Ok(())
            }
            other => Err(format!("the device replies {other:?} to a poll").into()),
        }
    }

    fn expect_completion(
        &mut self,
        name: &str,
        id: u64,
        status: WcStatus,
        bytes: Option<u32>,
    ) -> Result<(), Stop> {
        let end = self.device.now() + PATIENCE;
        self.poll_completions()?;
        while self.completions.is_empty() && self.device.now() < end {
            let until = self.device.now() + POLL_INTERVAL;
            let arrival = self.next_arrival(until)?;
            self.arrived.extend(arrival);
            self.poll_completions()?;
        }
        let Some(got) = self.completions.pop_front() else {
            return self.differs(name, "completion", name.to_owned(), "none".to_owned());
        };
        self.same(name, "work request", &id, &got.id)?;
        self.same(name, "status", &status, &got.status)?;
        if let Some(bytes) = bytes {
            self.same(name, "length", &bytes, &got.length)?;
        }
        Ok(())
    }

    /// Expects no packet and no completion for a time after the last packet. A packet that a tester
    /// finds only later may have arrived later: the packet belongs to the next step.
    fn pause(&mut self, time: u64) -> Result<(), Stop> {
        let end = self.last_packet + time;
        let early = end - self.device.tolerance();
        let (arrival, is_late) = match self.arrived.pop_front() {
            Some(arrival) => (Some(arrival), false),
            None => (self.next_arrival(early - 1)?, self.device.now() >= early),
        };
        match arrival {
            Some(arrival) if is_late => {
                self.last_packet = self.last_packet.max(early);
                self.arrived.push_back(arrival);
                Ok(())
            }
            Some(arrival) => self.unexpected("silence", &arrival),
            None => {
                self.poll_completions()?;
                if self.device.now() < end {
                    self.no_completion("silence")?;
                }
                Ok(())
            }
        }
    }

    /// Expects no packet and no completion until a time.
    fn silence(&mut self, name: &str, until: u64) -> Result<(), Stop> {
        let arrival = match self.arrived.pop_front() {
            Some(arrival) => Some(arrival),
            None => self.next_arrival(until)?,
        };
        if let Some(arrival) = arrival {
            return self.unexpected(name, &arrival);
        }
        self.poll_completions()?;
        self.no_completion(name)
    }

    fn unexpected(&self, name: &str, arrival: &Arrival) -> Result<(), Stop> {
        self.differs(name, "packet", "nothing".to_owned(), described(arrival))
    }

    fn no_completion(&self, name: &str) -> Result<(), Stop> {
        let Some(found) = self.completions.front() else {
            return Ok(());
        };
        let got = format!("completion {} with {:?}", found.id, found.status);
        self.differs(name, "completion", "nothing".to_owned(), got)
    }

    fn read_memory(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, Stop> {
        match self
            .device
            .command(&DeviceCommand::Read { offset, length })?
        {
            DeviceReply::Bytes(bytes) => Ok(bytes),
            other => Err(format!("the device replies {other:?} to a command to read").into()),
        }
    }

    fn expect_memory(&mut self, offset: u64, data: PatternData) -> Result<(), Stop> {
        let got = self.read_memory(offset, data.length)?;
        let name = format!("memory at offset {offset}");
        self.compare_bytes(&name, "content", &data.bytes(), &got)
    }

    fn expect_word(&mut self, offset: u64, value: WordValue) -> Result<(), Stop> {
        let got = self.read_memory(offset, 8)?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&got);
        let name = format!("memory at offset {offset}");
        self.compare_word(&name, "value", value, u64::from_ne_bytes(bytes))
    }
}

fn described(arrival: &Arrival) -> String {
    let packet = arrival.as_ref().map(|bytes| Packet::parse(bytes));
    match packet {
        Ok(Ok(packet)) => {
            let bth = packet.bth();
            format!("{:?} with PSN {}", bth.opcode, bth.psn)
        }
        Ok(Err(error)) => error.to_string(),
        Err(problem) => problem.clone(),
    }
}
