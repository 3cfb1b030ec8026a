/* Calls that Clang makes for directives of OpenMP, by hand: every compiler compiles this program. */
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL extern __attribute__((weak))

typedef struct task {
    void *shared;
    int (*entry)(int, struct task *);
    int part;
    int (*destructors)(int, struct task *);
    void *priority;
    uint64_t lower, upper;
    int64_t step;
    int is_last;
} task;

CALL void __kmpc_fork_call(void *, int, void *, ...);
CALL void __kmpc_fork_call_if(void *, int, void *, int, void *);
CALL void __kmpc_for_static_init_4(void *, int, int, int *, int *, int *, int *, int, int);
CALL void __kmpc_for_static_init_8u(void *, int, int, int *, uint64_t *, uint64_t *, int64_t *,
                                    int64_t, int64_t);
CALL void __kmpc_dispatch_init_4(void *, int, int, int, int, int, int);
CALL int __kmpc_dispatch_next_4(void *, int, int *, int *, int *, int *);
CALL task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, task *));
CALL int __kmpc_omp_task(void *, int, task *);
CALL int __kmpc_omp_task_with_deps(void *, int, task *, int, void *, int, void *);
CALL void __kmpc_taskloop_5(void *, int, task *, int, uint64_t *, uint64_t *, int64_t, int, int,
                            uint64_t, int, void (*)(task *, task *, int));
CALL int __kmpc_reduce(void *, int, int, size_t, void *, void *, void *);
CALL int __kmpc_single(void *, int);
CALL void __kmpc_copyprivate(void *, int, size_t, void *, void *, int);
CALL void __kmpc_init_lock(void *, int, void **);
CALL void __kmpc_set_lock(void *, int, void **);
CALL int __kmpc_test_lock(void *, int, void **);
CALL void __kmpc_unset_lock(void *, int, void **);
CALL void *__kmpc_threadprivate_cached(void *, int, void *, size_t, void *);
CALL void __kmpc_atomic_fixed4_add(void *, int, int *, int);
CALL short __kmpc_atomic_fixed2_sub_cpt_rev(void *, int, short *, short, int);
CALL double __kmpc_atomic_float8_mul_cpt(void *, int, double *, double, int);
CALL unsigned char __kmpc_atomic_fixed1u_swp(void *, int, unsigned char *, unsigned char);
CALL void __kmpc_atomic_cmplx8_mul(void *, int, double complex *, double complex);
CALL double complex __kmpc_atomic_cmplx8_div_cpt_rev(void *, int, double complex *, double complex,
                                                     int);
CALL double complex __kmpc_atomic_cmplx8_rd(void *, int, double complex *);
CALL void __kmpc_atomic_cmplx4_add(void *, int, float complex *, float complex);
CALL void __kmpc_atomic_cmplx4_sub_cpt(void *, int, float complex *, float complex,
                                       float complex *, int);
CALL void __kmpc_atomic_cmplx4_swp(void *, int, float complex *, float complex, float complex *);
CALL int __tgt_target_kernel(void *, int64_t, int, int, void *, void *);
CALL int omp_get_level(void);

static int failures;

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) {                                           \
            printf("line %d: %s\n", __LINE__, #condition);           \
            failures++;                                               \
        }                                                             \
    } while (0)

static void eight(int *thread, int *team, long a, long b, long c, long d, long e, long f, long g,
                  long *sum)
{
    CHECK(*thread == 0 && *team == 0 && omp_get_level() == 1);
    CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0);
    *sum = a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g;
}

static void one(int *thread, int *team, long *sum)
{
    long value = 7;
    if (__kmpc_reduce(NULL, *thread + *team, 1, 8, &value, NULL, NULL) == 1) *sum += value;
    MPI_Barrier(MPI_COMM_WORLD);
}

static int twice(int thread, task *own)
{
    *(long *)((void **)own->shared)[0] *= 2;
    /* An untied task starts its next part itself. */
    if (own->part++ == 0) __kmpc_omp_task(NULL, thread, own);
    return 0;
}

static int add_range(int thread, task *own)
{
    long *sums = ((void **)own->shared)[0];
    for (uint64_t i = own->lower; i <= own->upper; i += own->step) sums[0] += i;
    sums[1]++;
    sums[2] += own->is_last + thread;
    return 0;
}

static void set_last(task *to, task *from, int is_last) { to->is_last = is_last + from->is_last; }

