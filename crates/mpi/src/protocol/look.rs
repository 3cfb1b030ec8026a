//! Questions about arrivals so far: tests, probes without waiting, and waits for some of several
//! operations. Under a model checker the answers are picked, not observed.
//!
//! MPI permits *no* at any time until a *yes* has told the program that the operation is over. So
//! under a model checker a question has one branch for *no*, which depends on no arrival, and one
//! for each *yes*, which is a wait for the named operation (MPI 5.0, sections 3.7.3 to 3.7.5, 3.8).
//! A run that ends with a rank in such a wait is no result: another branch covers it
//! ([`Process::is_covered`](super::process::Process)).
//!
//! A program may ask again and again. Questions that one place of the program repeats without
//! another operation of the rank in between are a loop:
//! * At the beginning of a loop each question is answered *no* at most [`NOS_MAX`] times in a row;
//!   the next *no* is the answer to all questions until the rank begins another operation.
//! * After a *yes*, a question that is asked twice gets *no* from then on: the program has asked it
//!   before, and no event has happened since.
//! * A loop that has got [`LOOKS_MAX`] answers *no* since the latest event is a loop without end:
//!   the rank stays there. Its behaviour after *yes* is explored in the branches before.
//!
//! The repetition of a read of a window is a question: does the read get another result than the
//! same read before? A rank repeats a read if the rank has only completed accesses since, and the
//! read has not changed the memory.
//! * *No* is right at any time: the repetition follows the former read at once. No packet is sent.
//!   A *yes* to a test or a probe in between is news of other ranks: the next read is a new one.
//! * *Yes* is a read that arrives when the memory has changed (`repeated_reads.rs` of the package
//!   `fabric`). If the former content is back then, the rank stays: *no* covers this run, because a
//!   read without effect can as well come earlier.
//!
//! So no run is lost but by the bounds: the former read counts as the first *no*, and a loop
//! without end has [`REPETITIONS_MAX`] answers *no*. Such a rank is stuck if the memory has the
//! content at the end of the run, too.
//!
//! *Not bounded*: loops with two different reads or with another call in each round, such as a lock
//! of the window, and reads of the own window by [`crate::Window::read`].
//!
//! The cancellation of a receive that no message has matched is a question, too, and never
//! repeated: *no* means that the receive is gone, *yes* that a message will match the receive. The
//! cancel decides, and not the completion, because a message that arrives between the two goes to
//! another receive if the first one is gone. A message that comes while the question is open can
//! come after the answer as well, so other runs cover such a run. The run shows that the message
//! can also come before the messages behind which the question was asked.
//!
//! A loop that reads the clock of the rank waits for time to pass, but the clock stands still.
//! After [`READS_MAX`] readings at one place the clock goes forward with each further reading, each
//! time twice as far: at last beyond the time that the loop waits, or that the questions may take.
//!
//! A probe from any source sees the message that arrives first, and a later receive or probe may
//! get or see a message of another source. So a probe that could see a message again has a *yes*
//! for each source that was seen, and one for all others; for a receive the message is delivered
//! anew (`engine/seen.rs`). If a posted receive may get a seen message, *no* means that the receive
//! gets the message: like a cancel, such a question depends on arrivals.
//!
//! *Not modelled*: for waits for some of more than [`SUBSETS_MAX`] operations, other subsets than
//! single operations and all; both bounds are reported to the user.

use observe::SourceLocation;

use crate::channel::Token;
use crate::{Pattern, Request};

/// Answers *no* to one question in a row at the beginning of a loop.
pub(crate) const NOS_MAX: u32 = 2;
/// Answers *no* after which a loop is one without end.
const LOOKS_MAX: u32 = 1000;
/// The same for repetitions of a read of a window. \[choice\]
pub(crate) const REPETITIONS_MAX: u32 = 100;
/// Readings of the clock at one place without an operation of the rank in between, after which the
/// clock goes forward: more than rounds of questions before all answers are *no*. \[choice\]
const READS_MAX: u32 = 10;
/// First step of the clock in seconds, and number of steps, in all two years. \[choice\]
const STEP_MIN: f64 = 1e-6;
const STEPS_MAX: u32 = 46;
/// Maximum number of active requests for which every subset can be an answer.
const SUBSETS_MAX: usize = 3;

