/* Connections of two queue pairs each. */

enum { BUFFERS = 16, LONGEST = 4096, REGION = 4096, MESSAGES = 1 << 16, RECEIVE = 1 << 20 };

/* One end of a connection. */
struct side {
  struct ibv_cq *cq;
  struct ibv_qp *qp;
  char *buffers; /* send buffers, then receive buffers */
  struct ibv_mr *mr;
  unsigned next_buffer;
  char *region; /* for RDMA */
  struct ibv_mr *region_mr;
  uint64_t address; /* of the region, and its remote key */
  uint32_t rkey;
  int ended[MESSAGES]; /* 1 + status of the work completion */
  int arrived[MESSAGES]; /* 1 + length of the message */
};

struct connection {
  struct side side[2];
};

/* The number of a message, a space, and the number repeated, cut to the length. */
static int content(unsigned message, unsigned length, char *to) {
  char number[16];
  int digits = snprintf(number, sizeof number, "%u", message);
  int total = (int)length > digits ? (int)length : digits;
  memcpy(to, number, (size_t)digits);
  for (int at = digits; at < total; at++) to[at] = at == digits ? ' ' : number[(at - digits - 1) % digits];
  return total;
}

static void post_receive(struct side *side, unsigned buffer) {
  struct ibv_sge sge = {(uintptr_t)side->buffers + (BUFFERS + buffer) * LONGEST, LONGEST, side->mr->lkey};
  struct ibv_recv_wr *bad, request = {.wr_id = RECEIVE + buffer, .sg_list = &sge, .num_sge = 1};
  check(ibv_post_recv(side->qp, &request, &bad) == 0, "ibv_post_recv");
}

