/* Functions of the program: queue pairs of reliable connections, in one process on one adapter. */

#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Not all programs use all functions. */
#pragma GCC diagnostic ignored "-Wunused-function"

static struct ibv_context *context;
static struct ibv_pd *pd;
static union ibv_gid gid;
static struct ibv_port_attr port;
static const char *step = "begin";

static void fail(const char *what, long found) {
  printf("%s: %s: %ld\n", step, what, found);
  exit(1);
}

static void check(int ok, const char *what) {
  if (!ok) fail(what, 0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static unsigned char pattern(unsigned message, unsigned place) {
  return (unsigned char)((message * 31u + place * 7u) % 255u + 1u);
}

static void open_adapter(const char *name) {
  int count = 0;
  struct ibv_device **devices = ibv_get_device_list(&count);
  check(devices != NULL && count > 0, "no adapter");
  for (int at = 0; at < count; at++)
    if (context == NULL && (name == NULL || strcmp(name, ibv_get_device_name(devices[at])) == 0))
      context = ibv_open_device(devices[at]);
  check(context != NULL, "no such adapter");
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  check(pd != NULL, "ibv_alloc_pd");
  check(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
  /* The last identifier of the table that is set: on RoCE one of version 2. */
  for (int at = 0; at < port.gid_tbl_len; at++) {
    union ibv_gid other;
    if (ibv_query_gid(context, 1, at, &other) == 0 && other.global.interface_id != 0) {
      gid = other;
      port.qkey_viol_cntr = (uint16_t)at; /* its place */
    }
  }
}

static void init_qp(struct ibv_qp *qp, unsigned access) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  check(ibv_modify_qp(qp, &attr, mask) == 0, "to INIT");
}

static void connect_qp(struct ibv_qp *qp, const struct ibv_qp *peer, enum ibv_mtu mtu, uint32_t psn, uint8_t rd_atomic, uint8_t retry,
                       uint8_t rnr_retry) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = peer->qp_num, .rq_psn = psn,
                             .max_dest_rd_atomic = rd_atomic, .min_rnr_timer = 12};
  attr.ah_attr.port_num = 1;
  attr.ah_attr.dlid = port.lid;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
    attr.ah_attr.grh.sgid_index = (uint8_t)port.qkey_viol_cntr;
    attr.ah_attr.grh.hop_limit = 64;
  }
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER;
  check(ibv_modify_qp(qp, &attr, mask) == 0, "to RTR");
  struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .timeout = 15, .retry_cnt = retry, .rnr_retry = rnr_retry, .sq_psn = psn,
                             .max_rd_atomic = rd_atomic};
  mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  check(ibv_modify_qp(qp, &send, mask) == 0, "to RTS");
}

