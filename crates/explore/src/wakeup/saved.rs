//! Wakeup trees as plain lists, to be written down and read back.

use super::{Frame, NONE, PendingStep, Trees};
use crate::Event;

/// Trees, to be written down.
#[derive(Debug)]
pub(crate) struct Saved {
    /// All sleep sets, one behind the other.
    pub(crate) sleep: Vec<Event>,
    /// Where the sleep set of each place begins, and whether the steps from there on have been
    /// decided.
    pub(crate) frames: Vec<(u32, bool)>,
    /// For each place 1 if a step is pending; then for each pending step, parents before children
    /// before siblings: 1 if the step has children, plus 2 if a sibling is behind the step.
    pub(crate) shape: Vec<u8>,
    /// The pending steps in this order.
    pub(crate) pending: Vec<Event>,
}

impl Trees {
    /// All that is pending and sleeps, to be written down.
    pub(crate) fn save(&self) -> Saved {
        let mut saved = Saved {
            sleep: self.sleep.clone(),
            frames: Vec::new(),
            shape: Vec::new(),
            pending: Vec::new(),
        };
        for frame in &self.frames {
            saved.frames.push((frame.sleep, frame.started));
            saved.shape.push(u8::from(frame.pending != NONE));
            let mut todo = vec![frame.pending];
            while let Some(next) = todo.pop().filter(|&next| next != NONE) {
                let PendingStep {
                    event,
                    child,
                    sibling,
                    ..
                } = *self.nodes.node_at(next);
                saved.pending.push(event);
                let has = |node: u32| u8::from(node != NONE);
                saved.shape.push(has(child) | has(sibling) << 1);
                todo.extend([sibling, child].into_iter().filter(|&node| node != NONE));
            }
        }
        saved
    }

    /// Returns the trees from their saved form; `None` if the parts do not fit together.
    pub(crate) fn restore(saved: Saved) -> Option<Self> {
        let mut trees = Self::at_leaf(0);
        trees.frames.clear();
        let mut shape = saved.shape.into_iter();
        let mut pending = saved.pending.into_iter();
        let mut lowest = 0;
        for (sleep, started) in saved.frames {
            if sleep < lowest || sleep as usize > saved.sleep.len() {
                return None;
            }
            lowest = sleep;
            let mut first = NONE;
            let mut todo = Vec::new();
            if shape.next()? & 1 == 1 {
                todo.push((NONE, false));
            }
            while let Some((above, is_child)) = todo.pop() {
                let node = trees.nodes.add_node(pending.next()?);
                match trees.nodes.nodes.get_mut(above as usize) {
                    None => first = node,
                    Some(parent) if is_child => parent.child = node,
                    Some(before) => before.sibling = node,
                }
                let has = shape.next()?;
                if has & 2 != 0 {
                    todo.push((node, false));
                }
                if has & 1 != 0 {
                    todo.push((node, true));
                }
            }
            trees.frames.push(Frame {
                sleep,
                pending: first,
                started,
            });
        }
        trees.sleep = saved.sleep;
        let is_all_read = shape.next().is_none() && pending.next().is_none();
        is_all_read.then_some(trees)
    }
}
