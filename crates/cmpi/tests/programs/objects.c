/* Error handlers, attributes, hints, statuses, requests that are asked or
   performed by the program, numbers of handles: prints "ok", or the first
   difference. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM MPI_COMM_WORLD

static int rank, ranks;

static void expect(const char *what, long found, long expected) {
  if (found == expected)
    return;
  printf("rank %d: %s is %ld, expected %ld\n", rank, what, found, expected);
  exit(1);
}

static int handled, copied, deleted;

static void handler(MPI_Comm *comm, int *code, ...) {
  int class, result;
  /* A handler may call MPI. */
  MPI_Error_class(*code, &class);
  MPI_Comm_compare(*comm, COMM, &result);
  expect("the communicator", result, MPI_CONGRUENT);
  handled = class;
}

static int truncated(MPI_Comm comm) {
  int data[2] = {0, 0}, code;
  MPI_Request request;
  MPI_Isend(data, 2, MPI_INT, rank, 0, comm, &request);
  code = MPI_Recv(data, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code;
}

/* Not under mpiexec of the wheel, which notices no errors. */
static void mistakes(void) {
  MPI_Comm comm;
  MPI_Errhandler made;
  MPI_Comm_dup(COMM, &comm);
  MPI_Comm_create_errhandler(handler, &made);
  MPI_Comm_set_errhandler(comm, made);
  MPI_Errhandler_free(&made);
  expect("the code", truncated(comm), MPI_ERR_TRUNCATE);
  expect("the handled class", handled, MPI_ERR_TRUNCATE);
  expect("the code of a tag", MPI_Send(&rank, 1, MPI_INT, 0, -7, comm), MPI_ERR_TAG);
  expect("the handled class", handled, MPI_ERR_TAG);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  expect("the code", truncated(comm), MPI_ERR_TRUNCATE);
  expect("no handler", handled, MPI_ERR_TAG);
  MPI_Comm_free(&comm);
}

static void errors(void) {
  MPI_Comm comm;
  MPI_Errhandler made, found;
  int class, code, other, length, flag, *last;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm_dup(COMM, &comm);
  MPI_Comm_create_errhandler(handler, &made);
  MPI_Comm_set_errhandler(comm, made);
  MPI_Errhandler_free(&made);
  expect("a freed handler", made == MPI_ERRHANDLER_NULL, 1);
  MPI_Comm_get_errhandler(comm, &found);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(comm, found);
  MPI_Errhandler_free(&found);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(class, "a class of the program");
  MPI_Add_error_string(code, "a code of the program");
  MPI_Comm_get_attr(COMM, MPI_LASTUSEDCODE, &last, &flag);
  expect("has a last code", flag, 1);
  expect("the last code", *last >= class, 1);
  MPI_Error_string(code, text, &length);
  expect("the text of the code", strcmp(text, "a code of the program"), 0);
  expect("its length", length, (long)strlen(text));
  MPI_Error_string(class, text, &length);
  expect("the text of the class", strcmp(text, "a class of the program"), 0);
  MPI_Error_class(code, &other);
  expect("the class of the code", other, class);
  MPI_Comm_call_errhandler(comm, code);
  expect("the class that is handled", handled, class);
  MPI_Remove_error_string(code);
  MPI_Remove_error_code(code);
  MPI_Remove_error_string(class);
  MPI_Remove_error_class(class);
  MPI_Comm_free(&comm);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  int own;
  MPI_Comm_rank(comm, &own);
  expect("the rank", own, rank);
  expect("the extra state", extra == &copied, 1);
  copied++;
  *(void **)out = (char *)in + 1;
  *flag = key != MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

static int del(MPI_Comm comm, int key, void *value, void *extra) {
  expect("the extra state", extra == &copied && comm != MPI_COMM_NULL && key, 1);
  deleted += value != NULL;
  return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static int del_type(MPI_Datatype type, int key, void *value, void *extra) {
  (void)type, (void)key, (void)value;
  ++*(int *)extra;
  return MPI_SUCCESS;
}

static void attributes(void) {
  MPI_Comm comm, again;
  MPI_Datatype type, other;
  int key, same, none, bad, flag, code, types = 0;
  static int value[4];
  void *found;
  MPI_Comm_create_keyval(copy, del, &key, &copied);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &same, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
  MPI_Comm_dup(COMM, &comm);
  MPI_Comm_get_attr(comm, key, &found, &flag);
  expect("has the attribute", flag, 0);
  MPI_Comm_set_attr(comm, key, value);
  MPI_Comm_set_attr(comm, key, value + 1);
  expect("the replaced one is deleted", deleted, 1);
  MPI_Comm_set_attr(comm, same, value + 2);
  MPI_Comm_set_attr(comm, none, value + 3);
  MPI_Comm_dup(comm, &again);
  expect("copies", copied, 1);
  MPI_Comm_get_attr(again, key, &found, &flag);
  expect("the copy", flag && found == (char *)(value + 1) + 1, 1);
  MPI_Comm_get_attr(again, same, &found, &flag);
  expect("the same", flag && found == value + 2, 1);
  MPI_Comm_get_attr(again, none, &found, &flag);
  expect("is not copied", flag, 0);
  MPI_Comm_delete_attr(again, key);
  expect("is deleted", deleted, 2);
  MPI_Comm_free(&again);
  expect("is deleted once", deleted, 2);
  MPI_Comm_free_keyval(&key);
  expect("the freed keyval", key, MPI_KEYVAL_INVALID);
  MPI_Comm_free(&comm);
  expect("is deleted with its communicator", deleted, 3);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &bad, NULL);
  MPI_Comm_dup(COMM, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(comm, bad, value);
  code = MPI_Comm_dup(comm, &again);
  expect("a copy that fails", code != MPI_SUCCESS, 1);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&bad);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, del_type, &key, &types);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_set_attr(type, key, value);
  MPI_Type_dup(type, &other);
  MPI_Type_get_attr(other, key, &found, &flag);
  expect("an attribute of a datatype", flag && found == value, 1);
  MPI_Type_free(&other);
  MPI_Type_delete_attr(type, key);
  expect("deleted with a datatype", types, 2);
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&key);
  MPI_Comm_get_attr(COMM, MPI_TAG_UB, &found, &flag);
  expect("the largest tag", flag && *(int *)found >= 32767, 1);
  MPI_Comm_get_attr(COMM, MPI_WTIME_IS_GLOBAL, &found, &flag);
  expect("has a clock", flag, 1);
  MPI_Comm_get_attr(COMM, MPI_APPNUM, &found, &flag);
  expect("the number of the program", !flag || *(int *)found == 0, 1);
}