/// Question of a test or a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// Is an operation over?
    Test(Token),
    /// Question of a call of this name about several operations, all of which make this number.
    Several(&'static str, u64),
    /// Is there a message?
    Probe(Pattern),
    /// Has this partition of a receive arrived?
    Partition(Token, usize),
    /// Will a message meet a receive that is cancelled?
    Cancel(Token),
    /// Will the read of a window with this number get another answer than the same read before?
    Read(u64),
}

impl Question {
    /// Question of a call of this name about the active ones of some requests. If two lists make
    /// the same number, the later question is taken for the earlier one.
    pub(crate) fn about(name: &'static str, requests: &[Request]) -> Self {
        let tokens = requests.iter().filter_map(Request::token);
        Self::Several(
            name,
            tokens.fold(0, |number, token| mix(number, token.into())),
        )
    }

    /// Returns true if the question is a step even if there is one answer, because arrivals before
    /// and behind such a step differ.
    pub(crate) const fn is_step(&self) -> bool {
        matches!(self, Self::Cancel(_))
    }

    /// Returns the number of answers *no* in a row at the beginning of a loop. The first result of
    /// a read counts as one.
    pub(crate) const fn nos_max(&self) -> u32 {
        match self {
            Self::Read(_) => NOS_MAX - 1,
            _ => NOS_MAX,
        }
    }

    /// Returns the number of answers *no* after which a loop is one without end.
    const fn looks_max(&self) -> u32 {
        match self {
            Self::Read(_) => REPETITIONS_MAX,
            _ => LOOKS_MAX,
        }
    }

    /// A number that differs for different questions and places, as far as 64 bits allow.
    pub(crate) fn number_at(&self, location: SourceLocation) -> u64 {
        let question = match self {
            Self::Test(token) => mix(1, (*token).into()),
            Self::Several(name, number) => {
                let letters = name.bytes();
                letters.fold(*number, |all, letter| mix(all, letter.into()))
            }
            Self::Probe(pattern) => {
                let source = pattern.source.map_or(0, |source| u64::from(source) + 1);
                let tag = pattern.tag.map_or(0, |tag| u64::from(tag) + 1);
                mix(mix(mix(2, source), tag), pattern.context.into())
            }
            Self::Partition(token, partition) => mix(mix(4, (*token).into()), *partition as u64),
            Self::Cancel(token) => mix(3, (*token).into()),
            Self::Read(number) => mix(5, *number),
        };
        mix(question, location.location_key() as u64)
    }
}

/// Mixes a word into a number.
pub(crate) const fn mix(number: u64, word: u64) -> u64 {
    (number.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The answers that a question can have now.
#[derive(Clone, Default, Debug)]
pub(crate) struct Answers {
    /// Number of answers *yes*: of a test of several operations one for each that can be over.
    pub(crate) yes: u32,
    /// True if *no* is none: the call waits, or the program knows that *yes* is right.
    pub(crate) only_yes: bool,
    /// True if a *yes* would be right at this moment.
    pub(crate) is_ready: bool,
    /// True if arrivals decide the answers: behind a later event the question came too late, and
    /// other runs have the answers.
    pub(crate) sees_arrivals: bool,
    /// The operations of which the call waits for any.
    pub(crate) one_of: Vec<Token>,
}

/// Answers that a rank may be told at a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allowed {
    /// All that the question allows.
    Any,
    /// The same, and *no* is the answer to all that follow.
    Last,
    /// *No*, without a choice.
    No,
    /// No answer: the rank stays in the question.
    Nothing,
}

/// The questions of a rank since its latest operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct LookWindow {
    /// Number of operations that the rank had begun.
    begun: u64,
    /// The questions answered with *no* since the latest *yes*, where, and how often.
    asked: Vec<(SourceLocation, Question, u32)>,
    has_yes: bool,
    /// Number of events that had been handled.
    events: u64,
    /// Answers *no* since the latest event, when all are.
    only_no: Option<u32>,
    /// True if one of these would have been *yes* if asked now.
    is_covered: bool,
    /// Places of readings of the clock since the latest *yes*, and their numbers.
    reads: Vec<(SourceLocation, u32)>,
    /// The read of a window with which the questions began: the place, the read, the operation.
    access: Option<(SourceLocation, Question, Token)>,
}

