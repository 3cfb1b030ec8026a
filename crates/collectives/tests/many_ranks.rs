//! Promise: for very many ranks, no selector chooses an algorithm with a number of messages that is
//! quadratic in the number of ranks; an algorithm that is set for all calls is used.

use collectives::{Call, Collective, Facts, QUADRATIC_RANKS_MAX, Selector, Unsuited, find};

fn selected(selector: &Selector, ranks: u32) -> Result<&'static str, Unsuited> {
    let mut call = Call::new(Collective::Allgather, 0, ranks, 8);
    let found = selector.select(&mut call, Facts::default());
    found.map(|algorithm| algorithm.name)
}

#[test]
fn too_many_messages_are_an_error_that_names_another_algorithm() {
    let ours = Selector::ours();
    assert_eq!(selected(ours, QUADRATIC_RANKS_MAX), Ok("ring"));
    let error = selected(ours, QUADRATIC_RANKS_MAX + 1).expect_err("10^10 messages");
    assert_eq!(
        error.to_string(),
        "ring of more than 100000 ranks has too many messages: expected one with fewer, such as \
         recursive_doubling, or ring for all calls"
    );
    let Unsuited::Quadratic { usable, .. } = error else {
        panic!("{error}");
    };
    let mut call = Call::new(Collective::Allgather, 0, QUADRATIC_RANKS_MAX + 1, 8);
    assert!(usable.is_some_and(|usable| usable.suits(&call) && !usable.quadratic));
    // The same if it is set for all calls.
    let mut forced = ours.clone();
    forced
        .force(Collective::Allgather, "ring", 0, 0)
        .expect("a name");
    let found = forced.select(&mut call, Facts::default());
    assert_eq!(found.expect("an algorithm").name, "ring");
}

#[test]
fn marked_algorithms_have_messages_of_the_square_of_the_ranks() {
    for kind in Collective::ALL {
        for algorithm in collectives::named(kind).filter(|one| one.parts.is_empty()) {
            if !algorithm.levels.is_empty() {
                continue;
            }
            let count = |ranks: u32| {
                let call = |rank| {
                    let mut call = Call::new(kind, rank, ranks, 1 << 20);
                    call.segment = 1 << 20;
                    call
                };
                let all = (0..ranks).map(call);
                let sent = all.map(|call| collectives::messages(algorithm, &call).len());
                sent.sum::<usize>()
            };
            if !algorithm.needs.holds(&Call::new(kind, 0, 64, 1 << 20)) {
                continue;
            }
            // Twice the ranks: four times the messages, or about twice.
            #[expect(clippy::cast_precision_loss, reason = "a few thousand messages")]
            let ratio = count(128) as f64 / count(64) as f64;
            assert_eq!(
                algorithm.quadratic,
                ratio > 3.5,
                "{kind} by {}: {ratio}",
                algorithm.name
            );
        }
    }
    assert!(find(Collective::Scan, "linear").is_some_and(|linear| linear.quadratic));
}
