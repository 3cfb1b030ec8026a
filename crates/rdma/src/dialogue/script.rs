//! The language of cases: one step a line, as in packetdrill.
//!
//! A file is a family. Its blocks are separated by empty lines: a block that begins with `case` is
//! a case, and another block sets `family`, or the `rule` and the `note` of the next cases.
//!
//! | line | step |
//! |---|---|
//! | `set NAME=NUMBER …` | setup of the device; `access=write` leaves only that right |
//! | `> PACKET` | the tester sends |
//! | `< PACKET` | the device sends |
//! | `post REQUEST OPERATION LENGTH …` | the device posts a request |
//! | `receive` | the device posts one more receive |
//! | `completes REQUEST STATUS` | a request completes |
//! | `received RECEIVE LENGTH` or `STATUS` | a receive completes |
//! | `silence MICROSECONDS` | the device does nothing |
//! | `memory OFFSET DATA`, `word OFFSET WORD` | content of the device's memory |
//!
//! A packet is an opcode and its number from the first one on, then headers as `NAME=VALUE`, `ask`
//! for an acknowledgement, and `data`. `read-response` stands for all packets of a response. A
//! number is a sum such as `read+2m-1`: `m` is the path MTU, names are areas of the memory. `DATA`
//! is `PATTERN:POSITION:LENGTH`. A `WORD` is a number, or `any`, which becomes the base of the
//! dialogue, or `base+NUMBER`.
//!
//! *Not in the language*: loops, and packets that are wrong on the wire.

use super::step::{Dialogue, DialogueStep, MICROSECOND};
use super::{
    ATOMIC, CaseFamily, CaseOrigin, DialogueCase, DialogueParameters, FormHeaders, PacketForm,
    PatternData, READ, RECEIVE, SyndromeForm, TesterEnd, WRITE, WordValue, local,
};
use crate::wire::{Layout, Nak, Opcode};
use crate::{Access, Operation, WcStatus};

const OPCODES: [(&str, Opcode); 17] = [
    ("send-first", Opcode::RcSendFirst),
    ("send-middle", Opcode::RcSendMiddle),
    ("send-last", Opcode::RcSendLast),
    ("send-only", Opcode::RcSendOnly),
    ("write-first", Opcode::RcWriteFirst),
    ("write-middle", Opcode::RcWriteMiddle),
    ("write-last", Opcode::RcWriteLast),
    ("write-only", Opcode::RcWriteOnly),
    ("read", Opcode::RcReadRequest),
    ("read-response", Opcode::RcReadResponseOnly),
    ("read-response-first", Opcode::RcReadResponseFirst),
    ("read-response-middle", Opcode::RcReadResponseMiddle),
    ("read-response-last", Opcode::RcReadResponseLast),
    ("ack", Opcode::RcAcknowledge),
    ("atomic-ack", Opcode::RcAtomicAcknowledge),
    ("compare-swap", Opcode::RcCompareSwap),
    ("fetch-add", Opcode::RcFetchAdd),
];

const NAKS: [(&str, Nak); 4] = [
    ("sequence-error", Nak::SequenceError),
    ("invalid-request", Nak::InvalidRequest),
    ("remote-access", Nak::RemoteAccess),
    ("remote-operational", Nak::RemoteOperational),
];

fn find_named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let row = table.iter().find(|(known, _)| *known == name);
    row.map(|(_, value)| *value)
}

/// Returns the family of a file. The steps of the cases are parsed when the cases are played.
pub(super) fn family(text: &'static str) -> CaseFamily {
    let mut family = CaseFamily {
        name: "",
        cases: Vec::new(),
    };
    let (mut rule, mut notes) = ("", "");
    for block in text.trim_end().split("\n\n") {
        if let Some(case) = block.strip_prefix("case ") {
            let (head, steps) = case.split_once('\n').unwrap_or((case, ""));
            let mut words = head.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default();
            family.cases.push(DialogueCase {
                number: word(),
                origin: match word() {
                    "published" => CaseOrigin::Published,
                    "summary" => CaseOrigin::Summary,
                    _ => CaseOrigin::Rule,
                },
                title: word(),
                rule,
                notes,
                steps,
            });
            continue;
        }
        for line in block.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("family", name) => family.name = name,
                ("rule", text) => (rule, notes) = (text, ""),
                ("note", text) => notes = text,
                _ => {}
            }
        }
    }
    family
}

