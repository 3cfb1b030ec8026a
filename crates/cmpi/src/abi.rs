//! The standard ABI of MPI 5.0 as data. From this data simrun makes the header `mpi.h` and the
//! source of the stub library with which programs are linked.
//!
//! The tables are `abi/functions.txt` and `abi/constants.txt`; the first lines of each file
//! describe the format. *Not there*: functions of Fortran, for which the ABI has no symbols.

use std::fmt::Write as _;

const FUNCTIONS: &str = include_str!("../abi/functions.txt");
const CONSTANTS: &str = include_str!("../abi/constants.txt");

/// The name that the dynamic section of a program has of the library.
pub const SONAME: &str = "libmpi_abi.so.1";

/// A function of the ABI.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name of the function, such as `MPI_Send`.
    pub name: &'static str,
    returns: &'static str,
    parameters: &'static str,
}

/// Returns the words of each line that is no comment.
fn lines(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' '))
}

/// Returns the functions of the ABI in the order of their names.
pub fn functions() -> impl Iterator<Item = Function> {
    lines(FUNCTIONS)
        .filter(|(first, _)| *first != "kind" && *first != "callback")
        .map(|(returns, rest)| {
            let (name, parameters) = rest.split_once(' ').unwrap_or((rest, ""));
            Function {
                name,
                returns,
                parameters,
            }
        })
}

/// Returns the C type of a kind of parameter.
fn type_of(kind: &str) -> &'static str {
    let mut kinds = lines(FUNCTIONS).filter(|(first, _)| *first == "kind");
    let found = kinds.find_map(|(_, rest)| rest.split_once(' ').filter(|(name, _)| *name == kind));
    found.map_or("", |(_, text)| text)
}

/// Returns the list of parameters in C.
fn parameters_in_c(parameters: &str) -> String {
    let in_c = |parameter: &str| match parameter.split_once(':') {
        Some((kind, name)) => {
            let text = type_of(kind);
            match text.split_once('@') {
                Some((before, after)) => format!("{before}{name}{after}"),
                None => format!("{text} {name}"),
            }
        }
        None => "...".to_owned(),
    };
    let list: Vec<String> = parameters.split_whitespace().map(in_c).collect();
    if list.is_empty() {
        return "void".to_owned();
    }
    list.join(", ")
}

/// Returns the C type of the value that a function returns.
fn returned(function: Function) -> &'static str {
    match function.returns {
        plain @ ("int" | "double") => plain,
        kind => type_of(kind),
    }
}

/// Returns the value of an integer constant or the number of a predefined handle.
pub fn constant(name: &str) -> Option<i64> {
    lines(CONSTANTS).find_map(|(_, rest)| {
        let (_, value) = rest.split_once(' ').filter(|(found, _)| *found == name)?;
        match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        }
    })
}

/// Returns the names of the constants, with the types that they have in C.
pub fn constants() -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(CONSTANTS).filter_map(|(kind, rest)| {
        let (name, _) = rest.split_once(' ')?;
        (kind != "type").then_some((kind, name))
    })
}

/// Returns the text of the header `mpi.h`.
pub fn header() -> String {
    let mut text = String::from(
        "/* The standard ABI of MPI 5.0. Made by simrun from its tables of the standard. */\n\
         #ifndef SIMRUN_MPI_H\n#define SIMRUN_MPI_H\n\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n\
         typedef struct {\n  int MPI_SOURCE;\n  int MPI_TAG;\n  int MPI_ERROR;\n  \
         int MPI_internal[5];\n} MPI_Status;\n",
    );
    let mut put = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for (first, rest) in lines(CONSTANTS) {
        match (first, rest.rsplit_once(' ')) {
            ("handle", _) => put(format!("typedef struct {rest}_of_abi *{rest};")),
            ("type", Some((old, new))) => put(format!("typedef {old} {new};")),
            _ => {}
        }
    }
    for (_, rest) in lines(FUNCTIONS).filter(|(first, _)| *first == "callback") {
        if let Some((returns, (name, parameters))) = rest
            .split_once(' ')
            .and_then(|(returns, rest)| Some((returns, rest.split_once(' ')?)))
        {
            let parameters = parameters_in_c(parameters);
            put(format!("typedef {returns} ({name})({parameters});"));
        }
    }
    for (kind, rest) in lines(CONSTANTS) {
        match (kind, rest.split_once(' ')) {
            ("handle" | "type", _) | (_, None) => {}
            ("int", Some((name, value))) if value.starts_with('-') => {
                put(format!("#define {name} ({value})"));
            }
            ("int" | "=", Some((name, value))) => put(format!("#define {name} {value}")),
            (_, Some((name, value))) => put(format!("#define {name} (({kind}){value})")),
        }
    }
    for function in functions() {
        let (returns, name) = (returned(function), function.name);
        let parameters = parameters_in_c(function.parameters);
        put(format!("{returns} {name}({parameters});"));
        put(format!("{returns} P{name}({parameters});"));
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

/// Returns the source of the stub library, in which each function ends the process with a message.
/// A simulation does not load the stub library.
pub fn stub_source() -> String {
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n\n\
         static int stub(void) {\n  fputs(\"this MPI program is linked with the stub library of \
         simrun: run it with simrun, or with mpiexec of an MPI that has the standard ABI\\n\", \
         stderr);\n  exit(1);\n}\n\n\
         void __sanitizer_cov_trace_pc(void) {}\n\n",
    );
    for function in functions() {
        for prefix in ["", "P"] {
            let name = function.name;
            // Writing to a string does not fail.
            let _ = writeln!(text, "int {prefix}{name}(void) {{ return stub(); }}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_what_the_standard_has() {
        assert_eq!(functions().count(), 662);
        assert_eq!(constant("MPI_ANY_TAG"), Some(-2));
        assert_eq!(constant("MPI_INT"), Some(0x209));
        let header = header();
        for line in [
            "int MPI_Send(const void * buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);",
            "double PMPI_Wtime(void);",
            "#define MPI_ANY_SOURCE (-1)",
            "#define MPI_COMM_WORLD ((MPI_Comm)0x101)",
            "int MPI_Group_range_incl(MPI_Group group, int n, int (*ranges)[3], MPI_Group * newgroup);",
        ] {
            assert!(header.lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn each_kind_has_a_type() {
        for function in functions() {
            for parameter in function.parameters.split_whitespace() {
                let kind = parameter.split(':').next().unwrap();
                assert!(kind == "…" || !type_of(kind).is_empty(), "{parameter}");
            }
            assert!(!returned(function).is_empty(), "{function:?}");
        }
    }
}
