//! Authentication of both sides of a connection: challenge and response over a secret of the run.
//!
//! The side that connects sends a nonce. The side that accepts answers with its own nonce and a
//! code over both nonces, which proves that it knows the secret. The side that connects proves the
//! same with another code, and receives an acceptance: before that, the other side may have closed
//! the connection, and another attempt is useful. A code is HMAC-SHA256 (RFC 2104) over the side,
//! the purpose of the connection, and both nonces, so no code is valid for another connection,
//! purpose or direction. Codes are compared in constant time. The secret is never sent.
//!
//! ```text
//! connect → accept   magic (8)  nonce (16)
//! accept → connect   magic (8)  nonce (16)  code (32)
//! connect → accept   code (32)
//! accept → connect   accepted (1)
//! ```
//!
//! Each step has a fixed length, so no input of a foreign process makes us keep more than 56 bytes.
//! The caller of the handshake limits its duration. No I/O here.
//!
//! *Not modelled*: secrecy and integrity of later data. An attacker on the network between the
//! machines of a run can read and change its messages, as with other MPI libraries.

use std::fmt;

use hmac_sha256::HMAC;
use rustix::rand::{GetRandomFlags, getrandom};

/// The first bytes from either side. The digit is the version of everything that is said on a
/// connection.
const MAGIC: [u8; 8] = *b"simrun 2";
const NONCE: usize = 16;
const CODE: usize = 32;

/// The last byte of a handshake, from the side that accepts.
const ACCEPTED: u8 = 1;

/// Largest number of bytes read before the other side is known.
pub(super) const UNKNOWN_MAX: usize = MAGIC.len() + NONCE + CODE;

/// The secret of a run: 128 bits that only the processes of the run know.
#[derive(Clone, PartialEq, Eq)]
pub struct RunSecret([u8; 16]);

impl RunSecret {
    /// A new one.
    pub fn random() -> std::io::Result<Self> {
        random_bytes().map(Self)
    }

    /// Returns the secret as 32 digits, for the pipe or the file by which processes receive it.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads 32 digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for RunSecret {
    /// Secrets do not get into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Purpose of a connection; the other side must mean the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConnectionPurpose {
    /// Between a rank and the coordinator of the run.
    Control,
    /// From some rank to this one.
    Rank(u32),
}

impl ConnectionPurpose {
    const fn purpose_bytes(self) -> [u8; 5] {
        match self {
            Self::Control => [0, 0, 0, 0, 0],
            Self::Rank(rank) => {
                let [a, b, c, d] = rank.to_le_bytes();
                [1, a, b, c, d]
            }
        }
    }
}

/// Sides of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The connection was opened by this side.
    Connects,
    /// The connection was opened by the other side.
    Accepts,
}

/// The other side is not one of this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    /// The other side does not speak this protocol, or speaks another version of it.
    Magic,
    /// The other side does not know the secret, or has another purpose.
    Code,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "peer is not a compatible simrun",
            Self::Code => "authentication failed",
        })
    }
}

/// One side of a handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    side: Side,
    purpose: ConnectionPurpose,
    secret: RunSecret,
    nonce: [u8; NONCE],
    /// Bytes of the awaited step that have arrived.
    input: [u8; UNKNOWN_MAX],
    filled: usize,
    /// Length of the input of this step in bytes; 0 after the last step.
    awaited: usize,
    theirs: [u8; NONCE],
    output: Vec<u8>,
}

impl Handshake {
    /// Begins.
    pub(super) fn new(
        side: Side,
        purpose: ConnectionPurpose,
        secret: &RunSecret,
    ) -> std::io::Result<Self> {
        let nonce = random_bytes()?;
        let (output, awaited) = match side {
            Side::Connects => ([&MAGIC[..], &nonce].concat(), UNKNOWN_MAX),
            Side::Accepts => (Vec::new(), MAGIC.len() + NONCE),
        };
        Ok(Self {
            side,
            purpose,
            secret: secret.clone(),
            nonce,
            input: [0; UNKNOWN_MAX],
            filled: 0,
            awaited,
            theirs: [0; NONCE],
            output,
        })
    }

