//! A program in C against MPI, which `simrun check` and other checkers can take.
//!
//! Each operation is one line, so that operations have different source lines. *Not written*:
//! answers; the comment at the begin of the file has the one that differs.

use std::fmt::Write as _;

use super::program::{
    Accepts, Communicator, FreedomOp, FreedomProgram, Operation, RankedCall, SendMode, SentMessage,
};

/// Declarations of the program. A request and a message have the place of their operation.
const HEAD: &str = r"#include <mpi.h>
#include <stdlib.h>
static int rank, size, flag, index_, count, outs[32];
static char sent[32][2], got[32][2], room[1 << 12];
static long in[64], out[64], memory[2], values[32], old[32];
static MPI_Request requests[32], list[32];
static MPI_Message messages[32];
static MPI_Status status;
static MPI_Comm world, duplicate, inter, part, made;
static MPI_Group all, one;
static MPI_Win win;
/* Takes requests from their places and gives them back. */
#define WITH(n, call, ...) do { int at[] = { __VA_ARGS__ }; \
    for (int i = 0; i < n; i++) list[i] = requests[at[i]]; call; \
    for (int i = 0; i < n; i++) requests[at[i]] = list[i]; } while (0)
#define ONE(r) (MPI_Group_incl(all, 1, (int[]){ r }, &one), one)
";

/// Returns the program in C; `difference` tells how the checker differs.
pub fn c_program(program: &FreedomProgram, difference: &str) -> String {
    let ranks = program.ranks.len();
    let difference = difference.replace("*/", "* /").replace('\n', " ");
    let mut text = format!(
        "/* Made by simrun fuzz --layer mpi/check, for {ranks} ranks:\n   {difference} */\n{HEAD}\n\
         int main(void)\n{{\n    MPI_Init(NULL, NULL);\n    world = MPI_COMM_WORLD;\n    \
         MPI_Comm_rank(world, &rank);\n    MPI_Comm_size(world, &size);\n    \
         for (int i = 0; i < 32; i++) requests[i] = MPI_REQUEST_NULL, \
         messages[i] = MPI_MESSAGE_NULL, sent[i][0] = rank, sent[i][1] = i;\n"
    );
    text.push_str(&setup_lines(program));
    for (rank, ops) in program.ranks.iter().enumerate() {
        let _ = writeln!(text, "    if (rank == {rank}) {{");
        let mut fences = 0;
        for (place, op) in ops.iter().enumerate() {
            let line = line_of((rank, place), op, &mut fences);
            let _ = writeln!(text, "        {line}");
        }
        text.push_str("    }\n");
    }
    text.push_str(
        "    for (int i = 0; i < 32; i++)\n        \
         if (messages[i] != MPI_MESSAGE_NULL) MPI_Mrecv(got[i], 2, MPI_CHAR, &messages[i], &status);\n    \
         for (int i = 0; i < 32; i++)\n        \
         if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], &status);\n",
    );
    if program.has_window() {
        text.push_str("    MPI_Win_free(&win);\n");
    }
    text + "    MPI_Finalize();\n    return 0;\n}\n"
}

/// Returns the lines that make communicators and the window.
fn setup_lines(program: &FreedomProgram) -> String {
    let mut text = String::new();
    if program.has_communicator(Communicator::Duplicate) {
        text.push_str("    MPI_Comm_dup(world, &duplicate);\n");
    }
    if program.has_communicator(Communicator::Inter) {
        text.push_str(
            "    MPI_Comm_split(world, rank > 0, 0, &part);\n    \
             MPI_Intercomm_create(part, 0, world, rank == 0, 0, &inter);\n",
        );
    }
    if program.has_window() {
        text.push_str(
            "    MPI_Comm_group(world, &all);\n    \
             MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, world, &win);\n",
        );
    }
    let is_buffered = |op: &FreedomOp| {
        matches!(op, FreedomOp::Send(message)
            | FreedomOp::Isend(message)
            | FreedomOp::SendInit(message) if message.mode == SendMode::Buffered)
    };
    if program.ranks.iter().flatten().any(is_buffered) {
        text.push_str("    MPI_Buffer_attach(room, sizeof room);\n");
    }
    text
}