impl Dialogue {
    /// Returns the dialogue of a text.
    ///
    /// # Errors
    /// The first line that is no step.
    pub fn from_script(text: &str, parameters: &DialogueParameters) -> Result<Self, String> {
        let mut dialogue = Self::new(parameters);
        for (number, text) in (1..).zip(text.lines()) {
            let line = ScriptLine {
                words: text.split_ascii_whitespace().collect(),
                parameters,
            };
            let added = line.add_to(&mut dialogue);
            added.ok_or_else(|| format!("line {number}: {text:?}: expected a step"))?;
        }
        Ok(dialogue)
    }
}

/// A line of a script; functions return `None` if a word is missing or unknown.
struct ScriptLine<'a> {
    words: Vec<&'a str>,
    parameters: &'a DialogueParameters,
}

impl ScriptLine<'_> {
    fn add_to(&self, dialogue: &mut Dialogue) -> Option<()> {
        let number = |at: usize| self.number(self.words.get(at)?);
        let word = |at: usize| self.words.get(at).copied();
        let step = match *self.words.first()? {
            "set" => return self.apply_settings(dialogue),
            ">" => {
                let packets = self.packets()?.into_iter();
                dialogue.steps.extend(packets.map(DialogueStep::Send));
                return Some(());
            }
            "<" => {
                let packets = self.packets()?.into_iter();
                dialogue.steps.extend(packets.map(DialogueStep::Expect));
                return Some(());
            }
            "post" => DialogueStep::Post {
                request: number(1)?,
                operation: self.parse_operation(word(2)?)?,
                length: small(number(3)?)?,
            },
            "receive" => DialogueStep::PostReceive,
            "completes" => DialogueStep::ExpectCompletion {
                request: number(1)?,
                status: parse_status(word(2)?)?,
            },
            "received" => DialogueStep::ExpectReceived {
                receive: small(number(1)?)?,
                result: match parse_status(word(2)?) {
                    Some(error) => Err(error),
                    None => Ok(small(number(2)?)?),
                },
            },
            "silence" => DialogueStep::Silence(number(1)? * MICROSECOND),
            "memory" => DialogueStep::ExpectMemory(number(1)?, self.data(word(2)?)?),
            "word" => DialogueStep::ExpectWord(number(1)?, self.parse_word(word(2)?)?),
            _ => return None,
        };
        dialogue.steps.push(step);
        Some(())
    }

    fn apply_settings(&self, dialogue: &mut Dialogue) -> Option<()> {
        let setup = &mut dialogue.setup;
        for word in &self.words[1..] {
            let (name, text) = word.split_once('=')?;
            if (name, text) == ("access", "write") {
                setup.access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
                continue;
            }
            let value: u32 = small(self.number(text)?)?;
            let code = u8::try_from(value);
            match name {
                "receives" => setup.receives = value,
                "receive-length" => setup.receive_length = value,
                "timeout" => setup.timeout = code.ok()?,
                "retries" => setup.retry_cnt = code.ok()?,
                "rnr-retries" => setup.rnr_retry = code.ok()?,
                "rnr-timer" => setup.min_rnr_timer = code.ok()?,
                _ => return None,
            }
        }
        Some(())
    }

    /// Returns the text behind `NAME=`.
    fn value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.words.iter().filter_map(|word| word.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|pair| pair.1)
    }

    /// Returns the number behind `NAME=`, or `default` if the line does not have the name.
    fn value_or(&self, name: &str, default: u64) -> Option<u64> {
        self.value(name)
            .map_or(Some(default), |text| self.number(text))
    }

    fn packets(&self) -> Option<Vec<PacketForm>> {
        let [_, name, psn, ..] = *self.words else {
            return None;
        };
        let psn = self.parameters.psn(small(self.number(psn)?)?);
        let payload = self
            .value("data")
            .map_or(Some(PatternData::EMPTY), |text| self.data(text))?;
        let headers = self.headers(find_named(&OPCODES, name)?, payload.length)?;
        let form = PacketForm {
            opcode: find_named(&OPCODES, name)?,
            psn,
            ack_request: self.words.contains(&"ask").then_some(true),
            headers,
            payload,
        };
        if name == "read-response" {
            return Some(form.read_response(self.parameters.mtu.bytes()));
        }
        Some(vec![form])
    }

    fn headers(&self, opcode: Opcode, length: u32) -> Option<FormHeaders> {
        let msn = || self.number(self.value("msn")?).and_then(small);
        Some(match opcode.layout() {
            Layout::Reth => FormHeaders::Reth {
                offset: self.number(self.value("at")?)?,
                length: small(self.value_or("length", length.into())?)?,
                key_error: small(self.value_or("key-error", 0)?)?,
            },
            Layout::AtomicEth => FormHeaders::Atomic {
                offset: self.value_or("at", ATOMIC)?,
                swap_or_add: self.parse_word(self.value("swap").or_else(|| self.value("add"))?)?,
                compare: self.parse_word(self.value("compare").unwrap_or("0"))?,
            },
            Layout::Aeth => FormHeaders::Aeth {
                syndrome: match (self.value("nak"), self.value("rnr")) {
                    (Some(nak), _) => SyndromeForm::Nak(find_named(&NAKS, nak)?),
                    (None, Some(code)) => SyndromeForm::Rnr(code.parse().ok()?),
                    (None, None) => SyndromeForm::Ack,
                },
                msn: msn()?,
            },
            Layout::AtomicAck => FormHeaders::AtomicAck {
                msn: match self.value("msn")? {
                    "any" => None,
                    _ => Some(msn()?),
                },
                original: self.parse_word(self.value("value")?)?,
            },
            _ => FormHeaders::None,
        })
    }

    fn parse_operation(&self, name: &str) -> Option<Operation> {
        let number = |name| self.number(self.value(name)?);
        let remote_addr = TesterEnd::ADDRESS + self.value_or("at", 0)?;
        let rkey = TesterEnd::KEY;
        Some(match name {
            "send" => Operation::Send,
            "read" => Operation::RdmaRead { remote_addr, rkey },
            "fetch-add" => Operation::AtomicFetchAndAdd {
                remote_addr,
                rkey,
                add: number("add")?,
            },
            "compare-swap" => Operation::AtomicCmpAndSwp {
                remote_addr,
                rkey,
                compare: number("compare")?,
                swap: number("swap")?,
            },
            _ => return None,
        })
    }

    fn data(&self, text: &str) -> Option<PatternData> {
        let mut parts = text.split(':');
        let mut part = || self.number(parts.next()?).and_then(small);
        let seed = u8::try_from(part()?).ok()?;
        Some(PatternData::new(seed, part()?, part()?))
    }

    fn parse_word(&self, text: &str) -> Option<WordValue> {
        Some(match text.strip_prefix("base") {
            Some("") => WordValue::BasePlus(0),
            Some(more) => WordValue::BasePlus(self.number(more)?),
            None if text == "any" => WordValue::NewBase,
            None => WordValue::Is(self.number(text)?),
        })
    }

    /// Returns the value of a sum.
    fn number(&self, text: &str) -> Option<u64> {
        let terms = text.replace('-', "+-");
        let mut terms = terms.split('+').filter(|term| !term.is_empty());
        terms.try_fold(0u64, |sum, term| match term.strip_prefix('-') {
            Some(term) => sum.checked_sub(self.term(term)?),
            None => sum.checked_add(self.term(term)?),
        })
    }

    fn term(&self, text: &str) -> Option<u64> {
        let mtu = u64::from(self.parameters.mtu.bytes());
        let areas = [
            ("atomic", ATOMIC),
            ("read", READ),
            ("write", WRITE),
            ("receive", RECEIVE),
            ("m", mtu),
            ("m/2", mtu / 2),
        ];
        if let Some(area) = find_named(&areas, text) {
            return Some(area);
        }
        if let Some(request) = text.strip_prefix("local") {
            return request.parse().ok().map(local);
        }
        match (text.strip_prefix("0x"), text.strip_suffix('m')) {
            (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
            (None, Some(count)) => Some(count.parse::<u64>().ok()? * mtu),
            (None, None) => text.parse().ok(),
        }
    }
}

fn parse_status(name: &str) -> Option<WcStatus> {
    let mut all = WcStatus::ALL.into_iter();
    all.find(|status| status.name() == name)
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mtu;

    #[test]
    fn a_line_that_is_no_step_is_named() {
        let parameters = DialogueParameters {
            mtu: Mtu::Mtu1024,
            start: DialogueParameters::PLAIN,
        };
        for line in [
            "> send-only",
            "> sent 0",
            "< ack 0",
            "< ack 0 nak=bad msn=0",
            "> read 0 at=elsewhere length=m",
            "> read 0 at=1-2 length=m",
            "set timeout=256",
            "completes 0 SUCCESS",
            "memory write 1:0",
        ] {
            let found = Dialogue::from_script(&format!("receive\n{line}"), &parameters);
            assert_eq!(found, Err(format!("line 2: {line:?}: expected a step")));
        }
    }
}
