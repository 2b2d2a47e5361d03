/*
 * server: workers handle requests; what a request allocated is partly freed by its worker, partly by the next one.
 *
 * Worker i hands its answered requests to worker i+1, as a server hands replies to the thread that sends them. Each
 * worker also keeps sessions that live much longer than requests, so pages mix short and long lives.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"
#include "workloads.h"

enum {
    WORKERS = 4,
    SESSIONS = 4000,
    SESSION_LEAST = 64,
    SESSION_SPREAD = 1024,
    SESSION_PERIOD = 8, /* one request in so many replaces a session */
    HEADERS = 6,
    HEADERS_LOCAL = 3, /* freed by the worker that parsed them */
    SENDS_PER_REQUEST = 2,
};

typedef struct {
    unsigned char *blob;
    uint32_t size;
} session_t;

typedef struct {
    char *header[HEADERS];
    unsigned char *body;
    unsigned char *reply;
    uint32_t body_size;
    uint32_t reply_size;
    uint32_t session_size;
    unsigned char tag;
} request_t;

/* done is set by the producer of the ring after its last push. */
typedef struct {
    pfa_ring_t ring;
    _Alignas(64) _Atomic bool done;
} link_t;

static void open_session(pfa_worker_t *w, session_t *s)
{
    s->size = SESSION_LEAST + pfa_bench_below(&w->rng, SESSION_SPREAD);
    s->blob = pfa_bench_need(malloc(s->size));
    memset(s->blob, (int)(s->size & 0xff), s->size);
}

static void close_session(pfa_worker_t *w, session_t *s)
{
    pfa_bench_check(s->blob, s->size, (unsigned char)s->size);
    w->checksum += s->size;
    free(s->blob);
}

static void parse_headers(pfa_worker_t *w, request_t *r)
{
    for (unsigned i = 0; i < HEADERS; i++) {
        uint32_t size = 8 + pfa_bench_below(&w->rng, 80);
        r->header[i] = pfa_bench_need(malloc(size + 1));
        memset(r->header[i], 'a' + (int)i, size);
        r->header[i][size] = '\0';
    }
}

static void read_body(pfa_worker_t *w, request_t *r)
{
    r->body_size = (256u << pfa_bench_below(&w->rng, 6)) + pfa_bench_below(&w->rng, 256); /* up to 8 KiB and a bit */
    r->body = pfa_bench_need(malloc(r->body_size));
    for (uint32_t i = 0; i < r->body_size; i += 64) {
        r->body[i] = r->tag;
    }
    pfa_bench_mark(r->body, r->body_size, r->tag);
}

static void write_reply(pfa_worker_t *w, request_t *r)
{
    uint32_t size = 512;
    r->reply = pfa_bench_need(malloc(size));
    memset(r->reply, r->tag, size);
    r->reply_size = size + pfa_bench_below(&w->rng, 4096);
    r->reply = pfa_bench_need(realloc(r->reply, r->reply_size));
    for (uint32_t i = size; i < r->reply_size; i += 64) {
        r->reply[i] = r->tag;
    }
    r->reply[r->reply_size - 1] = r->tag;
}

static request_t *handle(pfa_worker_t *w, uint64_t number)
{
    request_t *r = pfa_bench_need(calloc(1, sizeof *r));
    session_t *session = (session_t *)w->state + pfa_bench_below(&w->rng, SESSIONS);
    r->tag = (unsigned char)number;
    parse_headers(w, r);
    read_body(w, r);
    if (number % SESSION_PERIOD == 0) {
        close_session(w, session);
        open_session(w, session);
        w->ops++;
    }
    r->session_size = session->size;
    write_reply(w, r);
    for (unsigned i = 0; i < HEADERS_LOCAL; i++) {
        w->checksum += strlen(r->header[i]);
        free(r->header[i]);
    }
    w->ops += 4 + HEADERS;
    return r;
}

static void send_away(pfa_worker_t *w, request_t *r)
{
    pfa_bench_check(r->body, r->body_size, r->tag);
    pfa_bench_check(r->reply, r->reply_size, r->tag);
    for (unsigned i = HEADERS_LOCAL; i < HEADERS; i++) {
        w->checksum += (uint64_t)r->header[i][0];
        free(r->header[i]);
    }
    w->checksum += (uint64_t)r->body_size + r->reply_size + r->session_size + r->tag;
    free(r->body);
    free(r->reply);
    free(r);
}

static unsigned send_some(pfa_worker_t *w, link_t *inbox, unsigned most)
{
    unsigned sent = 0;
    void *item;
    while (sent < most && pfa_ring_pop(&inbox->ring, &item)) {
        send_away(w, item);
        sent++;
    }
    return sent;
}

static void setup(pfa_worker_t *w)
{
    session_t *session = w->state;
    for (unsigned i = 0; i < SESSIONS; i++) {
        open_session(w, &session[i]);
    }
}

static void work(pfa_worker_t *w)
{
    link_t *links = w->shared;
    link_t *outbox = &links[w->index];
    link_t *inbox = &links[(w->index + w->workers - 1) % w->workers];
    for (uint64_t i = 0; i < w->rounds; i++) {
        request_t *r = handle(w, i);
        while (!pfa_ring_push(&outbox->ring, r)) {
            if (send_some(w, inbox, PFA_RING_SLOTS) == 0) {
                sched_yield();
            }
        }
        send_some(w, inbox, SENDS_PER_REQUEST);
    }
    /* Pairs with the acquire below: whoever sees done also sees every push. */
    atomic_store_explicit(&outbox->done, true, memory_order_release);
    for (;;) {
        bool last = atomic_load_explicit(&inbox->done, memory_order_acquire);
        if (send_some(w, inbox, PFA_RING_SLOTS) == 0) {
            if (last) {
                break;
            }
            sched_yield();
        }
    }
}

static void teardown(pfa_worker_t *w)
{
    session_t *session = w->state;
    for (unsigned i = 0; i < SESSIONS; i++) {
        close_session(w, &session[i]);
    }
}

const pfa_workload_t pfa_workload_server = {
    .name = "server",
    .what = "four workers answer requests, freed by the next worker; long-lived sessions beside them",
    .workers = WORKERS,
    .rounds = 250000,
    .state_bytes = SESSIONS * sizeof(session_t),
    .shared_bytes = WORKERS * sizeof(link_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
