/* Work requests of connections of two queue pairs each. */

#include <arpa/inet.h>

enum { REQUESTS = 64, INLINE = 64, TARGET = 4096, COUNTERS = 64 };

/* A completion. Fields of one that failed are 0. */
struct completion {
  uint64_t wr_id;
  unsigned status, opcode, byte_len, immediate;
};

struct side {
  struct ibv_cq *cq[2]; /* of requests, of receives */
  struct ibv_qp *qp;
  unsigned char *target, *local; /* regions: of requests of the peer, of its own */
  struct ibv_mr *target_mr, *local_mr;
  struct completion found[2][REQUESTS];
  int count[2];
};

struct connection {
  struct side side[2];
};

static void fill(unsigned char *to, unsigned number, unsigned begin, unsigned end) {
  for (unsigned place = begin; place < end; place++) to[place] = pattern(number, place);
}

static void make_side(struct side *side, int access, unsigned number, unsigned length) {
  for (int kind = 0; kind < 2; kind++) {
    side->cq[kind] = ibv_create_cq(context, 2 * REQUESTS, NULL, NULL, 0);
    check(side->cq[kind] != NULL, "ibv_create_cq");
  }
  struct ibv_qp_init_attr init = {.send_cq = side->cq[0], .recv_cq = side->cq[1], .qp_type = IBV_QPT_RC,
                                  .cap = {REQUESTS, REQUESTS, 1, 1, INLINE}};
  side->qp = ibv_create_qp(pd, &init);
  check(side->qp != NULL, "ibv_create_qp");
  side->target = aligned_alloc(TARGET, TARGET);
  side->local = aligned_alloc(TARGET, (length / TARGET + 1) * TARGET);
  check(side->target != NULL && side->local != NULL, "aligned_alloc");
  memset(side->target, 0, COUNTERS);
  fill(side->target, number, COUNTERS, TARGET);
  memset(side->local, 0xEE, length);
  side->target_mr = ibv_reg_mr(pd, side->target, TARGET, access);
  side->local_mr = ibv_reg_mr(pd, side->local, length, IBV_ACCESS_LOCAL_WRITE);
  check(side->target_mr != NULL && side->local_mr != NULL, "ibv_reg_mr");
  init_qp(side->qp, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

static void post_receive(struct side *side, uint64_t wr_id, unsigned offset, unsigned length) {
  struct ibv_sge sge = {(uintptr_t)side->local + offset, length, side->local_mr->lkey};
  struct ibv_recv_wr *bad, request = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0};
  check(ibv_post_recv(side->qp, &request, &bad) == 0, "ibv_post_recv");
}

/* A request whose place is an address behind the begin of the target region; the keys may be wrong ones. */
static void post_request(struct connection *connection, int from, uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned flags,
                         unsigned offset, unsigned length, unsigned place, uint32_t value, uint32_t compare, uint32_t wrong_lkey,
                         uint32_t wrong_rkey) {
  struct side *side = &connection->side[from], *peer = &connection->side[1 - from];
  struct ibv_sge sge = {(uintptr_t)side->local + offset, length, side->local_mr->lkey ^ wrong_lkey};
  struct ibv_send_wr *bad, request = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0, .opcode = opcode, .send_flags = flags,
                                      .imm_data = htonl(value)};
  uint64_t remote = (uintptr_t)peer->target + place;
  uint32_t rkey = peer->target_mr->rkey ^ wrong_rkey;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    int adds = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic.remote_addr = remote;
    request.wr.atomic.rkey = rkey;
    request.wr.atomic.compare_add = adds ? value : compare;
    request.wr.atomic.swap = adds ? 0 : value;
  } else {
    request.wr.rdma.remote_addr = remote;
    request.wr.rdma.rkey = rkey;
  }
  check(ibv_post_send(side->qp, &request, &bad) == 0, "ibv_post_send");
}

static void poll(struct side *side) {
  struct ibv_wc wc;
  for (int kind = 0; kind < 2; kind++)
    while (ibv_poll_cq(side->cq[kind], 1, &wc) > 0) {
      struct completion one = {wc.wr_id, wc.status, 0, 0, 0};
      check(side->count[kind] < REQUESTS, "too many completions");
      if (wc.status == IBV_WC_SUCCESS) {
        int has_length = wc.opcode >= IBV_WC_RECV || wc.opcode == IBV_WC_RDMA_READ || wc.opcode == IBV_WC_COMP_SWAP ||
                         wc.opcode == IBV_WC_FETCH_ADD;
        one.opcode = wc.opcode;
        one.byte_len = has_length ? wc.byte_len : 0;
        one.immediate = kind == 1 && wc.wc_flags & IBV_WC_WITH_IMM ? ntohl(wc.imm_data) : 0;
      }
      side->found[kind][side->count[kind]++] = one;
    }
}

/* Polls until all connections have these numbers of completions, at most 20 s; each row has those of four queues. */
static void await(struct connection *all, int connections, const int (*counts)[4]) {
  double end = now() + 20;
  for (int at = 0; at < 4 * connections;) {
    struct side *side = &all[at / 4].side[at % 4 / 2];
    poll(side);
    if (side->count[at % 2] >= counts[at / 4][at % 4])
      at++;
    else if (now() > end)
      fail("a completion is missing of queue", at);
  }
}

static void expect_completion(struct side *side, int kind, int at, uint64_t wr_id, unsigned status, unsigned opcode, unsigned byte_len,
                              unsigned immediate) {
  const struct completion *found = &side->found[kind][at];
  check(at < side->count[kind] && found->wr_id == wr_id, "another request is completed");
  if (found->status != status) fail("a wrong status", found->status);
  if (found->opcode != opcode) fail("a wrong opcode", found->opcode);
  if (found->byte_len != byte_len) fail("a wrong length", found->byte_len);
  if (found->immediate != immediate) fail("wrong immediate data", found->immediate);
}

static void expect_state(struct side *side, enum ibv_qp_state state, int sends, int receives) {
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  if (side->count[0] != sends || side->count[1] != receives) fail("too many completions", side->count[0] + side->count[1]);
  check(ibv_query_qp(side->qp, &attr, IBV_QP_STATE, &init) == 0, "ibv_query_qp");
  if (attr.qp_state != state) fail("a wrong state", attr.qp_state);
}

static void expect(const unsigned char *region, unsigned offset, const unsigned char *bytes, unsigned length) {
  for (unsigned place = 0; place < length; place++)
    if (region[offset + place] != bytes[place]) fail("a wrong byte of a region at", (long)(offset + place));
}