static void make_side(struct side *side) {
  memset(side, 0, sizeof *side);
  side->cq = ibv_create_cq(context, 256, NULL, NULL, 0);
  check(side->cq != NULL, "ibv_create_cq");
  struct ibv_qp_init_attr init = {.send_cq = side->cq, .recv_cq = side->cq, .qp_type = IBV_QPT_RC,
                                  .cap = {4 * BUFFERS, BUFFERS, 1, 1, 0}};
  side->qp = ibv_create_qp(pd, &init);
  check(side->qp != NULL, "ibv_create_qp");
  side->buffers = calloc(2 * BUFFERS, LONGEST);
  side->mr = ibv_reg_mr(pd, side->buffers, 2 * BUFFERS * LONGEST, IBV_ACCESS_LOCAL_WRITE);
  check(side->mr != NULL, "ibv_reg_mr");
  init_qp(side->qp, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  for (unsigned buffer = 0; buffer < BUFFERS; buffer++) post_receive(side, buffer);
}

static void open_connection(struct connection *connection) {
  make_side(&connection->side[0]);
  make_side(&connection->side[1]);
  for (int at = 0; at < 2; at++)
    connect_qp(connection->side[at].qp, connection->side[1 - at].qp, port.active_mtu, 0, 4, 7, 7);
}

static void close_side(struct side *side) {
  if (side->qp == NULL) return;
  check(ibv_destroy_qp(side->qp) == 0, "ibv_destroy_qp");
  check(ibv_destroy_cq(side->cq) == 0, "ibv_destroy_cq");
  check(ibv_dereg_mr(side->mr) == 0, "ibv_dereg_mr");
  if (side->region_mr != NULL) check(ibv_dereg_mr(side->region_mr) == 0, "ibv_dereg_mr");
  free(side->buffers);
  side->qp = NULL;
}

static void poll(struct side *side) {
  struct ibv_wc wc;
  while (side->qp != NULL && ibv_poll_cq(side->cq, 1, &wc) > 0) {
    if (wc.wr_id < RECEIVE) {
      side->ended[wc.wr_id] = 1 + (int)wc.status;
    } else if (wc.status == IBV_WC_SUCCESS) {
      unsigned buffer = (unsigned)wc.wr_id - RECEIVE, message = 0;
      const char *bytes = side->buffers + (BUFFERS + buffer) * LONGEST;
      char expected[LONGEST + 16];
      int is_rma = sscanf(bytes, "rma %u", &message) == 1;
      if (!is_rma) {
        check(sscanf(bytes, "%u", &message) == 1 && message < MESSAGES, "a message without a number");
        int length = content(message, wc.byte_len, expected);
        check(length == (int)wc.byte_len && memcmp(bytes, expected, wc.byte_len) == 0, "a message has wrong bytes");
      }
      if (side->arrived[message] != 0) fail("a message arrived twice", (long)message);
      side->arrived[message] = 1 + (int)wc.byte_len;
      memset(side->buffers + (BUFFERS + buffer) * LONGEST, 0, LONGEST);
      post_receive(side, buffer);
    }
  }
}

/* Polls both sides until the value is set; fails after 2 s. */
static int await(struct connection *connection, const int *value, const char *what) {
  for (double end = now() + 2; *value == 0;) {
    if (now() > end) fail(what, -1);
    poll(&connection->side[0]);
    poll(&connection->side[1]);
  }
  return *value - 1;
}

static void post(struct side *side, unsigned message, enum ibv_wr_opcode opcode, struct ibv_sge sge, int flags, uint64_t remote,
                 uint32_t rkey) {
  struct ibv_send_wr *bad, request = {.wr_id = message, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = (unsigned)flags};
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = rkey;
  check(ibv_post_send(side->qp, &request, &bad) == 0, "ibv_post_send");
}

static struct ibv_sge send_buffer(struct side *side, unsigned length) {
  unsigned buffer = side->next_buffer++ % BUFFERS;
  struct ibv_sge sge = {(uintptr_t)side->buffers + buffer * LONGEST, length, side->mr->lkey};
  return sge;
}

static void send_message(struct connection *connection, int from, unsigned message, unsigned length) {
  struct side *side = &connection->side[from];
  struct ibv_sge sge = send_buffer(side, 0);
  char bytes[LONGEST + 16];
  sge.length = (uint32_t)content(message, length, bytes);
  memcpy((char *)(uintptr_t)sge.addr, bytes, sge.length);
  post(side, message, IBV_WR_SEND, sge, IBV_SEND_SIGNALED, 0, 0);
}

static void wait_sent(struct connection *connection, int from, unsigned message) {
  int status = await(connection, &connection->side[from].ended[message], "no completion of a send");
  if (status != IBV_WC_SUCCESS) fail("a send failed", status);
}

static void wait_received(struct connection *connection, int to, unsigned message) {
  await(connection, &connection->side[to].arrived[message], "a message did not arrive");
}

static void register_region(struct connection *connection, int at) {
  struct side *side = &connection->side[at];
  side->region = calloc(1, REGION);
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  side->region_mr = ibv_reg_mr(pd, side->region, REGION, access);
  check(side->region_mr != NULL, "ibv_reg_mr");
  side->address = (uintptr_t)side->region;
  side->rkey = side->region_mr->rkey;
}

static void deregister_region(struct connection *connection, int at) {
  struct side *side = &connection->side[at];
  check(ibv_dereg_mr(side->region_mr) == 0, "ibv_dereg_mr");
  side->region_mr = NULL;
}

static void prepare_region(struct connection *connection, int at, unsigned message) {
  for (unsigned place = 0; place < REGION; place++)
    connection->side[at].region[place] = (char)pattern(message, place);
}

static void fill_region(struct connection *connection, int at, unsigned message, unsigned local, unsigned length) {
  for (unsigned place = 0; place < length; place++)
    connection->side[at].region[local + place] = (char)pattern(message, place);
}

/* A transfer, and a message that tells the peer of its end. */
static void transfer(struct connection *connection, int from, unsigned message, enum ibv_wr_opcode opcode, unsigned local,
                     unsigned remote, unsigned length, int fence, int quiet) {
  struct side *side = &connection->side[from], *peer = &connection->side[1 - from];
  struct ibv_sge sge = {(uintptr_t)side->region + local, length, side->region_mr->lkey};
  post(side, message, opcode, sge, (fence ? IBV_SEND_FENCE : 0) | (quiet ? IBV_SEND_SIGNALED : 0),
       peer->address + remote, peer->rkey);
  if (quiet) return;
  struct ibv_sge tell = send_buffer(side, 0);
  tell.length = (uint32_t)snprintf((char *)(uintptr_t)tell.addr, LONGEST, "rma %u", message) + 1;
  post(side, message, IBV_WR_SEND, tell, IBV_SEND_SIGNALED | (opcode == IBV_WR_RDMA_READ ? IBV_SEND_FENCE : 0), 0, 0);
}

/* Returns 1 if the transfer has succeeded. */
static int wait_transfer(struct connection *connection, int from, unsigned message) {
  return await(connection, &connection->side[from].ended[message], "no completion of a transfer") == IBV_WC_SUCCESS;
}

static void expect(struct connection *connection, int at, unsigned offset, const unsigned char *bytes, unsigned length) {
  for (unsigned place = 0; place < length; place++)
    if ((unsigned char)connection->side[at].region[offset + place] != bytes[place]) fail("a wrong byte of a region at", (long)(offset + place));
}

/* The interaction. */