static void hints(void) {
  MPI_Comm comm;
  MPI_Info info, found;
  char text[64];
  int length = sizeof text, flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(COMM, info, &comm);
  MPI_Comm_set_info(comm, info);
  MPI_Comm_get_info(comm, &found);
  MPI_Info_get_string(found, "mpi_assert_no_any_tag", &length, text, &flag);
  expect("a hint", !flag || strcmp(text, "true") == 0, 1);
  MPI_Info_free(&found);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
}

static void names(void) {
  MPI_Datatype type;
  char text[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_DOUBLE, text, &length);
  expect("the name of a datatype", strcmp(text, "MPI_DOUBLE"), 0);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_get_name(type, text, &length);
  expect("no name", length, 0);
  MPI_Type_set_name(type, "a pair");
  MPI_Type_get_name(type, text, &length);
  expect("a name", strcmp(text, "a pair"), 0);
  MPI_Type_free(&type);
}

static void statuses(void) {
  MPI_Status status;
  int count, flag, source;
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements(&status, MPI_INT, 5);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Status_set_source(&status, 3);
  MPI_Status_set_tag(&status, 4);
  MPI_Status_set_error(&status, MPI_ERR_TAG);
  MPI_Get_count(&status, MPI_INT, &count);
  expect("the count", count, 5);
  MPI_Test_cancelled(&status, &flag);
  expect("is cancelled", flag, 1);
  MPI_Status_get_source(&status, &source);
  expect("the source", source, 3);
  MPI_Status_get_tag(&status, &count);
  expect("the tag", count, 4);
  MPI_Status_get_error(&status, &count);
  expect("the error", count, MPI_ERR_TAG);
}

