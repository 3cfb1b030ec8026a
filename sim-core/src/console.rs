//! The destination of program output and log lines: the kernel passes them on and keeps no copy.

use std::fmt;

use crate::{Actor, ActorId, Time};

/// Severity of a line of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// An error.
    Error,
    /// A condition to check before a result is trusted.
    Warn,
    /// A milestone.
    Info,
    /// For the debugging of the program.
    Debug,
    /// Everything.
    Trace,
}

/// A line of the log with its time, actor and host.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// The severity.
    pub level: Level,
    /// The time at which the line was written.
    pub time: Time,
    /// The name of the actor that wrote the line.
    pub name: &'a str,
    /// The name of the host of the actor.
    pub host: &'a str,
    /// The text, without the stamp.
    pub text: fmt::Arguments<'a>,
}

/// Takes the output of the programs. A console must not touch the simulation.
pub trait Console {
    /// A line of an actor's output.
    fn print(&self, actor: ActorId, text: fmt::Arguments<'_>);
    /// Returns true if log lines of this level of this actor are wanted.
    fn wants(&self, level: Level, actor: ActorId) -> bool;
    /// A line of the log that is wanted.
    fn log(&self, line: &LogLine<'_>);
}

impl Actor {
    /// Prints a line of the program's own output, such as `me.println(format_args!("{x}"))`.
    pub fn println(&self, text: fmt::Arguments<'_>) {
        let console = self.kernel.borrow().console.clone();
        if let Some(console) = console {
            console.print(self.id(), text);
        }
    }

    /// Warns, once in a run, that a program asks for the time of a run in which none passes.
    #[cold]
    pub(crate) fn warn_untimed_clock(&self) {
        if !std::mem::replace(&mut self.kernel.borrow_mut().warned_of_untimed, true) {
            let text = "the program reads the clock, which is always 0 in this untimed run";
            self.log(Level::Warn, format_args!("{text}"));
        }
    }

    /// Writes a line to the log, stamped with the time, the actor and its host. The text is not
    /// formatted if the level is filtered out.
    pub fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        let console = self.kernel.borrow().console.clone();
        let Some(console) = console.filter(|console| console.wants(level, self.id())) else {
            return;
        };
        let time = self.kernel.borrow().now();
        let (name, host) = (self.name(), self.host_name());
        console.log(&LogLine {
            level,
            time,
            name: &name,
            host: &host,
            text,
        });
    }
}
