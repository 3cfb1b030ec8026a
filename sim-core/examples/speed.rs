//! Rough timings.
#![expect(
    clippy::print_stdout,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a sketch of the benchmarks to come"
)]
use sim_core::*;
fn time(name: &str, n: f64, f: impl FnOnce()) {
    #[expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
    let t = std::time::Instant::now();
    f();
    let e = t.elapsed().as_secs_f64();
    println!("{name}: {:.1} ns each, {e:.3} s", e / n * 1e9);
}
fn main() {
    println!("op {}", size_of::<Operation<'static, ()>>());
    time("yield", 2e7, || {
        let mut s = Simulation::with_constant_model(1);
        for _ in 0..2 {
            s.spawn_anonymous(0, |me| async move {
                for _ in 0..10_000_000 {
                    me.yield_now().await;
                }
            });
        }
        drop(s.run());
    });
    for n in [10_000u32, 1_000_000] {
        time("sleep", f64::from(n) * 5.0, || {
            let mut s = Simulation::with_constant_model(1);
            for i in 0..n {
                s.spawn_anonymous(0, move |me| async move {
                    let mut x = u64::from(i)
                        .wrapping_mul(0x9E3779B97F4A7C15)
                        .wrapping_add(12345);
                    for _ in 0..5 {
                        x ^= x >> 12;
                        x ^= x << 25;
                        x ^= x >> 27;
                        me.sleep(Span::from_secs((x >> 11) as f64 / 9007199254740992.0))
                            .await;
                    }
                });
            }
            drop(s.run());
        });
    }
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .find(|l| l.starts_with("VmHWM"))
            .unwrap()
    );
    time("mutex", 1e6, || {
        let mut s = Simulation::with_constant_model(1);
        let m = s.new_mutex();
        for _ in 0..1000 {
            let m = m.clone();
            s.spawn_anonymous(0, |_| async move {
                for _ in 0..1000 {
                    m.lock().await;
                    m.unlock().await;
                }
            });
        }
        drop(s.run());
    });
    time("pingpong", 2e6, || {
        let mut s = Simulation::with_constant_model(2);
        let (a, b) = (s.new_mailbox(), s.new_mailbox());
        let (c, d) = (a.clone(), b.clone());
        s.spawn_anonymous(0, |_| async move {
            for _ in 0..1_000_000 {
                a.put(1, 8.0).await.unwrap();
                b.get().await.unwrap();
            }
        });
        s.spawn_anonymous(1, |_| async move {
            for _ in 0..1_000_000 {
                c.get().await.unwrap();
                d.put(1, 8.0).await.unwrap();
            }
        });
        let r = s.run();
        assert_eq!(r.outcome, Outcome::Finished);
    });
}
