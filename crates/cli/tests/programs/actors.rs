//! An actor program without arguments: one actor per host asks the next one, over the network.

use sim_core::{ActivityError, Actor, HostId};

async fn actors(me: Actor) -> Result<(), ActivityError> {
    me.println(format_args!(
        "{} actors on {} hosts",
        me.count(),
        me.host_count()
    ));
    let mailbox = me.mailbox("answers");
    for number in 0..me.count() {
        let mailbox = mailbox.clone();
        let host = HostId(number % me.host_count());
        me.spawn("worker", host, move |_| async move {
            mailbox.put(u64::from(number), 1e3).await
        })
        .await;
    }
    for _ in 0..me.count() {
        mailbox.get().await?;
    }
    me.println(format_args!("all answered at {}", me.now()));
    Ok(())
}

simrun::main!(actors);
