/* Ranks wait in a loop that reads a window until the memory changes: for a lock ("set", "swap",
   "ticket", "queue"), for a flag that another rank raises by an access ("flag") or by a store
   ("store"), or only so often ("twice", "often"). "wrong" makes a lock that does not exclude the
   other ranks, a flag before its data, or one that is never raised. */
#include <assert.h>
#include <mpi.h>
#include <string.h>

enum { LOCK = 0, NEXT = 0, SERVED = 1, TAIL = 0, LINK = 1, WAITS = 2, FLAG = 0, DATA = 1 };
enum { INSIDE = 3, PLACES };

static int me, size, is_wrong, *memory;
static MPI_Win window;

static int fetch(int value, int target, int place, MPI_Op op) {
    int before;
    MPI_Fetch_and_op(&value, &before, MPI_INT, target, place, op, window);
    MPI_Win_flush(target, window);
    return before;
}

static int load(int target, int place) { return fetch(0, target, place, MPI_NO_OP); }

static int store(int value, int target, int place) {
    return fetch(value, target, place, MPI_REPLACE);
}

static int swap_if(int compared, int value, int place) {
    int before;
    MPI_Compare_and_swap(&value, &compared, &before, MPI_INT, 0, place, window);
    MPI_Win_flush(0, window);
    return before;
}

static int get(int target, int place) {
    int value;
    MPI_Get(&value, 1, MPI_INT, target, place, 1, MPI_INT, window);
    MPI_Win_flush_all(window);
    return value;
}

/* Only one rank at a time is here. */
static void be_alone(void) {
    assert(fetch(1, 0, INSIDE, MPI_SUM) == 0);
    fetch(-1, 0, INSIDE, MPI_SUM);
}

static void set(void) {
    if (is_wrong) {
        while (load(0, LOCK) != 0)
            ;
        store(1, 0, LOCK);
    } else {
        while (swap_if(0, 1, LOCK) != 0)
            ;
    }
    be_alone();
    store(0, 0, LOCK);
}

static void swap(void) {
    while (store(1, 0, LOCK) != 0)
        ;
    if (is_wrong)
        store(0, 0, LOCK);
    be_alone();
    store(0, 0, LOCK);
}

static void ticket(void) {
    int mine = is_wrong ? load(0, NEXT) : fetch(1, 0, NEXT, MPI_SUM);
    if (is_wrong)
        store(mine + 1, 0, NEXT);
    while (load(0, SERVED) != mine)
        ;
    be_alone();
    fetch(1, 0, SERVED, MPI_SUM);
}

/* The lock of Mellor-Crummey and Scott. Ranks count from 1 here, and 0 is none. */
static void queue(void) {
    store(0, me, LINK);
    store(1, me, WAITS);
    int before = store(me + 1, 0, TAIL), next;
    if (before != 0) {
        store(me + 1, before - 1, LINK);
        while (load(me, WAITS) != 0)
            ;
    }
    be_alone();
    if (is_wrong) {
        next = load(me, LINK);
        if (next == 0)
            store(0, 0, TAIL);
    } else {
        if (swap_if(me + 1, 0, TAIL) == me + 1)
            return;
        while ((next = load(me, LINK)) == 0)
            ;
    }
    if (next != 0)
        store(0, next - 1, WAITS);
}

/* Another rank raises the flag when the data are there. */
static void flag(void) {
    if (me == 0) {
        if (is_wrong)
            store(1, 0, FLAG);
        store(7, 0, DATA);
        if (!is_wrong)
            store(1, 0, FLAG);
    } else {
        while (load(0, FLAG) == 0)
            ;
        assert(load(0, DATA) == 7);
    }
}

/* The rank with the memory raises the flag after a message, which comes too late if wrong. */
static void store_flag(void) {
    if (me == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memory[FLAG] = 1;
        MPI_Win_sync(window);
    } else {
        if (me == 1 && !is_wrong)
            MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        while (get(0, FLAG) == 0)
            ;
        if (me == 1 && is_wrong)
            MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* A rank that does not get the lock after some attempts goes on without the lock if wrong. */
static void try_lock(int attempts) {
    int has_lock = 0;
    while (!has_lock && attempts-- > 0)
        has_lock = swap_if(0, 1, LOCK) == 0;
    if (has_lock || is_wrong)
        be_alone();
    if (has_lock)
        store(0, 0, LOCK);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_wrong = count > 2 && strcmp(arguments[2], "wrong") == 0;
    const MPI_Aint bytes = PLACES * sizeof(int);
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (strcmp(name, "set") == 0)
        set();
    else if (strcmp(name, "swap") == 0)
        swap();
    else if (strcmp(name, "ticket") == 0)
        ticket();
    else if (strcmp(name, "queue") == 0)
        queue();
    else if (strcmp(name, "flag") == 0)
        flag();
    else if (strcmp(name, "store") == 0)
        store_flag();
    else
        try_lock(strcmp(name, "twice") == 0 ? 2 : 20);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
