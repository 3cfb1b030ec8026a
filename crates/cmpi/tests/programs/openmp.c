/* Regions, loops, sections, tasks and locks of OpenMP with one thread; results as of a serial
 * program. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, rank, size;

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            printf("%d: line %d: %s\n", rank, __LINE__, #condition);  \
            failures++;                                                \
        }                                                              \
    } while (0)

enum { N = 1000 };

static void loops(void)
{
    long sum = 0, squares = 0;
    int last = -1, order[N], next = 0, grid[20][30];
    double product = 1;
    unsigned long long wide = 0;
    unsigned mask = 0;
#pragma omp parallel for reduction(+ : sum) lastprivate(last)
    for (int i = 0; i < N; i++) {
        sum += i;
        last = i;
    }
    CHECK(sum == (long)N * (N - 1) / 2 && last == N - 1);
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : squares)
    for (int i = N; i > 0; i -= 3) squares += (long)i * i;
    for (int i = N; i > 0; i -= 3) squares -= (long)i * i;
    CHECK(squares == 0);
#pragma omp parallel for schedule(guided) reduction(* : product)
    for (int i = 1; i <= 10; i++) product *= i;
    CHECK(product == 3628800);
#pragma omp parallel for schedule(runtime) reduction(| : mask)
    for (int i = 0; i < 32; i++) mask |= 1u << i;
    CHECK(mask == ~0u);
#pragma omp parallel for schedule(dynamic) reduction(+ : wide)
    for (unsigned long long i = 0x8000000000000000; i < 0x8000000000000010; i += 2) wide += i - 0x8000000000000000;
    CHECK(wide == 56);
#pragma omp parallel for schedule(dynamic) reduction(+ : wide)
    for (int i = 5; i < rank; i++) wide += 1;
    CHECK(wide == (rank > 5 ? 56u + rank - 5 : 56u));
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = 0; i < N; i++)
#pragma omp ordered
        order[next++] = i;
    for (int i = 0; i < N; i++) CHECK(order[i] == i);
    memset(grid, 0, sizeof grid);
#pragma omp parallel for ordered(2)
    for (int i = 1; i < 20; i++)
        for (int j = 1; j < 30; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = 1 + grid[i - 1][j] + grid[i][j - 1] % 7;
#pragma omp ordered depend(source)
        }
    CHECK(grid[1][1] == 1 && grid[19][29] > 19);
#pragma omp parallel
    {
#pragma omp for nowait
        for (int i = 0; i < N; i++) order[i] = -i;
#pragma omp for schedule(nonmonotonic : dynamic, 5)
        for (int i = 0; i < N; i++) order[i] += 2 * i;
#pragma omp for schedule(monotonic : guided) collapse(2)
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 100; j++) order[100 * i + j] += 1;
    }
    for (int i = 0; i < N; i++) CHECK(order[i] == i + 1);
    int scanned[N], running = 0;
#pragma omp parallel for reduction(inscan, + : running)
    for (int i = 0; i < N; i++) {
        running += i;
#pragma omp scan inclusive(running)
        scanned[i] = running;
    }
    for (int i = 0; i < N; i++) CHECK(scanned[i] == i * (i + 1) / 2);
    int found = -1;
#pragma omp parallel for schedule(dynamic) lastprivate(conditional : found)
    for (int i = 0; i < N; i++)
        if (i % 400 == 3) found = i;
    CHECK(found == 803);
}

static void constructs(void)
{
    int done[5] = {0}, value = 7, count = 0, shared = 0, masters = 0;
#pragma omp parallel sections
    {
#pragma omp section
        done[0]++;
#pragma omp section
        done[1]++;
#pragma omp section
        done[2]++;
    }
#pragma omp parallel private(value)
    {
#pragma omp sections lastprivate(shared)
        {
#pragma omp section
            done[3]++;
#pragma omp section
            {
                done[4]++;
                shared = 5;
            }
        }
        value = 0;
#pragma omp single copyprivate(value)
        value = 42 + rank;
        CHECK(value == 42 + rank);
#pragma omp single nowait
        count++;
#pragma omp master
        masters++;
#pragma omp barrier
#pragma omp critical
        count++;
#pragma omp critical(named)
        count++;
#pragma omp atomic
        count += 2;
#pragma omp flush
    }
    for (int i = 0; i < 5; i++) CHECK(done[i] == 1);
    CHECK(count == 5 && masters == 1 && value == 7 && shared == 5);
}

static void questions(void)
{
    CHECK(omp_get_max_threads() == 1 && omp_get_num_procs() == 1 && omp_get_level() == 0);
    omp_set_num_threads(4);
#pragma omp parallel num_threads(3)
    {
        CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel());
        CHECK(omp_get_level() == 1 && omp_get_team_size(1) == 1 && omp_get_team_size(2) == -1);
#pragma omp parallel for
        for (int i = 0; i < 3; i++) CHECK(omp_get_level() == 2 && omp_get_ancestor_thread_num(2) == 0);
        CHECK(omp_get_level() == 1 && omp_get_active_level() == 0);
    }
    CHECK(omp_get_level() == 0 && omp_get_num_devices() == 0 && omp_is_initial_device());
    omp_sched_t kind;
    int chunk;
    omp_set_schedule(omp_sched_guided, 9);
    omp_get_schedule(&kind, &chunk);
    CHECK(kind == omp_sched_guided && chunk == 9);
    double begin = omp_get_wtime(), wanted = MPI_Wtime();
    CHECK(begin == wanted && omp_get_wtick() > 0);
    double *memory = omp_alloc(64, omp_default_mem_alloc);
    memory[7] = 1;
    omp_free(memory, omp_default_mem_alloc);
}

static long fibonacci(int n)
{
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) final(n < 5)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 4)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    long sum = 0, tasks = 0, reduced = 0, ended = 0;
    int x = 0, y = 0, finals = 0;
    char text[100] = "text";
    omp_event_handle_t event;
#pragma omp parallel
#pragma omp single
    {
        sum = fibonacci(15);
#pragma omp task depend(out : x)
        x = 3;
#pragma omp task depend(in : x) depend(out : y)
        y = x + 1;
#pragma omp task depend(in : y) firstprivate(text)
        {
            text[0] = 'n';
            CHECK(!strcmp(text, "next") && y == 4);
        }
#pragma omp taskwait depend(in : y)
#pragma omp task final(1)
#pragma omp task
        finals = omp_in_final();
#pragma omp taskloop num_tasks(4) reduction(+ : reduced)
        for (int i = 0; i < N; i++) reduced += i;
#pragma omp taskloop grainsize(64) firstprivate(text)
        for (unsigned long i = 10; i < N; i += 3) {
#pragma omp atomic
            tasks++;
        }
#pragma omp taskgroup task_reduction(+ : ended)
        for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : ended)
            ended += i;
#pragma omp task detach(event)
        omp_fulfill_event(event);
#pragma omp taskyield
    }
    CHECK(sum == 610 && x == 3 && y == 4 && finals && !strcmp(text, "text"));
    CHECK(reduced == (long)N * (N - 1) / 2 && tasks == 330 && ended == 45);
    int whole[3][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 23}}, part[2][3] = {{0}};
    size_t volume[] = {2, 2}, to[] = {0, 1}, from[] = {1, 2};
    size_t part_size[] = {2, 3}, whole_size[] = {3, 4};
    int host = omp_get_initial_device();
    CHECK(!omp_target_memcpy_rect(part, whole, sizeof(int), 2, volume, to, from, part_size,
                                  whole_size, host, host));
    CHECK(part[0][0] == 0 && part[0][1] == 12 && part[0][2] == 13 && part[1][0] == 0);
    CHECK(part[1][1] == 22 && part[1][2] == 23);
    CHECK(omp_target_memcpy_rect(0, 0, 0, 0, 0, 0, 0, 0, 0, host, host) >= 3);
    long in_tasks = 0, in_loops = 0;
#pragma omp parallel reduction(task, + : in_tasks)
#pragma omp task in_reduction(+ : in_tasks)
    in_tasks += 5;
#pragma omp parallel for reduction(task, + : in_loops)
    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : in_loops)
        in_loops += i;
    }
    CHECK(in_tasks == 5 && in_loops == 45);
}

static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    omp_set_lock(&lock);
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    CHECK(omp_test_lock(&lock));
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested);
    CHECK(omp_test_nest_lock(&nested) == 2);
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
    CHECK(omp_test_nest_lock(&nested) == 1);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
}

static void targets(void)
{
    int values[100], offset = rank, teams = 0;
#pragma omp target teams distribute parallel for map(from : values) firstprivate(offset)
    for (int i = 0; i < 100; i++) values[i] = i + offset;
    for (int i = 0; i < 100; i++) CHECK(values[i] == i + rank);
#pragma omp target map(tofrom : teams) firstprivate(offset)
    {
        offset++;
        teams = offset;
    }
    CHECK(teams == rank + 1 && offset == rank);
#pragma omp teams reduction(+ : teams)
    teams += omp_get_num_teams();
    CHECK(teams == rank + 2);
}

/* Ranks take turns in a message in each iteration: each rank has its own loops and levels. */
static void messages(void)
{
    int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 5 + rank % 2; i++) {
        int sent = rank + i, got = -1;
        if (i < 5)
#pragma omp parallel sections
        {
#pragma omp section
            MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                         (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp section
            sum += got;
        }
        CHECK(omp_get_level() == 1);
    }
    CHECK(sum == 5 * ((rank + size - 1) % size) + 10);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *mistake = argc > 1 ? argv[1] : "";
    if (!strcmp(mistake, "lock")) {
        omp_lock_t lock;
        omp_init_lock(&lock);
        omp_set_lock(&lock);
        omp_set_lock(&lock);
    }
    if (!strcmp(mistake, "event")) {
        omp_event_handle_t event;
        memset(&event, 0, sizeof event);
#pragma omp parallel
        {
#pragma omp task detach(event)
            failures += 0;
#pragma omp taskwait
        }
    }
    loops();
    constructs();
    questions();
    tasks();
    locks();
    targets();
    messages();
    MPI_Reduce(rank ? &failures : MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) puts(failures ? "failed" : "ok");
    MPI_Finalize();
    return 0;
}
