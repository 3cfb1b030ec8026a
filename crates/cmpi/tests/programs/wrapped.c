/* A program that reaches MPI only through a library. */

#include <stdio.h>

int wrapped_begin(void), wrapped_sum(int value), wrapped_end(void);

int main(void) {
  int rank = wrapped_begin();
  printf("%d: %d\n", rank, wrapped_sum(rank));
  return wrapped_end();
}
