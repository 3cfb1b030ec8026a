//! The files of SimGrid's calibration of messages: lines `FUNCTION,bytes,start,duration` in seconds
//! without a head, as `testplatform_PingPong.csv`, `..._Isend.csv` and `..._Recv.csv`, also one
//! after the other in one file.
//!
//! *Decided here*: `MPI_Send` and `MPI_Recv` with the same start are a round trip, and half of the
//! sum is the time of a ping-pong (`pp`); another `MPI_Recv` finds the message there (`or`);
//! `MPI_Isend` is the start of a send (`ois`). *Not read*: `MPI_Iprobe`, `MPI_Test` and
//! `MPI_Wtime`.
//!
//! Source: `src/calibration` of github.com/Ezibenroc/platform-calibration, commit 899f044.

use std::borrow::Cow;
use std::fmt::Write as _;

use accuracy::RowError;

use crate::rows::find_wrong;

/// The numbers of a line.
struct Timed<'a> {
    line: u64,
    function: &'a str,
    bytes: u64,
    start: &'a str,
    seconds: f64,
}

/// Converts SimGrid's calibration of messages to the samples of `simrun calibrate`; any other text
/// stays the same.
///
/// # Errors
/// [`RowError::Line`] for the first line that has another form.
pub fn convert_samples(text: &str) -> Result<Cow<'_, str>, RowError> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let is_calibration = |(_, line): (u64, &str)| line.starts_with("MPI_");
    if !lines.clone().next().is_some_and(is_calibration) {
        return Ok(Cow::Borrowed(text));
    }
    let mut samples = "kernel,size_bytes,time_us\n".to_owned();
    let mut add = |kernel: &str, bytes: u64, seconds: f64| {
        let _ = writeln!(samples, "{kernel},{bytes},{}", seconds * 1e6);
    };
    let mut sent: Option<Timed<'_>> = None;
    lines.try_for_each(|(line, text)| {
        let timed = parse_line(line, text)?;
        let before = sent.take();
        match (timed.function, before) {
            ("MPI_Send", None) => sent = Some(timed),
            ("MPI_Recv", Some(sent)) if (sent.bytes, sent.start) == (timed.bytes, timed.start) => {
                add("pp", timed.bytes, (sent.seconds + timed.seconds) / 2.0);
            }
            (_, Some(sent)) => return Err(sent.miss_receive(line, &format!("{text:?}"))),
            ("MPI_Recv", None) => add("or", timed.bytes, timed.seconds),
            ("MPI_Isend", None) => add("ois", timed.bytes, timed.seconds),
            _ => {}
        }
        Ok(())
    })?;
    match sent {
        Some(sent) => Err(sent.miss_receive(sent.line, "no line after the MPI_Send")),
        None => Ok(Cow::Owned(samples)),
    }
}

impl Timed<'_> {
    /// Returns the error of an `MPI_Send` without an `MPI_Recv`.
    fn miss_receive(&self, line: u64, found: &str) -> RowError {
        let (bytes, start) = (self.bytes, self.start);
        let expected = format!("MPI_Recv,{bytes},{start},SECONDS after the MPI_Send");
        find_wrong(line, found, &expected)
    }
}

fn parse_line(line: u64, text: &str) -> Result<Timed<'_>, RowError> {
    const READ: [&str; 3] = ["MPI_Send", "MPI_Recv", "MPI_Isend"];
    const OTHERS: [&str; 3] = ["MPI_Iprobe", "MPI_Test", "MPI_Wtime"];
    let fields: Vec<&str> = text.split(',').collect();
    let timed = || {
        let [function, bytes, start, seconds] = fields[..] else {
            return None;
        };
        let seconds: f64 = seconds.parse().ok()?;
        let is_known = READ.contains(&function) && seconds > 0.0
            || OTHERS.contains(&function) && seconds >= 0.0;
        Some(Timed {
            line,
            function,
            bytes: bytes.parse().ok()?,
            start,
            seconds,
        })
        .filter(|_| is_known && seconds.is_finite())
    };
    let expected = "FUNCTION,bytes,start,seconds, such as MPI_Isend,765921,20.096913,2.536e-06";
    timed().ok_or_else(|| find_wrong(line, &format!("{text:?}"), expected))
}