fn comm_name(comm: Communicator) -> &'static str {
    match comm {
        Communicator::World => "world",
        Communicator::Duplicate => "duplicate",
        Communicator::Inter => "inter",
    }
}

/// Returns the number of a rank in a communicator, as another one names the rank.
fn peer_rank(own: usize, comm: Communicator, rank: usize) -> usize {
    if comm == Communicator::Inter && own == 0 {
        rank.saturating_sub(1)
    } else if comm == Communicator::Inter {
        0
    } else {
        rank
    }
}

/// Returns the name of the mode in the names of calls.
fn mode_letter(mode: SendMode) -> &'static str {
    match mode {
        SendMode::Standard => "",
        SendMode::Synchronous => "s",
        SendMode::Buffered => "b",
    }
}

fn call_name(prefix: &str, name: &str) -> String {
    let name = format!("{prefix}{name}");
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn send_arguments(own: usize, place: usize, message: &SentMessage) -> String {
    let (to, comm) = (
        peer_rank(own, message.comm, message.to),
        comm_name(message.comm),
    );
    format!("sent[{place}], 2, MPI_CHAR, {to}, {}, {comm}", message.tag)
}

fn pattern_arguments(own: usize, accepts: &Accepts) -> String {
    let source = accepts.from.map_or("MPI_ANY_SOURCE".to_owned(), |from| {
        peer_rank(own, accepts.comm, from).to_string()
    });
    let tag = accepts
        .tag
        .map_or("MPI_ANY_TAG".to_owned(), |tag| tag.to_string());
    format!("{source}, {tag}, {}", comm_name(accepts.comm))
}

/// Returns the call of an operation.
fn line_of((own, place): (usize, usize), op: &FreedomOp, fences: &mut u32) -> String {
    let receive = |accepts: &Accepts| {
        format!(
            "got[{place}], 2, MPI_CHAR, {}",
            pattern_arguments(own, accepts)
        )
    };
    let mine = format!("&requests[{place}]");
    match op {
        FreedomOp::Send(message) => format!(
            "MPI_{}({});",
            call_name(mode_letter(message.mode), "send"),
            send_arguments(own, place, message)
        ),
        FreedomOp::Isend(message) => format!(
            "MPI_I{}send({}, {mine});",
            mode_letter(message.mode),
            send_arguments(own, place, message)
        ),
        FreedomOp::SendInit(message) => format!(
            "MPI_{}_init({}, {mine});",
            call_name(mode_letter(message.mode), "send"),
            send_arguments(own, place, message)
        ),
        FreedomOp::Recv(accepts) => format!("MPI_Recv({}, &status);", receive(accepts)),
        FreedomOp::Irecv(accepts) => format!("MPI_Irecv({}, {mine});", receive(accepts)),
        FreedomOp::RecvInit(accepts) => format!("MPI_Recv_init({}, {mine});", receive(accepts)),
        FreedomOp::Sendrecv(message, accepts) => {
            let to = peer_rank(own, message.comm, message.to);
            format!(
                "MPI_Sendrecv(sent[{place}], 2, MPI_CHAR, {to}, {}, {}, &status);",
                message.tag,
                receive(accepts)
            )
        }
        FreedomOp::Probe(_)
        | FreedomOp::Iprobe(_)
        | FreedomOp::Mprobe(_)
        | FreedomOp::Improbe(_)
        | FreedomOp::Mrecv(_) => probe_line((own, place), op),
        FreedomOp::Collective(call) => collective_line(call, None),
        FreedomOp::Icollective(call) => collective_line(call, Some(&mine)),
        FreedomOp::PsendInit(stripes) => format!(
            "MPI_Psend_init(sent[{place}], 2, 1, MPI_CHAR, {}, {}, world, MPI_INFO_NULL, {mine});",
            stripes.peer, stripes.tag
        ),
        FreedomOp::PrecvInit(stripes) => format!(
            "MPI_Precv_init(got[{place}], 2, 1, MPI_CHAR, {}, {}, world, MPI_INFO_NULL, {mine});",
            stripes.peer, stripes.tag
        ),
        _ if !op.uses_window() => request_line(op),
        _ => window_line(place, op, fences),
    }
}

/// Returns the call of a probe, or of the receive of a message that a probe has taken.
fn probe_line((own, place): (usize, usize), op: &FreedomOp) -> String {
    match op {
        FreedomOp::Probe(accepts) => {
            format!("MPI_Probe({}, &status);", pattern_arguments(own, accepts))
        }
        FreedomOp::Iprobe(accepts) => {
            format!(
                "MPI_Iprobe({}, &flag, &status);",
                pattern_arguments(own, accepts)
            )
        }
        FreedomOp::Mprobe(accepts) => format!(
            "MPI_Mprobe({}, &messages[{place}], &status);",
            pattern_arguments(own, accepts)
        ),
        FreedomOp::Improbe(accepts) => format!(
            "MPI_Improbe({}, &flag, &messages[{place}], &status);",
            pattern_arguments(own, accepts)
        ),
        FreedomOp::Mrecv(probe) => format!(
            "if (messages[{probe}] != MPI_MESSAGE_NULL) \
             MPI_Mrecv(got[{place}], 2, MPI_CHAR, &messages[{probe}], &status);"
        ),
        _ => String::new(),
    }
}

/// Returns the call of an operation on requests.
fn request_line(op: &FreedomOp) -> String {
    let request = |place: &usize| format!("&requests[{place}]");
    let several = |list: &[usize], call: &str| {
        let places: Vec<String> = list.iter().map(ToString::to_string).collect();
        let count = list.len();
        let call = call.replace('#', &count.to_string());
        format!("WITH({count}, {call}, {});", places.join(", "))
    };
    match op {
        FreedomOp::Start(place) => format!("MPI_Start({});", request(place)),
        FreedomOp::Wait(place) => format!("MPI_Wait({}, &status);", request(place)),
        FreedomOp::Test(place) => format!("MPI_Test({}, &flag, &status);", request(place)),
        FreedomOp::GetStatus(place) => {
            format!("MPI_Request_get_status(requests[{place}], &flag, &status);")
        }
        FreedomOp::Cancel(place) => {
            format!(
                "if (requests[{place}] != MPI_REQUEST_NULL) MPI_Cancel({});",
                request(place)
            )
        }
        FreedomOp::Free(place) => format!(
            "if (requests[{place}] != MPI_REQUEST_NULL) MPI_Request_free({});",
            request(place)
        ),
        FreedomOp::Waitany(list) => several(list, "MPI_Waitany(#, list, &index_, &status)"),
        FreedomOp::Waitsome(list) => several(
            list,
            "MPI_Waitsome(#, list, &count, outs, MPI_STATUSES_IGNORE)",
        ),
        FreedomOp::Waitall(list) => several(list, "MPI_Waitall(#, list, MPI_STATUSES_IGNORE)"),
        FreedomOp::Testany(list) => several(list, "MPI_Testany(#, list, &index_, &flag, &status)"),
        FreedomOp::Testsome(list) => several(
            list,
            "MPI_Testsome(#, list, &count, outs, MPI_STATUSES_IGNORE)",
        ),
        FreedomOp::Testall(list) => {
            several(list, "MPI_Testall(#, list, &flag, MPI_STATUSES_IGNORE)")
        }
        FreedomOp::Pready(place, part) => format!("MPI_Pready({part}, requests[{place}]);"),
        FreedomOp::Parrived(place, part) => {
            format!("MPI_Parrived(requests[{place}], {part}, &flag);")
        }
        _ => String::new(),
    }
}

fn collective_line(call: &RankedCall, request: Option<&str>) -> String {
    let count = usize::from(!call.is_empty);
    let comm_ = comm_name(call.comm);
    let root = match call.comm {
        Communicator::Inter => {
            let root = call.root;
            let index = root.saturating_sub(1);
            let is_in_one = format!("(rank == 0) == ({root} == 0)");
            format!("rank == {root} ? MPI_ROOT : {is_in_one} ? MPI_PROC_NULL : {index}")
        }
        _ => call.root.to_string(),
    };
    let (name, arguments) = match call.operation {
        Operation::Barrier => ("barrier", comm_.to_owned()),
        Operation::Bcast => ("bcast", format!("in, {count}, MPI_LONG, {root}, {comm_}")),
        Operation::Scatter => (
            "scatter",
            format!("in, {count}, MPI_LONG, out, {count}, MPI_LONG, {root}, {comm_}"),
        ),
        Operation::Reduce => (
            "reduce",
            format!("in, out, {count}, MPI_LONG, MPI_SUM, {root}, {comm_}"),
        ),
        Operation::Gather => (
            "gather",
            format!("in, {count}, MPI_LONG, out, {count}, MPI_LONG, {root}, {comm_}"),
        ),
        Operation::Allreduce => (
            "allreduce",
            format!("in, out, {count}, MPI_LONG, MPI_SUM, {comm_}"),
        ),
        Operation::Allgather => (
            "allgather",
            format!("in, {count}, MPI_LONG, out, {count}, MPI_LONG, {comm_}"),
        ),
        Operation::Alltoall => (
            "alltoall",
            format!("in, {count}, MPI_LONG, out, {count}, MPI_LONG, {comm_}"),
        ),
        Operation::Scan => (
            "scan",
            format!("in, out, {count}, MPI_LONG, MPI_SUM, {comm_}"),
        ),
        Operation::Exscan => (
            "exscan",
            format!("in, out, {count}, MPI_LONG, MPI_SUM, {comm_}"),
        ),
        Operation::Dup => {
            return match request {
                None => format!("MPI_Comm_dup({comm_}, &made);"),
                Some(request) => format!("MPI_Comm_idup({comm_}, &made, {request});"),
            };
        }
        Operation::Create => {
            return format!("MPI_Comm_group({comm_}, &one); MPI_Comm_create({comm_}, one, &made);");
        }
        Operation::Split => return format!("MPI_Comm_split({comm_}, 0, 0, &made);"),
    };
    match request {
        None => format!("MPI_{}({arguments});", call_name("", name)),
        Some(request) => format!("MPI_I{name}({arguments}, {request});"),
    }
}

fn window_line(place: usize, op: &FreedomOp, fences: &mut u32) -> String {
    match op {
        FreedomOp::Lock(target, is_exclusive) => {
            let kind = match is_exclusive {
                true => "MPI_LOCK_EXCLUSIVE",
                false => "MPI_LOCK_SHARED",
            };
            format!("MPI_Win_lock({kind}, {target}, 0, win);")
        }
        FreedomOp::Unlock(target) => format!("MPI_Win_unlock({target}, win);"),
        FreedomOp::Replace(access) => format!(
            "values[{place}] = {}; MPI_Accumulate(&values[{place}], 1, MPI_LONG, {}, {}, 1, MPI_LONG, \
             MPI_REPLACE, win);",
            access.value, access.target, access.cell
        ),
        FreedomOp::Swap(access) => format!(
            "values[{place}] = {}; MPI_Rget_accumulate(&values[{place}], 1, MPI_LONG, &old[{place}], \
             1, MPI_LONG, {}, {}, 1, MPI_LONG, MPI_REPLACE, win, &requests[{place}]);",
            access.value, access.target, access.cell
        ),
        FreedomOp::Fence => {
            *fences += 1;
            let assertion = if *fences == 1 {
                "MPI_MODE_NOPRECEDE"
            } else {
                "0"
            };
            format!("MPI_Win_fence({assertion}, win);")
        }
        FreedomOp::Post(origin) => format!("MPI_Win_post(ONE({origin}), 0, win);"),
        FreedomOp::Open(target) => format!("MPI_Win_start(ONE({target}), 0, win);"),
        FreedomOp::Complete => "MPI_Win_complete(win);".to_owned(),
        FreedomOp::TestWindow => "MPI_Win_test(win, &flag);".to_owned(),
        FreedomOp::WaitWindow => "MPI_Win_wait(win);".to_owned(),
        _ => String::new(),
    }
}