impl LookWindow {
    /// Begins a window if the rank has begun an operation.
    fn begin_window(&mut self, begun: u64) {
        if self.begun != begun {
            *self = Self {
                begun,
                events: self.events,
                ..Self::default()
            };
        }
    }

    /// Notes a reading of the clock, after this many operations. Returns the seconds by which the
    /// clock goes forward before.
    pub(crate) fn read_clock(&mut self, begun: u64, location: SourceLocation) -> f64 {
        self.begin_window(begun);
        let known = self.reads.iter().position(|(other, _)| *other == location);
        let known = known.unwrap_or_else(|| {
            self.reads.push((location, 0));
            self.reads.len() - 1
        });
        let count = &mut self.reads[known].1;
        *count = count.saturating_add(1);
        if *count > READS_MAX + STEPS_MAX {
            return 0.0;
        }
        // A loop that time can end is not one without end.
        self.only_no = self.only_no.map(|_| 0);
        let doubled = count.checked_sub(READS_MAX + 1);
        doubled.map_or(0.0, |doubled| STEP_MIN * (1_u64 << doubled) as f64)
    }

    /// Notes a read of a window with a new result: other questions are asked anew.
    pub(crate) fn begin_read(
        &mut self,
        begun: u64,
        (location, question): (SourceLocation, Question),
        token: Token,
    ) {
        *self = Self {
            begun,
            events: self.events,
            access: Some((location, question, token)),
            ..Self::default()
        };
    }

    /// Lets the next read of a window be a new one, unless the question is about a read itself.
    pub(crate) const fn forget_other_read(&mut self, question: Question) {
        if !matches!(question, Question::Read(_)) {
            self.access = None;
        }
    }

    /// Returns true if the rank has begun no operation since a read of a window.
    pub(crate) const fn follows_read(&self, begun: u64) -> bool {
        self.begun == begun && self.access.is_some()
    }

    /// Returns true if this question is about a repetition of the latest read of a window.
    pub(crate) fn repeats_read(&self, begun: u64, at: (SourceLocation, Question)) -> bool {
        let latest = self.access.filter(|_| self.begun == begun);
        latest.is_some_and(|(location, question, _)| (location, question) == at)
    }

    /// Notes the operation of a repetition of the latest read of a window.
    pub(crate) fn note_repetition(&mut self, token: Token) {
        if let Some((.., latest)) = &mut self.access {
            *latest = token;
        }
    }

    /// Returns true if an operation is the latest read of a window.
    pub(crate) fn is_read(&self, operation: Token) -> bool {
        self.access.is_some_and(|(.., token)| token == operation)
    }

    /// Returns the answers that the rank may get for a question, after this many operations.
    pub(crate) fn allowed(&mut self, begun: u64, at: (SourceLocation, Question)) -> Allowed {
        self.begin_window(begun);
        match (self.only_no, self.nos(at)) {
            (Some(count), _) if count < at.1.looks_max() => Allowed::No,
            (Some(_), _) => {
                self.only_no = Some(LOOKS_MAX);
                Allowed::Nothing
            }
            (None, Some(_)) if self.has_yes => Allowed::No,
            (None, Some(nos)) if nos >= at.1.nos_max() => Allowed::Last,
            _ => Allowed::Any,
        }
    }

    fn nos(&self, (location, question): (SourceLocation, Question)) -> Option<u32> {
        let mut asked = self.asked.iter();
        asked
            .find(|(other, about, _)| *other == location && *about == question)
            .map(|(_, _, nos)| *nos)
    }

