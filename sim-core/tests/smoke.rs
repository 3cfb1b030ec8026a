//! smoke
use sim_core::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn mutex_dates() {
    let mut s = Simulation::with_constant_model(1);
    let m = s.new_mutex();
    let b = s.new_barrier(3);
    let sem = s.new_semaphore(2);
    let log = Rc::new(RefCell::new(Vec::new()));
    for (i, d) in [(0, 0.3), (1, 0.2), (2, 0.1)] {
        let (m, b, sem, log) = (m.clone(), b.clone(), sem.clone(), log.clone());
        s.spawn(&format!("a{i}"), 0, |me| async move {
            me.sleep(Span::from_secs(d)).await;
            m.lock().await;
            me.sleep(Span::from_secs(1.0)).await;
            m.unlock().await;
            log.borrow_mut().push((i, me.now().as_secs()));
            b.wait().await;
            log.borrow_mut().push((i, me.now().as_secs()));
            sem.acquire().await;
            me.sleep(Span::from_secs(1.0)).await;
            sem.release().await;
            log.borrow_mut().push((i, me.now().as_secs()));
        });
    }
    let r = s.run();
    println!("{:?} {:?}", r, log.borrow());
    assert_eq!(r.outcome, Outcome::Finished);
}

#[test]
fn deadlock_is_reported() {
    let mut s = Simulation::with_constant_model(1);
    let (m, n) = (s.new_mutex(), s.new_mutex());
    for (first, second) in [(m.clone(), n.clone()), (n, m)] {
        s.spawn_anonymous(0, |me| async move {
            first.lock().await;
            me.sleep(Span::from_secs(1.0)).await;
            second.lock().await;
        });
    }
    let r = s.run();
    let Outcome::Deadlock(graph) = &r.outcome else {
        panic!("{r:?}")
    };
    println!("{graph}{}", graph.to_dot());
}

#[test]
fn replay_same_digest() {
    let build = || {
        let mut s = Simulation::with_constant_model(2);
        let mb = s.mailbox("x");
        for i in 0..3u64 {
            let mb = mb.clone();
            s.spawn_anonymous(0, move |me| async move {
                me.sleep(Span::from_secs(me.random(3).await as f64)).await;
                mb.put(i, 1.0).await.unwrap();
            });
        }
        s.spawn_anonymous(1, move |_| async move {
            for _ in 0..3 {
                mb.get().await.unwrap();
            }
        });
        s
    };
    let mut s = build();
    s.record_schedule();
    let r = s.run();
    println!("{r:?} {}", r.schedule.as_ref().unwrap());
    let mut t = build();
    t.set_chooser(Box::new(Replay::new(r.schedule.clone().unwrap())));
    let q = t.run();
    assert_eq!(q.outcome, Outcome::Finished);
    assert_eq!(q.digest, r.digest);
}
