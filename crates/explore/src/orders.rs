//! Orders in which actors receive messages from any source.
//!
//! A receive or a probe from any source takes the first message that arrives. If an actor gets
//! messages in different orders in two runs, the result may depend on the order: this is no defect,
//! but worth a warning. The sources are compared, for each actor alone, with the sources in earlier
//! runs. If a run ended early and the order is a prefix of another order, the orders agree.
//!
//! *Not modelled*: the reason why the orders differ. A program that draws numbers may ask for other
//! messages.

use sim_core::{ActorId, Schedule, Stepper};

use crate::search::Run;
use crate::{End, Event, Finding, FindingStep};

/// The receives from any source in one run, and the run.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// Receiver and source of each message, in order.
    list: Vec<(u32, u32)>,
    events: Vec<Event>,
}

impl Taken {
    /// Returns the receives from any source in a run; `None` if there are none.
    pub(crate) fn in_run(run: &Run<'_>) -> Option<Box<Self>> {
        let mut list = Vec::new();
        run.stepper
            .visit_received(&mut |one| list.push((one.by.number(), one.from.number())));
        if list.is_empty() {
            return None;
        }
        Some(Box::new(Self {
            list,
            events: run.path.events().to_vec(),
        }))
    }

    fn sources_of(&self, actor: u32) -> Vec<u32> {
        let own = self.list.iter().filter(|&&(by, _)| by == actor);
        own.map(|&(_, from)| from).collect()
    }
}

/// An order, and a run with this order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Order {
    pub(crate) sources: Vec<u32>,
    pub(crate) events: Vec<Event>,
}

/// The orders of one actor that are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) actor: u32,
    /// The longest of the orders that agree.
    pub(crate) first: Order,
    /// The first order that does not agree.
    pub(crate) other: Option<Order>,
}

/// The orders of all actors, so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Orders(pub(crate) Vec<Known>);

impl Orders {
    /// Returns true if a run cannot add an order: for each actor that receives from any source in
    /// the run, two orders are known.
    pub(crate) fn has_nothing_new(&self, run: &Run<'_>) -> bool {
        let mut all_known = true;
        run.stepper.visit_received(&mut |one| {
            let known = self.0.iter().find(|known| known.actor == one.by.number());
            all_known &= known.is_some_and(|known| known.other.is_some());
        });
        all_known
    }

    /// Compares a run with earlier runs. A repeated run has no effect.
    pub(crate) fn compare_run(&mut self, taken: &Taken) {
        let mut actors: Vec<u32> = taken.list.iter().map(|&(by, _)| by).collect();
        actors.sort_unstable();
        actors.dedup();
        for actor in actors {
            let known = self.0.iter().position(|known| known.actor == actor);
            if known.is_some_and(|index| self.0[index].other.is_some()) {
                continue;
            }
            let order = Order {
                sources: taken.sources_of(actor),
                events: Vec::new(),
            };
            let with_events = |order: Order| Order {
                events: taken.events.clone(),
                ..order
            };
            let Some(index) = known else {
                self.0.push(Known {
                    actor,
                    first: with_events(order),
                    other: None,
                });
                continue;
            };
            let known = &mut self.0[index];
            if first_difference(&known.first.sources, &order.sources).is_some() {
                known.other = Some(with_events(order));
            } else if order.sources.len() > known.first.sources.len() {
                known.first = with_events(order);
            }
        }
    }
}

/// Where two orders differ first; nowhere if one is the beginning of the other.
fn first_difference(one: &[u32], other: &[u32]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}

/// An actor that takes messages from any source in an order that is not determined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiveOrder {
    /// The actor.
    pub actor: ActorId,
    /// The name of the actor.
    pub name: String,
    /// Index of the first differing message among the messages from any source, from 0.
    pub position: usize,
    /// The source line at which the actor takes that message, as `file:line`.
    pub line: String,
    /// Two orders.
    pub orders: [TakenOrder; 2],
}

/// One order in which an actor takes messages, and a run with this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenOrder {
    /// The source of each message.
    pub sources: Vec<ActorId>,
    /// Their names.
    pub names: Vec<String>,
    /// The decisions of the run.
    pub replay: Schedule,
    /// The steps of the run.
    pub steps: Vec<FindingStep>,
}

impl ReceiveOrder {
    /// Returns the two orders of an actor, if two are known; an error if a run does not reproduce
    /// the order.
    pub(crate) fn from_known(stepper: &mut Stepper, known: &Known) -> Option<Result<Self, ()>> {
        let other = known.other.as_ref()?;
        let position = first_difference(&known.first.sources, &other.sources)?;
        let actor = ActorId::from_number(known.actor);
        let mut line = String::new();
        let mut again = |order: &Order| {
            let counterexample = Finding::from_events(stepper, &order.events, End::Finished);
            let received = stepper.wildcard_receives().into_iter();
            let own: Vec<_> = received.filter(|one| one.by == actor).collect();
            let at = own.get(position)?.location;
            line = at.to_string();
            let sources: Vec<ActorId> = own.iter().map(|one| one.from).collect();
            let numbers = sources.iter().map(|source| source.number());
            let name = |source: &ActorId| stepper.name_of(source.number() - 1);
            numbers
                .eq(order.sources.iter().copied())
                .then(|| TakenOrder {
                    names: sources.iter().map(name).collect(),
                    sources,
                    replay: counterexample.replay,
                    steps: counterexample.steps,
                })
        };
        let orders = again(other).zip(again(&known.first));
        let name = stepper.name_of(known.actor - 1);
        Some(orders.ok_or(()).map(|(other, first)| Self {
            actor,
            name,
            position,
            line,
            orders: [first, other],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(list: &[(u32, u32)]) -> Taken {
        Taken {
            list: list.to_vec(),
            events: Vec::new(),
        }
    }

    #[test]
    fn an_order_is_another_only_if_it_differs_where_both_have_messages() {
        let mut orders = Orders::default();
        orders.compare_run(&taken(&[(1, 2), (4, 9)]));
        orders.compare_run(&taken(&[(1, 2), (1, 3)]));
        orders.compare_run(&taken(&[(4, 9), (1, 2)]));
        assert!(orders.0.iter().all(|known| known.other.is_none()));
        assert_eq!(orders.0[0].first.sources, [2, 3], "the longest");
        orders.compare_run(&taken(&[(1, 2), (1, 4)]));
        let other = orders.0[0].other.as_ref().map(|order| &order.sources[..]);
        assert_eq!(other, Some(&[2, 4][..]));
        assert_eq!(orders.0[1].other, None);
        let before = orders.clone();
        orders.compare_run(&taken(&[(1, 3)]));
        assert_eq!(orders, before, "one warning is enough");
    }
}