    /// Returns true if a question was answered with *no* since the latest operation.
    pub(crate) fn has_no(&self, question: Question) -> bool {
        self.asked.iter().any(|(_, about, _)| *about == question)
    }

    /// Notes an answer *no*.
    pub(crate) fn note_no(
        &mut self,
        allowed: Allowed,
        (location, question): (SourceLocation, Question),
        is_ready: bool,
    ) {
        match allowed {
            Allowed::Any => {
                let mut asked = self.asked.iter_mut();
                let known =
                    asked.find(|(other, about, _)| *other == location && *about == question);
                match known {
                    Some((_, _, nos)) => *nos += 1,
                    None => self.asked.push((location, question, 1)),
                }
            }
            Allowed::Last | Allowed::No | Allowed::Nothing => {
                self.only_no = Some(self.only_no.unwrap_or(0) + 1);
                self.is_covered |= is_ready;
            }
        }
    }

    /// Notes an answer *yes* that was not the only one.
    pub(crate) fn note_yes(&mut self) {
        self.asked.clear();
        self.reads.clear();
        self.has_yes = true;
    }

    /// Notes the number of handled events: after a further event, the next question may get *yes*.
    pub(crate) fn note_events(&mut self, events: u64) {
        if self.events != events {
            self.events = events;
            self.only_no = self.only_no.map(|_| 0);
        }
    }

    /// A question came too late: the rank stays.
    pub(crate) fn note_late(&mut self) {
        (self.only_no, self.is_covered) = (Some(LOOKS_MAX), true);
    }

    /// Returns true if the rank stays in a loop without end.
    pub(crate) fn stays(&self) -> bool {
        self.only_no.is_some_and(|count| count >= LOOKS_MAX)
    }

    /// Returns true if a question of a loop that got only *no* would get *yes* by now, or a
    /// question came too late.
    pub(crate) const fn is_covered(&self) -> bool {
        self.is_covered
    }
}

/// The subsets of `active` positions that a wait for some of them can answer with.
pub(crate) const fn count_subsets(active: usize) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rank does not have 2^32 requests"
    )]
    match active {
        0..=SUBSETS_MAX => (1 << active) - 1,
        _ => active as u32 + 1,
    }
}

/// Returns true if there are more subsets than [`count_subsets`] counts.
pub(crate) const fn leaves_out_subsets(active: usize) -> bool {
    active > SUBSETS_MAX
}

/// The subset with this number, below [`count_subsets`].
pub(crate) fn subset(active: &[usize], number: u32) -> Vec<usize> {
    let all = active.iter().copied().enumerate();
    let is_in = |place: usize| match active.len() {
        0..=SUBSETS_MAX => (number + 1) >> place & 1 != 0,
        count => number as usize == count || number as usize == place,
    };
    all.filter(|(place, _)| is_in(*place))
        .map(|(_, position)| position)
        .collect()
}

