//! Promise: attributes, names and error handlers belong to a communicator, whichever handle sets
//! them; callbacks are called when MPI says, and may make calls themselves.

use std::cell::RefCell;
use std::rc::Rc;

use mpi::{ErrorHandler, Keyval, prelude::*};
use testing::ranks::{THRESHOLD, world};

#[test]
fn attributes_are_copied_and_deleted() {
    world(2).run_finished(|world: Comm| async move {
        let deleted = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&deleted);
        let depth = Keyval::new(
            |depth: &u32| Some(depth + 1),
            move |depth| log.borrow_mut().push(depth.to_string()),
        );
        let log = Rc::clone(&deleted);
        let label = Keyval::new(
            |_: &String| None,
            move |label| log.borrow_mut().push(label.clone()),
        );
        assert_eq!(world.get_attr(&depth), None);
        let comm = world.dup().await?;
        comm.set_attr(&depth, 0);
        comm.clone().set_attr(&label, "first".to_owned());
        assert_eq!(comm.get_attr(&label).as_deref(), Some(&"first".to_owned()));
        comm.set_attr(&label, "second".to_owned());
        let copy = comm.dup().await?;
        assert_eq!(
            (copy.get_attr(&depth), comm.get_attr(&depth)),
            (Some(1.into()), Some(0.into()))
        );
        assert_eq!(copy.get_attr(&label), None);
        // Only copies have them.
        let part = comm.split(Some(0), 0).await?.expect("a colour");
        assert_eq!(part.get_attr(&depth), None);
        assert!(copy.delete_attr(&depth) && !copy.delete_attr(&depth));
        copy.set_attr(&depth, 7);
        copy.free()?;
        comm.free()?;
        assert_eq!(*deleted.borrow(), ["first", "1", "7", "second", "0"]);
        Ok(())
    });
}

#[test]
fn communicators_have_names() {
    world(2).run_finished(|world: Comm| async move {
        assert_eq!(world.name(), "MPI_COMM_WORLD");
        let copy = world.dup().await?;
        assert_eq!(copy.name(), "");
        copy.clone().set_name("ocean");
        assert_eq!(
            (copy.name(), world.name()),
            ("ocean".to_owned(), "MPI_COMM_WORLD".to_owned())
        );
        world.set_name("all");
        assert_eq!(world.name(), "all");
        copy.free()
    });
}

#[test]
fn a_function_is_called_for_errors_of_all_calls() {
    let outcome = world(2).run(|world: Comm| async move {
        let comm = world.dup().await?;
        let found = Rc::new(RefCell::new(Vec::new()));
        let (log, caller) = (Rc::clone(&found), comm.clone());
        comm.set_errhandler(ErrorHandler::Function(Rc::new(move |error: &Error| {
            // A handler may make calls.
            drop(caller.isend(caller.buffer(0), caller.rank(), 99));
            log.borrow_mut().push(error.class());
        })));
        let mut expected = Vec::new();
        assert!(comm.isend(world.buffer(1), 9, 0).is_err());
        assert!(comm.send(&world.buffer(1), 0, u32::MAX).await.is_err());
        assert!(comm.recv(&mut world.buffer(1), 9, 0).await.is_err());
        assert!(comm.bcast(&mut world.buffer(1), 5).await.is_err());
        assert!(
            comm.reduce(world.buffer(3), &Op::sum::<u32>(), 0)
                .start()
                .is_err()
        );
        expected.extend([ErrorClass::Rank, ErrorClass::Tag, ErrorClass::Rank]);
        expected.extend([ErrorClass::Root, ErrorClass::Op]);
        // Messages that are too long, eager and announced.
        let other = 1 - comm.rank();
        for length in [20, 2 * THRESHOLD] {
            let mut sending = comm.isend(world.buffer(length), other, 0)?;
            assert!(comm.recv(&mut world.buffer(1), other, 0).await.is_err());
            sending.wait().await?;
            let mut sending = comm.isend(world.buffer(length), other, 0)?;
            let mut receiving = comm.irecv(world.buffer(1), other, 0)?;
            assert!(receiving.wait().await.is_err());
            sending.wait().await?;
            expected.extend([ErrorClass::Truncate; 2]);
        }
        let length = if comm.rank() == 0 { 16 } else { 8 };
        let result = comm.bcast(&mut world.buffer(length), 0).await;
        if comm.rank() == 1 {
            assert!(result.is_err());
            expected.push(ErrorClass::Truncate);
        }
        assert_eq!(*found.borrow(), expected);
        // New communicators inherit it; others do not have it.
        let part = comm.split(Some(0), 0).await?.expect("a colour");
        assert!(part.isend(world.buffer(1), 9, 0).is_err());
        assert!(world.isend(world.buffer(1), 9, 0).is_err());
        expected.push(ErrorClass::Rank);
        comm.call_errhandler(&Error::Request);
        expected.push(ErrorClass::Request);
        comm.set_errhandler(ErrorHandler::Return);
        assert!(comm.isend(world.buffer(1), 9, 0).is_err());
        assert_eq!(*found.borrow(), expected);
        Ok(())
    });
    assert_eq!(outcome.results, [Some(Ok(())), Some(Ok(()))]);
}

#[test]
fn an_error_ends_the_run_if_it_is_fatal() {
    let outcome = world(2).run(|world: Comm| async move {
        world.set_errhandler(ErrorHandler::Abort);
        if world.rank() == 0 {
            let error = world.isend(world.buffer(1), 9, 0).err();
            assert_eq!(error, Some(Error::Rank { rank: 9, size: 2 }));
        }
        world.barrier().await?;
        world.sleep(1.0).await;
        Err(Error::Request) as Result<()>
    });
    assert_eq!(outcome.aborted, Some(1));
    assert_eq!(outcome.results, [None, None]);
}