static void asked(void) {
  MPI_Request list[3], one;
  MPI_Status status, all[3];
  MPI_Comm made;
  int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, in = -1, out, flag = 0, index, sum, where[3];
  list[0] = MPI_REQUEST_NULL;
  MPI_Irecv(&in, 1, MPI_INT, last, 5, COMM, &list[1]);
  MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
  expect("a null request", flag, 1);
  MPI_Isend(&rank, 1, MPI_INT, next, 5, COMM, &list[2]);
  for (flag = 0; !flag;)
    MPI_Request_get_status(list[1], &flag, &status);
  expect("the source", status.MPI_SOURCE, last);
  expect("what came", in, last);
  for (flag = 0; !flag;)
    MPI_Request_get_status_all(3, list, &flag, all);
  expect("the source of the second", all[1].MPI_SOURCE, last);
  MPI_Request_get_status_any(3, list, &index, &flag, &status);
  expect("the first that is over", index, 1);
  MPI_Request_get_status_some(3, list, &index, where, all);
  expect("two are over", index, 2);
  MPI_Waitall(3, list, MPI_STATUSES_IGNORE);
  out = rank;
  MPI_Isendrecv(&out, 1, MPI_INT, next, 6, &in, 1, MPI_INT, last, 6, COMM, &one);
  MPI_Wait(&one, &status);
  expect("exchanged", in, last);
  MPI_Isendrecv_replace(&out, 1, MPI_INT, next, 7, last, 7, COMM, &one);
  MPI_Wait(&one, &status);
  expect("replaced", out, last);
  expect("its source", status.MPI_SOURCE, last);
  MPI_Comm_idup(COMM, &made, &one);
  MPI_Allreduce(&rank, &in, 1, MPI_INT, MPI_SUM, COMM);
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
  expect("the sum", sum, in);
  MPI_Comm_compare(COMM, made, &flag);
  expect("a copy", flag, MPI_CONGRUENT);
  MPI_Comm_free(&made);
}

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 11;
  status->MPI_TAG = 12;
  queried++;
  return MPI_SUCCESS;
}

static int end(void *extra) {
  freed += *(int *)extra == 3;
  return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
  cancelled += *(int *)extra == 3 && !complete;
  return MPI_SUCCESS;
}

static void generalized(void) {
  int extra = 3, flag, count, index, in, other = (rank + 1) % ranks;
  MPI_Request list[3], copy;
  MPI_Status status, all[3];
  MPI_Grequest_start(query, end, cancel, &extra, &list[0]);
  MPI_Test(&list[0], &flag, &status);
  expect("is not over", flag, 0);
  MPI_Cancel(&list[0]);
  expect("cancelled", cancelled, 1);
  MPI_Grequest_complete(list[0]);
  MPI_Wait(&list[0], &status);
  expect("no request", list[0] == MPI_REQUEST_NULL, 1);
  expect("queried and freed", 10 * queried + freed, 11);
  MPI_Get_count(&status, MPI_INT, &count);
  expect("the count", count, 3);
  expect("the source", status.MPI_SOURCE, 11);
  MPI_Grequest_start(query, end, cancel, &extra, &list[0]);
  MPI_Isend(&rank, 1, MPI_INT, other, 3, COMM, &list[1]);
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, COMM, &list[2]);
  MPI_Grequest_complete(list[0]);
  MPI_Waitall(3, list, all);
  expect("queried and freed", 10 * queried + freed, 22);
  expect("the tag", all[0].MPI_TAG, 12);
  MPI_Grequest_start(query, end, cancel, &extra, &list[0]);
  list[1] = MPI_REQUEST_NULL;
  MPI_Grequest_complete(list[0]);
  MPI_Waitany(2, list, &index, MPI_STATUS_IGNORE);
  expect("the only one", index, 0);
  expect("queried and freed", 10 * queried + freed, 33);
  MPI_Grequest_start(query, end, cancel, &extra, &list[0]);
  copy = list[0];
  MPI_Request_free(&list[0]);
  expect("not yet freed", freed, 3);
  MPI_Grequest_complete(copy);
  expect("freed", freed, 4);
}

static void numbers(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Aint address;
  char *memory;
  int result;
  MPI_Comm_dup(COMM, &comm);
  expect("a communicator", MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm, 1);
  expect("the world", MPI_Comm_fromint(MPI_Comm_toint(COMM)) == COMM, 1);
  MPI_Comm_compare(MPI_Comm_fromint(MPI_Comm_toint(comm)), COMM, &result);
  expect("the same ranks", result, MPI_CONGRUENT);
  MPI_Comm_free(&comm);
  MPI_Type_contiguous(2, MPI_INT, &type);
  expect("a datatype", MPI_Type_fromint(MPI_Type_toint(type)) == type, 1);
  MPI_Type_free(&type);
  expect("an operation", MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM, 1);
  MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
  MPI_Get_address(memory, &address);
  expect("an address", MPI_Aint_add(address, 7) == (MPI_Aint)(memory + 7), 1);
  expect("a distance", MPI_Aint_diff((MPI_Aint)(memory + 9), address), 9);
  memory[99] = 1;
  MPI_Free_mem(memory);
}

