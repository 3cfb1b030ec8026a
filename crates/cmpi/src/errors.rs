//! Errors of calls: the codes in the ABI, and the texts.
//!
//! A code of the library is its class. A program may add classes and codes (`exports::errors`).

use std::ffi::c_int;

use mpi::{Error, ErrorClass};

use crate::abi;

/// The error of a call, in a box: the results of calls that succeed stay short.
#[derive(Debug)]
pub(crate) struct CallError(Box<ErrorParts>);

#[derive(Debug)]
struct ErrorParts {
    /// The code that the call returns.
    code: c_int,
    /// The code of the cause, which the text tells.
    cause: c_int,
    text: String,
}

impl CallError {
    /// An error of this class, such as `MPI_ERR_ARG`.
    #[cold]
    pub(crate) fn new(class: &'static str, text: impl Into<String>) -> Self {
        Self::of_program(class_code(class), text)
    }

    /// The error that a function of the program has returned.
    pub(crate) fn of_program(code: c_int, text: impl Into<String>) -> Self {
        Self(Box::new(ErrorParts {
            code,
            cause: code,
            text: text.into(),
        }))
    }

    /// Returns the error of a call about several requests, of which this is the error of one.
    #[cold]
    pub(crate) fn in_status(mut self) -> Self {
        self.0.code = class_code("MPI_ERR_IN_STATUS");
        self
    }

    /// Returns the code that a call returns.
    pub(crate) const fn code(&self) -> c_int {
        self.0.code
    }

    /// Returns the text for a user.
    pub(crate) fn text(&self) -> String {
        let ErrorParts { cause, text, .. } = &*self.0;
        let class = class_of(*cause).unwrap_or("error of the program");
        format!("{class}: {text}")
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::new(class_name(error.class()), error.to_string())
    }
}

const fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Arg => "MPI_ERR_ARG",
        ErrorClass::Buffer => "MPI_ERR_BUFFER",
        ErrorClass::Comm => "MPI_ERR_COMM",
        ErrorClass::Count => "MPI_ERR_COUNT",
        ErrorClass::Dims => "MPI_ERR_DIMS",
        ErrorClass::Disp => "MPI_ERR_DISP",
        ErrorClass::Group => "MPI_ERR_GROUP",
        ErrorClass::Op => "MPI_ERR_OP",
        ErrorClass::Rank => "MPI_ERR_RANK",
        ErrorClass::Request => "MPI_ERR_REQUEST",
        ErrorClass::RmaConflict => "MPI_ERR_RMA_CONFLICT",
        ErrorClass::RmaRange => "MPI_ERR_RMA_RANGE",
        ErrorClass::RmaSync => "MPI_ERR_RMA_SYNC",
        ErrorClass::Root => "MPI_ERR_ROOT",
        ErrorClass::Tag => "MPI_ERR_TAG",
        ErrorClass::Truncate => "MPI_ERR_TRUNCATE",
        ErrorClass::Type => "MPI_ERR_TYPE",
        // The ABI has no class for a lost process.
        _ => "MPI_ERR_OTHER",
    }
}

fn class_code(class: &str) -> c_int {
    let code = abi::constant(class).and_then(|code| c_int::try_from(code).ok());
    code.expect("the table has each class")
}

/// Returns the name of the class with this code, if there is one.
pub(crate) fn class_of(code: c_int) -> Option<&'static str> {
    let is_it = |name: &str| abi::constant(name) == Some(i64::from(code));
    let mut classes = abi::constants().filter(|(_, name)| {
        let is_error = name.starts_with("MPI_ERR_") || name.starts_with("MPI_T_ERR_");
        *name == "MPI_SUCCESS" || is_error && *name != "MPI_ERR_LASTCODE"
    });
    classes.find(|(_, name)| is_it(name)).map(|(_, name)| name)
}