static void loops(void)
{
    int last = 0, lower = 3, upper = 99, stride = 0, calls = 0;
    __kmpc_for_static_init_4(NULL, 0, 33, &last, &lower, &upper, &stride, 1, 5);
    CHECK(last == 1 && lower == 3 && upper == 99 && stride == 97);
    uint64_t first = 0, end = UINT64_MAX - 7;
    int64_t distance = 0;
    __kmpc_for_static_init_8u(NULL, 0, 34, &last, &first, &end, &distance, 1, 1);
    CHECK(last == 1 && first == 0 && end == UINT64_MAX - 7);
    __kmpc_dispatch_init_4(NULL, 0, 35, 10, 1, -3, 2);
    while (__kmpc_dispatch_next_4(NULL, 0, &last, &lower, &upper, &stride)) {
        CHECK(lower == 10 && upper == 1 && stride == -3);
        calls++;
    }
    __kmpc_dispatch_init_4(NULL, 0, 35, 2, 1, 1, 1);
    CHECK(calls == 1 && !__kmpc_dispatch_next_4(NULL, 0, &last, &lower, &upper, &stride));
}

static void tasks(void)
{
    long value = 1, sums[3] = {0};
    for (int with_deps = 0; with_deps < 2; with_deps++) {
        task *made = __kmpc_omp_task_alloc(NULL, 0, 0, sizeof(task), 8, twice);
        ((void **)made->shared)[0] = &value;
        if (with_deps)
            __kmpc_omp_task_with_deps(NULL, 0, made, 0, NULL, 0, NULL);
        else
            __kmpc_omp_task(NULL, 0, made);
    }
    CHECK(value == 16);
    task *loop = __kmpc_omp_task_alloc(NULL, 0, 1, sizeof(task), 8, add_range);
    ((void **)loop->shared)[0] = sums;
    loop->lower = 1, loop->upper = 100, loop->step = 1;
    __kmpc_taskloop_5(NULL, 0, loop, 1, &loop->lower, &loop->upper, 1, 0, 2, 8, 0, set_last);
    CHECK(sums[0] == 5050 && sums[1] == 8 && sums[2] == 1);
}

static void updates(void)
{
    int number = 5;
    short small = 3;
    double real = 1.5;
    unsigned char byte = 200;
    __kmpc_atomic_fixed4_add(NULL, 0, &number, 37);
    CHECK(number == 42);
    CHECK(__kmpc_atomic_fixed2_sub_cpt_rev(NULL, 0, &small, 10, 1) == 7 && small == 7);
    CHECK(__kmpc_atomic_float8_mul_cpt(NULL, 0, &real, 4, 0) == 1.5 && real == 6);
    CHECK(__kmpc_atomic_fixed1u_swp(NULL, 0, &byte, 9) == 200 && byte == 9);
    double complex z = 1 + 2 * I;
    __kmpc_atomic_cmplx8_mul(NULL, 0, &z, 3 - I);
    CHECK(z == 5 + 5 * I);
    CHECK(__kmpc_atomic_cmplx8_div_cpt_rev(NULL, 0, &z, 10, 0) == 5 + 5 * I && z == 1 - I);
    CHECK(__kmpc_atomic_cmplx8_rd(NULL, 0, &z) == 1 - I);
    float complex c = 1 + 2 * I, seen = 0;
    __kmpc_atomic_cmplx4_add(NULL, 0, &c, 2 - I);
    CHECK(c == 3 + I);
    __kmpc_atomic_cmplx4_sub_cpt(NULL, 0, &c, 1 + I, &seen, 1);
    CHECK(c == 2 && seen == 2);
    __kmpc_atomic_cmplx4_swp(NULL, 0, &c, I, &seen);
    CHECK(c == I && seen == 2);
}

int main(int argc, char **argv)
{
    long sum = 0;
    void *lock;
    MPI_Init(&argc, &argv);
    __kmpc_fork_call(NULL, 8, eight, 1L, 2L, 3L, 4L, 5L, 6L, 7L, &sum);
    CHECK(sum == 7654321);
    __kmpc_fork_call(NULL, 1, one, &sum);
    __kmpc_fork_call_if(NULL, 1, one, 0, &sum);
    CHECK(sum == 7654335 && omp_get_level() == 0);
    loops();
    tasks();
    updates();
    __kmpc_init_lock(NULL, 0, &lock);
    __kmpc_set_lock(NULL, 0, &lock);
    CHECK(!__kmpc_test_lock(NULL, 0, &lock));
    __kmpc_unset_lock(NULL, 0, &lock);
    CHECK(__kmpc_test_lock(NULL, 0, &lock));
    CHECK(__kmpc_threadprivate_cached(NULL, 0, &sum, 8, &lock) == &sum);
    CHECK(__tgt_target_kernel(NULL, -1, 0, 0, NULL, NULL) != 0);
    puts(failures ? "failed" : "ok");
    MPI_Finalize();
    return 0;
}