/// Returns the number of the subset given by one flag for each active request; `None` if the subset
/// is empty or not counted.
pub(crate) fn number_of_subset(members: &[bool]) -> Option<u32> {
    let places = || {
        let all = (0_u32..).zip(members);
        all.filter(|(_, is_member)| **is_member)
            .map(|(place, _)| place)
    };
    let first = places().next()?;
    if members.len() <= SUBSETS_MAX {
        return Some(places().map(|place| 1 << place).sum::<u32>() - 1);
    }
    match places().count() {
        1 => Some(first),
        count if count == members.len() => u32::try_from(count).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test at one of two places.
    fn at(place: usize, token: Token) -> (SourceLocation, Question) {
        let places = [SourceLocation::caller(), SourceLocation::caller()];
        (places[place], Question::Test(token))
    }

    /// Returns the answers that a loop over questions can get, as words of Y and N, up to this
    /// length. A loop ends at its last *yes*, or when the rank stays in the loop.
    fn answers(questions: usize, rounds: usize) -> Vec<String> {
        fn go(
            window: &LookWindow,
            (left, next): (&[Token], usize),
            (word, rounds): (&str, usize),
            all: &mut Vec<String>,
        ) {
            if left.is_empty() || word.len() >= rounds {
                return all.push(word.to_owned());
            }
            let next = next % left.len();
            let mut window = window.clone();
            let allowed = window.allowed(0, at(0, left[next]));
            if matches!(allowed, Allowed::Any | Allowed::Last) {
                let mut after = window.clone();
                after.note_yes();
                let rest: Vec<Token> = [&left[..next], &left[next + 1..]].concat();
                go(&after, (&rest, next), (&format!("{word}Y"), rounds), all);
            }
            if allowed != Allowed::Nothing {
                window.note_no(allowed, at(0, left[next]), false);
                go(
                    &window,
                    (left, next + 1),
                    (&format!("{word}N"), rounds),
                    all,
                );
            }
        }
        let all_tokens: Vec<Token> = (0..).take(questions).collect();
        let mut all = Vec::new();
        go(
            &LookWindow::default(),
            (&all_tokens, 0),
            ("", rounds),
            &mut all,
        );
        all
    }

    #[test]
    fn a_loop_of_five_tests_has_four_sequences_of_answers() {
        let mut all = answers(1, 5);
        all.sort();
        assert_eq!(all, ["NNNNN", "NNY", "NY", "Y"]);
    }

    #[test]
    fn a_loop_over_two_tests_ends_in_five_ways() {
        // Without end otherwise: it is cut.
        let all = answers(2, 40);
        let mut ended: Vec<String> = all.into_iter().filter(|word| word.len() < 40).collect();
        ended.sort();
        assert_eq!(ended, ["NNNNYY", "NNNYY", "NNYY", "NYY", "YY"]);
    }

    #[test]
    fn an_operation_begins_another_window() {
        let mut window = LookWindow::default();
        for _ in 0..NOS_MAX {
            assert_eq!(window.allowed(7, at(0, 0)), Allowed::Any);
            window.note_no(Allowed::Any, at(0, 0), false);
        }
        assert_eq!(window.allowed(7, at(1, 0)), Allowed::Any, "another place");
        assert_eq!(window.allowed(7, at(0, 0)), Allowed::Last);
        window.note_no(Allowed::Last, at(0, 0), true);
        assert!(window.is_covered());
        assert_eq!(window.allowed(7, at(1, 0)), Allowed::No);
        assert_eq!(window.allowed(8, at(0, 0)), Allowed::Any);
        assert!(!window.is_covered());
    }

    #[test]
    fn the_clock_goes_forward_in_a_loop_that_reads_it() {
        let mut window = LookWindow::default();
        let (place, question) = at(0, 0);
        for _ in 0..READS_MAX {
            assert_eq!(window.read_clock(0, place), 0.0);
        }
        assert_eq!(window.read_clock(0, at(1, 0).0), 0.0, "another place");
        assert_eq!(window.read_clock(0, place), STEP_MIN);
        let steps = (1..STEPS_MAX).map(|_| window.read_clock(0, place));
        assert!(steps.sum::<f64>() > 6e7, "two years");
        assert_eq!(window.read_clock(0, place), 0.0);
        for _ in 0..2 * LOOKS_MAX {
            window.note_no(Allowed::Last, (place, question), false);
        }
        assert!(window.stays(), "time does not end the loop");
        assert_eq!(window.read_clock(1, place), 0.0, "another operation");
    }

    #[test]
    fn subsets_are_all_of_few_and_single_ones_and_all_of_many() {
        let numbers = |active: &[usize]| {
            let count = count_subsets(active.len());
            for number in 0..count {
                let chosen = subset(active, number);
                let members = active.iter().map(|one| chosen.contains(one));
                let members: Vec<bool> = members.collect();
                assert_eq!(number_of_subset(&members), Some(number), "{members:?}");
            }
            (0..count)
                .map(|number| subset(active, number))
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[4, 7]), [vec![4], vec![7], vec![4, 7]]);
        assert_eq!(numbers(&[0, 1, 2]).len(), 7);
        let many = numbers(&[1, 3, 5, 6]);
        assert_eq!(many, [vec![1], vec![3], vec![5], vec![6], vec![1, 3, 5, 6]]);
    }
}
