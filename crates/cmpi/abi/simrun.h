/* Annotations of MPI programs for simulations by simrun. Elsewhere they do nothing: a region is
 * executed each time. */
#ifndef SIMRUN_H
#define SIMRUN_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) void simrun_compute(double flops);
__attribute__((weak)) int simrun_sample_begin(const char *file, int line, int iterations);
__attribute__((weak)) int simrun_sample_end(void);

#ifdef __cplusplus
}
#endif

/* Computes this many flop on the simulated host. */
#define SIMRUN_COMPUTE(flops) (simrun_compute ? simrun_compute(flops) : (void)0)

/* Before a block: it is executed the first `iterations` times at each rank; later the mean of their
 * times passes instead. For --compute blocks and --compute host. */
#define SIMRUN_SAMPLE(iterations)                                                              \
  for (int simrun_goes_on =                                                                    \
           simrun_sample_begin ? simrun_sample_begin(__FILE__, __LINE__, iterations) : 1;      \
       simrun_goes_on; simrun_goes_on = simrun_sample_end ? simrun_sample_end() : 0)

/* The names of SMPI. Each rank has its own samples, of a whole loop body. */
#ifndef SMPI_SAMPLE_LOCAL
#define SMPI_SAMPLE_LOCAL(init, end, step, iterations, threshold)                              \
  for (init; end; step)                                                                        \
  SIMRUN_SAMPLE(iterations)
#define SMPI_SAMPLE_GLOBAL SMPI_SAMPLE_LOCAL
#define SMPI_SAMPLE_FLOPS(flops) SIMRUN_COMPUTE(flops);
#define SMPI_SHARED_MALLOC(size) malloc(size)
#define SMPI_SHARED_FREE(address) free(address)
#define smpi_execute_flops(flops) SIMRUN_COMPUTE(flops)
#endif

#endif