    /// Returns the bytes to send now.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Returns the space for the next bytes: never more than belong to the handshake, and empty
    /// when the handshake is over.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.input[self.filled..self.awaited]
    }

    /// Notes the number of bytes that were read into the [space](Self::space).
    pub(super) fn filled(&mut self, count: usize) -> Result<(), Refused> {
        self.filled += count;
        let magic = self.filled.min(MAGIC.len());
        let has_magic = self.awaited > CODE || self.side == Side::Accepts && self.awaited < CODE;
        if has_magic && self.input[..magic] != MAGIC[..magic] {
            return Err(Refused::Magic);
        }
        if self.filled < self.awaited {
            return Ok(());
        }
        self.filled = 0;
        self.process_input()
    }

    /// Returns true if the other side is known to be one of this run.
    pub(super) const fn is_done(&self) -> bool {
        self.awaited == 0
    }

    fn process_input(&mut self) -> Result<(), Refused> {
        match (self.side, self.awaited) {
            (Side::Accepts, CODE) => {
                self.verify(Side::Connects, 0)?;
                self.output.push(ACCEPTED);
                self.awaited = 0;
                return Ok(());
            }
            (Side::Connects, 1) => {
                self.awaited = 0;
                let accepted = self.input[0] == ACCEPTED;
                return if accepted { Ok(()) } else { Err(Refused::Code) };
            }
            _ => {}
        }
        self.theirs
            .copy_from_slice(&self.input[MAGIC.len()..][..NONCE]);
        if self.side == Side::Accepts {
            self.output.extend(MAGIC);
            self.output.extend(self.nonce);
            let code = self.proof_code(Side::Accepts).finalize();
            self.output.extend(code);
            self.awaited = CODE;
        } else {
            self.verify(Side::Accepts, MAGIC.len() + NONCE)?;
            let code = self.proof_code(Side::Connects).finalize();
            self.output.extend(code);
            self.awaited = 1;
        }
        Ok(())
    }

    /// Checks the other side's code.
    fn verify(&self, speaker: Side, at: usize) -> Result<(), Refused> {
        let shown = self.input[at..].first_chunk::<CODE>();
        let is_right = shown.is_some_and(|shown| self.proof_code(speaker).finalize_verify(shown));
        if is_right { Ok(()) } else { Err(Refused::Code) }
    }

    /// Returns the proof that the named side has to show.
    fn proof_code(&self, speaker: Side) -> HMAC {
        let mut code = HMAC::new(self.secret.0);
        let (connects, accepts) = match self.side {
            Side::Connects => (&self.nonce, &self.theirs),
            Side::Accepts => (&self.theirs, &self.nonce),
        };
        code.update(match speaker {
            Side::Connects => b"connects",
            Side::Accepts => b"accepts.",
        });
        code.update(self.purpose.purpose_bytes());
        code.update(connects);
        code.update(accepts);
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets two sides talk, a few bytes at a time. Returns the result of each side.
    fn talk(mut a: Handshake, mut b: Handshake, chunk: usize) -> [Result<bool, Refused>; 2] {
        for _ in 0..5 {
            for (from, to) in [(0, 1), (1, 0)] {
                let sides = [&mut a, &mut b];
                let output = sides[from].take_output();
                let [a, b] = sides;
                let receiver = if to == 0 { a } else { b };
                let mut rest = &output[..];
                while !rest.is_empty() {
                    let space = receiver.space();
                    let count = chunk.min(rest.len()).min(space.len());
                    assert!(count > 0, "nothing is sent beyond the handshake");
                    space[..count].copy_from_slice(&rest[..count]);
                    if let Err(refused) = receiver.filled(count) {
                        let other = Ok(false);
                        return if to == 0 {
                            [Err(refused), other]
                        } else {
                            [other, Err(refused)]
                        };
                    }
                    rest = &rest[count..];
                }
            }
        }
        [Ok(a.is_done()), Ok(b.is_done())]
    }

    fn side(side: Side, purpose: ConnectionPurpose, secret: &RunSecret) -> Handshake {
        Handshake::new(side, purpose, secret).unwrap()
    }

    #[test]
    fn who_knows_the_secret_gets_in_however_the_bytes_come() {
        let secret = RunSecret::random().unwrap();
        for chunk in [1, 7, 56] {
            let a = side(Side::Connects, ConnectionPurpose::Rank(3), &secret);
            let b = side(Side::Accepts, ConnectionPurpose::Rank(3), &secret);
            assert_eq!(talk(a, b, chunk), [Ok(true), Ok(true)], "{chunk}");
        }
    }

    #[test]
    fn the_side_that_connects_is_done_when_it_knows_that_it_was_accepted() {
        let secret = RunSecret::random().unwrap();
        let mut client = side(Side::Connects, ConnectionPurpose::Control, &secret);
        let mut server = side(Side::Accepts, ConnectionPurpose::Control, &secret);
        let pass = |bytes: Vec<u8>, to: &mut Handshake| {
            to.space()[..bytes.len()].copy_from_slice(&bytes);
            to.filled(bytes.len())
        };
        assert_eq!(pass(client.take_output(), &mut server), Ok(()));
        assert_eq!(pass(server.take_output(), &mut client), Ok(()));
        let code = client.take_output();
        assert!(
            !client.is_done(),
            "the other side may still close the connection"
        );
        assert_eq!(pass(code, &mut server), Ok(()));
        assert!(server.is_done());
        assert_eq!(pass(server.take_output(), &mut client), Ok(()));
        assert!(client.is_done());
    }

    #[test]
    fn another_secret_or_purpose_is_refused_by_the_first_who_can_know() {
        let (secret, other) = (RunSecret::random().unwrap(), RunSecret::random().unwrap());
        let a = side(Side::Connects, ConnectionPurpose::Control, &secret);
        let b = side(Side::Accepts, ConnectionPurpose::Control, &other);
        assert_eq!(talk(a, b, 56), [Err(Refused::Code), Ok(false)]);
        let a = side(Side::Connects, ConnectionPurpose::Rank(1), &secret);
        let b = side(Side::Accepts, ConnectionPurpose::Rank(2), &secret);
        assert_eq!(talk(a, b, 56), [Err(Refused::Code), Ok(false)]);
    }

    #[test]
    fn garbage_is_refused_at_its_first_wrong_byte() {
        let secret = RunSecret::random().unwrap();
        let mut server = side(Side::Accepts, ConnectionPurpose::Control, &secret);
        server.space()[0] = b'G';
        assert_eq!(server.filled(1), Err(Refused::Magic));
        let mut server = side(Side::Accepts, ConnectionPurpose::Control, &secret);
        server.space()[..8].copy_from_slice(b"simrun 1");
        assert_eq!(server.filled(8), Err(Refused::Magic));
        assert!(
            server.take_output().is_empty(),
            "strangers do not get a code to look at before their nonce is complete"
        );
    }

    #[test]
    fn a_replayed_or_reflected_code_is_refused() {
        let secret = RunSecret::random().unwrap();
        // The accepting side's own answer, sent back to it.
        let mut server = side(Side::Accepts, ConnectionPurpose::Control, &secret);
        server.space()[..24].copy_from_slice(&[&MAGIC[..], &[7; 16]].concat());
        assert_eq!(server.filled(24), Ok(()));
        let answer = server.take_output();
        server.space().copy_from_slice(&answer[24..]);
        assert_eq!(server.filled(32), Err(Refused::Code));
        assert!(!server.is_done());
    }

    #[test]
    fn secrets_travel_as_digits_and_not_into_logs() {
        let secret = RunSecret::random().unwrap();
        assert_eq!(RunSecret::from_hex(&secret.to_hex()), Some(secret.clone()));
        assert_ne!(Some(&secret), RunSecret::random().ok().as_ref());
        assert!(!format!("{secret:?}").contains(&secret.to_hex()));
        for wrong in ["", "12", &"g".repeat(32), &"é".repeat(16)] {
            assert_eq!(RunSecret::from_hex(wrong), None, "{wrong}");
        }
    }
}
