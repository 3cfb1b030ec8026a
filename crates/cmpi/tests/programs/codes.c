/* Error codes of calls about several requests and in their statuses, of constructors of datatypes
   and of MPI_Reduce_local: prints "ok", or the first difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COMM MPI_COMM_WORLD

static int rank;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

/* Messages of this rank to itself with the tags 1 to 3, and receives of which the second is too
   short if `fails`. */
static void begin(MPI_Request *sends, MPI_Request *receives, int fails) {
  static int given[2], got[3][2];
  for (int i = 0; i < 3; i++)
    MPI_Isend(given, 2, MPI_INT, rank, i + 1, COMM, &sends[i]);
  for (int i = 0; i < 3; i++)
    MPI_Irecv(got[i], fails && i == 1 ? 1 : 2, MPI_INT, rank, i + 1, COMM, &receives[i]);
}

/* The error of the status at a place; the others have none. */
static void expect_errors(const char *call, const MPI_Status *statuses, int count, int wrong) {
  for (int i = 0; i < count; i++)
    expect(call, statuses[i].MPI_ERROR, i == wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
}

static void expect_null(const char *call, const MPI_Request *requests, int count) {
  for (int i = 0; i < count; i++)
    expect(call, requests[i] == MPI_REQUEST_NULL, 1);
}

static void several(void) {
  MPI_Request sends[3], receives[4];
  MPI_Status statuses[4];
  int flag = 0, code, indices[4], done = 0, count, has_failed = 0;
  receives[3] = MPI_REQUEST_NULL;
  for (int fails = 0; fails < 2; fails++) {
    int expected = fails ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
    /* Without a failure, a call leaves this field as it was. */
    for (int i = 0; i < 3; i++)
      statuses[i].MPI_ERROR = fails ? 77 : MPI_SUCCESS;
    begin(sends, receives, fails);
    expect("waitall", MPI_Waitall(4, receives, statuses), expected);
    expect_errors("a status of waitall", statuses, 4, fails ? 1 : -1);
    expect_null("a request of waitall", receives, 3);
    expect("the source", statuses[2].MPI_SOURCE, rank);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);

    for (int i = 0; i < 3; i++)
      statuses[i].MPI_ERROR = fails ? 77 : MPI_SUCCESS;
    begin(sends, receives, fails);
    for (flag = 0; !flag;)
      code = MPI_Testall(4, receives, &flag, statuses);
    expect("testall", code, expected);
    expect_errors("a status of testall", statuses, 4, fails ? 1 : -1);
    expect_null("a request of testall", receives, 3);
    expect("the source", statuses[0].MPI_SOURCE, rank);
    expect("the tag", statuses[2].MPI_TAG, 3);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);

    for (int call = 0; call < 2; call++) {
      begin(sends, receives, fails);
      MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
      for (done = has_failed = 0; done < 3; done += count) {
        code = call == 0 ? MPI_Waitsome(4, receives, &count, indices, statuses)
                         : MPI_Testsome(4, receives, &count, indices, statuses);
        if (code == MPI_SUCCESS)
          continue;
        has_failed = 1;
        expect("some", code, MPI_ERR_IN_STATUS);
        for (int i = 0; i < count; i++)
          expect("a status of some", statuses[i].MPI_ERROR,
                 indices[i] == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      }
      expect("some have failed", has_failed, fails);
      expect_null("a request of some", receives, 3);
    }
  }
  /* A call that completes one request returns the error of this request, and forgets it. */
  for (int call = 0; call < 4; call++) {
    int failed = 0;
    begin(sends, receives, 1);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    for (done = 0; done < 3; done += flag) {
      int index = done;
      flag = 1;
      code = call == 0   ? MPI_Waitany(4, receives, &index, statuses)
             : call == 1 ? MPI_Testany(4, receives, &index, &flag, statuses)
             : call == 2 ? MPI_Wait(&receives[done], statuses)
                         : MPI_Test(&receives[done], &flag, statuses);
      if (flag)
        expect("one", code, index == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      failed += code != MPI_SUCCESS;
    }
    expect("the number of failures", failed, 1);
    expect_null("a request of one", receives, 3);
  }
  begin(sends, receives, 1);
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
  expect("without statuses", MPI_Waitall(3, receives, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
}

/* Requests that are not active are over. */
static void inactive(void) {
  MPI_Request request;
  int flag = 0, value = 0, index = 0, count = 0;
  MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, COMM, &request);
  expect("testany", MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  expect("the flag of testany", flag, 1);
  expect("the index of testany", index, MPI_UNDEFINED);
  flag = 0;
  expect("testall", MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  expect("the flag of testall", flag, 1);
  expect("testsome", MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  expect("the count of testsome", count, MPI_UNDEFINED);
  MPI_Request_free(&request);
}

static void datatypes(void) {
  MPI_Datatype made, old = MPI_INT;
  MPI_Aint place = 0;
  int one = 1, minus = -1, zero = 0, size;
#define CLASS(call, class) expect(#call, MPI_##call, class)
  CLASS(Type_contiguous(-1, old, &made), MPI_ERR_COUNT);
  CLASS(Type_vector(-1, 1, 1, old, &made), MPI_ERR_COUNT);
  CLASS(Type_vector(1, -1, 1, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hvector(-1, 1, 4, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hvector(1, -1, 4, old, &made), MPI_ERR_ARG);
  CLASS(Type_indexed(-1, &one, &zero, old, &made), MPI_ERR_COUNT);
  CLASS(Type_indexed(1, &minus, &zero, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hindexed(-1, &one, &place, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hindexed(1, &minus, &place, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_indexed_block(-1, 1, &zero, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_indexed_block(1, -1, &zero, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_hindexed_block(-1, 1, &place, old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_hindexed_block(1, -1, &place, old, &made), MPI_ERR_ARG);
  CLASS(Type_create_struct(-1, &one, &place, &old, &made), MPI_ERR_COUNT);
  CLASS(Type_create_struct(1, &minus, &place, &old, &made), MPI_ERR_ARG);
  CLASS(Pack_size(-1, old, COMM, &size), MPI_ERR_COUNT);
  CLASS(Pack_external_size("external32", -1, old, &place), MPI_ERR_COUNT);
}

static void reductions(void) {
  int in = 1, inout = 2;
  CLASS(Reduce_local(MPI_IN_PLACE, &inout, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(NULL, &inout, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, NULL, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CLASS(Reduce_local(&in, &inout, 1, MPI_INT, MPI_SUM), MPI_SUCCESS);
  expect("the sum", inout, 3);
  CLASS(Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM), MPI_SUCCESS);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_set_errhandler(COMM, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  several();
  inactive();
  datatypes();
  reductions();
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
