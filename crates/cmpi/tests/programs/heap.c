/* Memory of ranks. By the first argument: `leak`, ranks that do not free and
 * send a number of messages each; `twice`, `variable`,
 * `inside`, wrong addresses for free; `after`, a block that is written after it was freed; nothing:
 * each function of the C library that allocates. */

#define _GNU_SOURCE
#include <assert.h>
#include <malloc.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int value;

/* Sends messages whose tags depend on addresses: they must be the same in each execution. */
static void leak(int rank, int ranks, int count) {
  size_t length = 8 << 20;
  char *block = malloc(length);
  assert(block);
  memset(block, rank, 100);
  uintptr_t sum = (uintptr_t)block / 16 + (uintptr_t)&value / 8 + (uintptr_t)&sum / 8;
  int tag = sum % 32767;
  if (rank > 0) {
    for (int i = 0; i < count; i++)
      MPI_Send(&rank, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  } else {
    for (int i = 0; i < count * (ranks - 1); i++)
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void use(void) {
  void *blocks[200], *place;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 200; i++) {
      size_t length = (size_t)1 << (i % 20);
      char *block = i % 2 ? malloc(length + i) : calloc(length + i, 1);
      assert(block && (uintptr_t)block % 16 == 0 && malloc_usable_size(block) >= length + i);
      for (size_t at = 0; i % 2 == 0 && at < length + i; at++)
        assert(block[at] == 0);
      memset(block, i, length + i);
      blocks[i] = block;
    }
    for (int i = 0; i < 200; i++) {
      size_t length = ((size_t)1 << (i % 20)) + i;
      unsigned char *block = realloc(blocks[i], length * 2);
      for (size_t at = 0; at < length; at++)
        assert(block[at] == i);
      blocks[i] = realloc(block, length / 2 + 1);
      assert(*(unsigned char *)blocks[i] == i);
    }
    for (int i = 199; i >= 0; i--)
      free(blocks[i]);
  }
  assert(posix_memalign(&place, 4096, 100) == 0 && (uintptr_t)place % 4096 == 0);
  free(place);
  place = aligned_alloc(256, 512);
  assert((uintptr_t)place % 256 == 0);
  place = realloc(place, 100000);
  free(place);
  char *text = strdup("a text"), *part = strndup(text, 3);
  assert(strcmp(text, "a text") == 0 && strcmp(part, "a t") == 0);
  free(text);
  free(part);
  /* The library makes the first line longer, which the program has allocated. */
  size_t length = 4;
  char *line = malloc(length);
  FILE *file = tmpfile();
  for (int i = 0; i < 1000; i++)
    fputc('x', file);
  rewind(file);
  assert(getline(&line, &length, file) == 1000 && line[999] == 'x');
  free(line);
  fclose(file);
  assert(asprintf(&text, "%d of %s", 3, "the library") > 0);
  free(text);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *block = malloc(100);
  volatile uintptr_t address = (uintptr_t)block;
  if (strcmp(mode, "leak") == 0)
    leak(rank, ranks, argc > 2 ? atoi(argv[2]) : 5);
  else if (strcmp(mode, "") == 0)
    use();
  else if (strcmp(mode, "twice") == 0) {
    free((void *)address);
    free((void *)address);
  } else if (strcmp(mode, "variable") == 0) {
    address = (uintptr_t)&value;
    free((void *)address);
  } else if (strcmp(mode, "inside") == 0) {
    free((void *)(address + 16));
  } else if (strcmp(mode, "after") == 0) {
    free((void *)address);
    *(volatile uintptr_t *)address = 7;
    for (int i = 0; i < 2; i++)
      assert(malloc(100));
  }
  MPI_Finalize();
  return 0;
}