static int session_error;

static void session_handler(MPI_Session *session, int *code, ...) {
  (void)session;
  session_error = *code;
}

static void sessions(int with_mistakes) {
  MPI_Errhandler handler, found;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  int number, length = 0, flag, sum, provided;
  char name[64];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number);
  expect("process sets", number >= 2, 1);
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL);
  expect("the length of a name", length, 12);
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name);
  MPI_Session_get_pset_info(session, name, &info);
  length = sizeof name;
  MPI_Info_get_string(info, "mpi_size", &length, name, &flag);
  expect("the size of the set", flag ? atoi(name) : -1, ranks);
  MPI_Info_free(&info);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "a name", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect("the sum", sum, ranks * (ranks - 1) / 2);
  MPI_Group_free(&group);
  MPI_Comm_disconnect(&comm);
  if (ranks > 1) {
    /* Even and odd ranks. */
    MPI_Group world, halves[2];
    int even[] = {0, ranks - 1 - (ranks - 1) % 2, 2}, odd[] = {1, ranks - 1 - ranks % 2, 2};
    MPI_Comm_group(COMM, &world);
    MPI_Group_range_incl(world, 1, &even, &halves[0]);
    MPI_Group_range_incl(world, 1, &odd, &halves[1]);
    MPI_Intercomm_create_from_groups(halves[rank % 2], 0, halves[1 - rank % 2], 0, "another name", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm);
    expect("the greatest rank of the others", sum, rank % 2 ? even[1] : odd[1]);
    MPI_Comm_free(&comm);
    MPI_Group_free(&halves[0]);
    MPI_Group_free(&halves[1]);
    MPI_Group_free(&world);
  }
  MPI_Abi_get_info(&info);
  length = sizeof name;
  MPI_Info_get_string(info, "mpi_aint_size", &length, name, &flag);
  expect("the size of an address", flag ? atoi(name) : -1, sizeof(MPI_Aint));
  MPI_Info_free(&info);
  if (with_mistakes)
    expect("an error of a session", MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL), MPI_ERR_ARG);
  expect("the session of a number", MPI_Session_fromint(MPI_Session_toint(session)) == session, 1);
  MPI_Session_create_errhandler(session_handler, &handler);
  MPI_Session_set_errhandler(session, handler);
  MPI_Session_call_errhandler(session, MPI_ERR_ARG);
  expect("the error of a handler", session_error, MPI_ERR_ARG);
  MPI_Session_get_errhandler(session, &found);
  expect("the handler", found == handler, 1);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
  expect("no session", session == MPI_SESSION_NULL, 1);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_cvar_get_num(&number);
  expect("variables", number >= 0, 1);
  MPI_T_pvar_session variables;
  MPI_T_pvar_session_create(&variables);
  if (with_mistakes) {
    MPI_T_pvar_handle values;
    expect("a variable", MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    MPI_T_pvar_get_num(&number);
    expect("a value", MPI_T_pvar_handle_alloc(variables, number, NULL, &values, &length), MPI_T_ERR_INVALID_INDEX);
  }
  MPI_T_pvar_session_free(&variables);
  expect("no session of variables", variables == MPI_T_PVAR_SESSION_NULL, 1);
  expect("no such variable", MPI_T_cvar_get_index("no such variable", &number), MPI_T_ERR_INVALID_NAME);
  MPI_T_finalize();
  if (with_mistakes)
    expect("the tool interface has ended", MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(COMM, &rank);
  MPI_Comm_size(COMM, &ranks);
  errors();
  if (argc > 1)
    mistakes();
  attributes();
  hints();
  names();
  statuses();
  asked();
  generalized();
  numbers();
  sessions(argc > 1);
  MPI_Barrier(COMM);
  if (rank == 0)
    puts("ok");
  MPI_Finalize();
  return 0;
}
