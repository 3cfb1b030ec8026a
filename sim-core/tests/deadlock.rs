//! A deadlock names every blocked actor, its operation and the holder of the object; two runs print
//! the same text.

use sim_core::{Outcome, Simulation, Span, WaitGraph};

fn deadlock(simulation: Simulation) -> WaitGraph {
    match simulation.run().outcome {
        Outcome::Deadlock(graph) => graph,
        other => panic!("{other:?}"),
    }
}

/// Two actors that take two mutexes in opposite orders, and one that waits for both actors.
fn crossed() -> Simulation {
    let mut simulation = Simulation::with_constant_model(2);
    let (m, n) = (simulation.new_mutex(), simulation.new_mutex());
    let mut actors = Vec::new();
    for (name, first, second) in [("alice", m.clone(), n.clone()), ("bob", n, m)] {
        actors.push(simulation.spawn(name, 1, |me| async move {
            first.lock().await;
            me.sleep(Span::from_secs(1.0)).await;
            second.lock().await;
        }));
    }
    simulation.spawn("carol", 0, |_| async move {
        futures::future::join(actors[0].join(), actors[1].join()).await;
    });
    simulation.spawn("a daemon is not blocked", 0, |me| async move {
        me.daemonize();
        me.new_mutex().wait().await;
    });
    simulation
}

#[test]
fn the_report_as_text_and_as_a_graph() {
    let graph = deadlock(crossed());
    assert_eq!(
        graph.to_string(),
        "  alice on host host-1 waits in lock of mutex 1 at sim-core/tests/deadlock.rs:22, for bob\n  \
         bob on host host-1 waits in lock of mutex 0 at sim-core/tests/deadlock.rs:22, for alice\n  \
         carol on host host-0 waits in join of alice or join of bob at sim-core/tests/deadlock.rs:26, for alice, bob\n  \
         cycle: alice -> bob -> alice\n"
    );
    assert_eq!(
        graph.to_dot(),
        "digraph deadlock {\n  \
           node [shape=box];\n  \
           a1 [label=\"alice\\nlock of mutex 1\\nsim-core/tests/deadlock.rs:22\"];\n  \
           a1 -> a2;\n  \
           a2 [label=\"bob\\nlock of mutex 0\\nsim-core/tests/deadlock.rs:22\"];\n  \
           a2 -> a1;\n  \
           a3 [label=\"carol\\njoin of alice or join of bob\\nsim-core/tests/deadlock.rs:26\"];\n  \
           a3 -> a1;\n  \
           a3 -> a2;\n\
         }\n"
    );
}

#[test]
fn two_runs_print_the_same() {
    let (first, second) = (deadlock(crossed()), deadlock(crossed()));
    assert_eq!(first, second);
    assert!(!first.to_string().contains("0x"), "an address");
}

#[test]
fn everything_that_one_can_wait_for_has_words() {
    let mut simulation = Simulation::with_constant_model(1);
    let (named, unnamed) = (simulation.mailbox("orders"), simulation.new_mailbox());
    let (semaphore, barrier) = (simulation.new_semaphore(0), simulation.new_barrier(3));
    let (mutex, condvar) = (simulation.new_mutex(), simulation.new_condvar());
    let same = named.clone();
    simulation.spawn("get", 0, |_| async move { named.get().await.map(drop) });
    simulation.spawn("put", 0, |_| async move { unnamed.put(1, 1.0).await });
    simulation.spawn("any", 0, |me| async move {
        let (a, b) = (same.get_async().await, me.mailbox("b").get_async().await);
        me.wait_any(&[&a, &b]).await;
    });
    simulation.spawn("semaphore", 0, |_| async move { semaphore.acquire().await });
    simulation.spawn("barrier", 0, |_| async move {
        assert!(barrier.wait_leader().await);
    });
    simulation.spawn("condition", 0, |_| async move {
        mutex.lock().await;
        condvar.wait(&mutex).await
    });
    simulation.spawn("itself", 0, |me| async move { me.join().await });
    let graph = deadlock(simulation);
    let texts: Vec<&str> = graph.blocked.iter().map(|entry| &*entry.waits_in).collect();
    assert_eq!(
        texts,
        [
            "get from mailbox \"orders\" (no matching put)",
            "put to mailbox 1 (no matching get)",
            "wait for any of: get from mailbox \"orders\" (no matching put), \
             get from mailbox \"b\" (no matching put)",
            "acquire of semaphore 0",
            "barrier 0 (1 of 3 arrived)",
            "wait on condition variable 0",
            "join of itself",
        ]
    );
    assert_eq!(graph.cycle(), None);
}

#[test]
fn both_put_first() {
    // The required example of a rendezvous: no cycle of holders, but both are named.
    let mut simulation = Simulation::with_constant_model(2);
    let boxes = [simulation.mailbox("to-0"), simulation.mailbox("to-1")];
    for rank in 0..2 {
        let boxes = boxes.clone();
        simulation.spawn(&format!("rank-{rank}"), 0, move |_| async move {
            boxes[1 - rank].put(1, 1.0).await?;
            boxes[rank].get().await.map(drop)
        });
    }
    let names: Vec<String> = deadlock(simulation)
        .blocked
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["rank-0", "rank-1"]);
}

#[test]
fn a_long_chain_is_reported_in_no_time() {
    // Each waits for the one before it, the first for the last: a cycle of all.
    let count: usize = 20_000;
    let mut simulation = Simulation::with_constant_model(1);
    let actors = std::rc::Rc::new(std::cell::RefCell::new(Vec::<sim_core::Actor>::new()));
    for number in 0..count {
        let others = std::rc::Rc::clone(&actors);
        let actor = simulation.spawn_anonymous(0, move |_| async move {
            let before = others.borrow()[(number + count - 1) % count].clone();
            before.join().await;
        });
        actors.borrow_mut().push(actor);
    }
    let graph = deadlock(simulation);
    assert_eq!(graph.blocked.len(), count);
    assert_eq!(graph.cycle().map(|cycle| cycle.len()), Some(count));
    assert_eq!(graph.to_string().lines().count(), count + 1);
}
