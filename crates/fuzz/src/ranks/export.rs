//! A rank program as the source of a package, written as the apps are.

use std::fmt::Write as _;

use super::program::{RankOp, RankProgram};

/// Returns `src/main.rs` of the program. Run the program with this option for its eager threshold:
/// `--protocol threshold=BYTES`.
pub fn program_source(program: &RankProgram) -> String {
    let mut text = format!(
        "//! A program that `simrun fuzz --layer mpi` has generated, for {} ranks.\n\
         //!\n\
         //! Messages shorter than {} bytes are sent eagerly with\n\
         //! `-n {} --protocol threshold={}`.\n\n\
         use mpi::prelude::*;\n\n\
         async fn program(world: Comm) -> Result<()> {{\n    match world.rank() {{\n",
        program.ranks.len(),
        program.eager_threshold,
        program.ranks.len(),
        program.eager_threshold,
    );
    for (rank, ops) in program.ranks.iter().enumerate() {
        if ops.is_empty() {
            let _ = writeln!(text, "        {rank} => {{}}");
            continue;
        }
        let _ = writeln!(text, "        {rank} => {{");
        for op in ops {
            for line in operation_lines(program, rank, *op) {
                let _ = writeln!(text, "            {line}");
            }
        }
        text.push_str("        }\n");
    }
    text.push_str("        _ => {}\n    }\n    Ok(())\n}\n\nsimrun::main!(program);\n");
    text
}

/// Returns the lines of an operation.
fn operation_lines(program: &RankProgram, rank: usize, op: RankOp) -> Vec<String> {
    let Some(number) = op.message_index() else {
        return vec!["world.barrier().await?;".to_owned()];
    };
    let message = program.messages[number];
    let (to, tag, bytes) = (message.to, message.tag, message.bytes);
    let sent = format!("world.buffer({bytes})");
    let source = match message.any_source {
        true => "ANY_SOURCE".to_owned(),
        false => message.from.to_string(),
    };
    let pattern = match message.any_tag {
        true => "ANY_TAG".to_owned(),
        false => tag.to_string(),
    };
    let to_rank = program.messages.iter().filter(|one| one.to == message.to);
    let longest = to_rank.map(|one| one.bytes).max().unwrap_or(0);
    let receive = format!("world.irecv(world.buffer({longest}), {source}, {pattern})?");
    let name = match rank == message.to {
        true => format!("receive_{number}"),
        false => format!("send_{number}"),
    };
    let wait = format!("let status = {name}.wait().await?.status;");
    let print = format!("world.println(format_args!(\"receive {number}: {{status:?}}\"));");
    match op {
        RankOp::Send(_) => vec![format!("world.send(&{sent}, {to}, {tag}).await?;")],
        RankOp::Ssend(_) => vec![format!("world.ssend(&{sent}, {to}, {tag}).await?;")],
        RankOp::Isend(_) => vec![format!(
            "let mut {name} = world.isend({sent}, {to}, {tag})?;"
        )],
        RankOp::Issend(_) => vec![format!(
            "let mut {name} = world.issend({sent}, {to}, {tag})?;"
        )],
        RankOp::Irecv(_) => vec![format!("let mut {name} = {receive};")],
        RankOp::Recv(_) => vec![
            format!("let mut buffer = world.buffer({longest});"),
            format!("let status = world.recv(&mut buffer, {source}, {pattern}).await?;"),
            print,
        ],
        RankOp::Wait(_) if rank == message.to => vec![wait, print],
        RankOp::Wait(_) => vec![format!("{name}.wait().await?;")],
        RankOp::Barrier => Vec::new(),
    }
}
