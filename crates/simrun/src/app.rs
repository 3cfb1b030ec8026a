//! From an `async fn` to a [`Program`]: the four shapes that a program may have.

use sim_core::SourceLocation;
use std::ffi::OsString;
use std::future::Future;

use clap::{CommandFactory, Parser};

use crate::compute_args::ComputeArgs;
use mpi::prelude::*;
use run::{Program, RankProgram, RootProgram};
use sim_core::{Actor, ActorResult};

/// An `async fn` that can be run. `Shape` only tells the shapes apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no program that simrun can run",
    label = "expected an async fn (Comm), (Comm, Args), (Actor) or (Actor, Args)",
    note = "Args must derive both `clap::Parser` and `Clone`: every rank gets a copy of them",
    note = "it returns `()`, or a `Result<(), E>` whose error can be displayed"
)]
pub trait App<Shape> {
    /// The program's own arguments; `None` if it takes none.
    fn command() -> Option<clap::Command>;

    /// True for a compiled MPI program.
    const IS_COMPILED: bool = false;

    /// The program with options of compiled programs.
    ///
    /// # Errors
    /// If it is none and an option is given, or if the options are wrong.
    fn with_compute(self, options: &ComputeArgs) -> Result<Self, clap::Error>
    where
        Self: Sized,
    {
        let given = options.given();
        let Some(first) = given.first() else {
            return Ok(self);
        };
        let text = format!("{first}: an option of compiled MPI programs; this is none\n");
        Err(clap::Error::raw(
            clap::error::ErrorKind::ArgumentConflict,
            text,
        ))
    }

    /// The program with its arguments. `named`: its name, and its place in reports.
    ///
    /// # Errors
    /// If the arguments are wrong, or ask for help.
    fn bind(
        self,
        named: (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error>;
}

fn parse_arguments<A: Parser>(
    name: &'static str,
    arguments: &[OsString],
) -> Result<A, clap::Error> {
    let command = command_of::<A>(name);
    let matches = command.try_get_matches_from(arguments)?;
    A::from_arg_matches(&matches)
}

fn command_of<A: CommandFactory>(name: &'static str) -> clap::Command {
    A::command()
        .name(name)
        .no_binary_name(true)
        .bin_name(format!("{name} --"))
}

/// For programs without arguments: anything is too much.
#[derive(Parser)]
struct Nothing {}

impl<F, A, Fut> App<(Comm, A)> for F
where
    F: Fn(Comm, A) -> Fut + 'static,
    A: Parser + Clone + 'static,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn command() -> Option<clap::Command> {
        Some(A::command())
    }

    fn bind(
        self,
        (name, place): (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error> {
        let parsed: A = parse_arguments(name, arguments)?;
        let program = RankProgram::new(move |world| self(world, parsed.clone()));
        Ok(Box::new(program.with_location(place)))
    }
}

impl<F, Fut> App<(Comm,)> for F
where
    F: Fn(Comm) -> Fut + 'static,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn command() -> Option<clap::Command> {
        None
    }

    fn bind(
        self,
        (name, place): (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error> {
        let _: Nothing = parse_arguments(name, arguments)?;
        Ok(Box::new(RankProgram::new(self).with_location(place)))
    }
}

impl<F, A, Fut> App<(Actor, A)> for F
where
    F: Fn(Actor, A) -> Fut + 'static,
    A: Parser + Clone + 'static,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn command() -> Option<clap::Command> {
        Some(A::command())
    }

    fn bind(
        self,
        (name, _): (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error> {
        let parsed: A = parse_arguments(name, arguments)?;
        Ok(Box::new(RootProgram::new(move |me| {
            self(me, parsed.clone())
        })))
    }
}

impl<F, Fut> App<(Actor,)> for F
where
    F: Fn(Actor) -> Fut + 'static,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn command() -> Option<clap::Command> {
        None
    }

    fn bind(
        self,
        (name, _): (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error> {
        let _: Nothing = parse_arguments(name, arguments)?;
        Ok(Box::new(RootProgram::new(self)))
    }
}
