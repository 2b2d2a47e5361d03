/* A load for memcached: gets and sets over several connections to 127.0.0.1, from one thread.
 *
 *   memload PORT fill|run [connections=8] [depth=4] [keys=100000] [gets=90] [least=100] [most=1024] [ms=3000]
 *
 * fill stores every key once. run sends, on each connection, batches of `depth` requests, a batch when the last one is
 * answered: `gets` in a hundred are gets, keys are chosen with a preference for some (the cube of a uniform number), values
 * have `least` to `most` bytes, always the same number for a key. Every answer is checked to be a whole one of the length
 * it must have. Prints one line of JSON; ends with 1 when an answer was wrong, with 3 after ten times the time.
 *
 * It asks for answers again and again and never sleeps. If it did, the server would have to wake it, which is work of the
 * kernel that the server's time is charged with, and the more often the slower the server is: two servers would differ by
 * more than what they do. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 64, MOST_DEPTH = 32, MOST_VALUE = 4096, BUFFER = MOST_DEPTH * (MOST_VALUE + 128) };

static struct {
    unsigned connections, depth, keys, gets, least, most, ms;
} options = {8, 4, 100000, 90, 100, 1024, 3000};

typedef struct {
    int fd;
    char out[BUFFER], in[BUFFER];
    size_t out_length, sent, in_length;
    unsigned asked[MOST_DEPTH]; /* the keys of the batch, with SET_BIT for a set */
    unsigned batch, answered;
} connection_t;

#define SET_BIT 0x80000000u

static connection_t *connections;
static char filler[MOST_VALUE];
static uint64_t chance = 20231115;
static uint64_t gets, sets, hits;
static unsigned next_to_fill;
static bool filling;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "memload: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t draw(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance;
}

static unsigned draw_key(void)
{
    double uniform = (double)(draw() >> 11) * 0x1p-53;
    return (unsigned)(uniform * uniform * uniform * options.keys);
}

static unsigned value_length(unsigned key)
{
    return options.least + (unsigned)((key * 2654435761u) % (options.most - options.least + 1));
}

static void ask_set(connection_t *c, unsigned key)
{
    unsigned length = value_length(key);
    c->out_length += (size_t)sprintf(c->out + c->out_length, "set key:%026u 0 0 %u\r\n", key, length);
    memcpy(c->out + c->out_length, filler, length);
    memcpy(c->out + c->out_length + length, "\r\n", 2);
    c->out_length += length + 2;
}

static void ask(connection_t *c, bool is_set, unsigned key)
{
    c->asked[c->batch++] = is_set ? key | SET_BIT : key;
    if (is_set) {
        ask_set(c, key);
    } else {
        c->out_length += (size_t)sprintf(c->out + c->out_length, "get key:%026u\r\n", key);
    }
}

static void begin_batch(connection_t *c)
{
    c->batch = c->answered = 0;
    c->out_length = c->sent = c->in_length = 0;
    for (unsigned i = 0; i < options.depth; i++) {
        if (!filling) {
            ask(c, draw() % 100 >= options.gets, draw_key());
        } else if (next_to_fill < options.keys) {
            ask(c, true, next_to_fill++);
        }
    }
}

/* The length of the first answer in text if it is all there, or 0. */
static size_t answer_length(const char *text, size_t length, unsigned asked)
{
    const char *end = memchr(text, '\n', length);
    if (end == NULL) {
        return 0;
    }
    size_t line = (size_t)(end - text) + 1;
    if ((asked & SET_BIT) != 0) {
        if (line != 8 || memcmp(text, "STORED\r\n", 8) != 0) {
            give_up("a set was not answered with STORED");
        }
        sets++;
        return line;
    }
    if (line == 5 && memcmp(text, "END\r\n", 5) == 0) {
        gets++;
        return line;
    }
    char expected[96];
    int size = snprintf(expected, sizeof expected, "VALUE key:%026u 0 %u\r\n", asked, value_length(asked));
    if (line != (size_t)size || memcmp(text, expected, line) != 0) {
        give_up("a get was answered with another key, length or error");
    }
    size_t whole = line + value_length(asked) + 7;
    if (length < whole) {
        return 0;
    }
    if (memcmp(text + whole - 7, "\r\nEND\r\n", 7) != 0 || memcmp(text + line, filler, value_length(asked)) != 0) {
        give_up("a value came back changed");
    }
    gets++;
    hits++;
    return whole;
}

static void take_answers(connection_t *c)
{
    size_t taken = 0;
    while (c->answered < c->batch) {
        size_t length = answer_length(c->in + taken, c->in_length - taken, c->asked[c->answered]);
        if (length == 0) {
            break;
        }
        taken += length;
        c->answered++;
    }
    memmove(c->in, c->in + taken, c->in_length - taken);
    c->in_length -= taken;
}

static void send_more(connection_t *c)
{
    while (c->sent < c->out_length) {
        ssize_t n = send(c->fd, c->out + c->sent, c->out_length - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EAGAIN || errno == EINTR) {
                return;
            }
            give_up("send failed");
        }
        c->sent += (size_t)n;
    }
}

static void receive(connection_t *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_length, sizeof c->in - c->in_length, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        give_up("the server closed a connection");
    }
    if (n > 0) {
        c->in_length += (size_t)n;
        take_answers(c);
    }
}

static void open_connection(connection_t *c, int poll, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        give_up("cannot connect");
    }
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event) != 0) {
        give_up("epoll_ctl failed");
    }
}

/* True while the connection has answers to come. */
static bool serve(connection_t *c, bool time_is_up)
{
    send_more(c);
    receive(c);
    if (c->answered < c->batch) {
        return true;
    }
    if (time_is_up) {
        return false;
    }
    begin_batch(c);
    send_more(c);
    return c->batch > 0;
}

static double drive(int poll)
{
    double began = now();
    unsigned open = options.connections;
    bool done[MOST_CONNECTIONS] = {false};
    for (unsigned i = 0; i < options.connections; i++) {
        begin_batch(&connections[i]);
        send_more(&connections[i]);
    }
    while (open > 0) {
        struct epoll_event events[MOST_CONNECTIONS];
        int count = epoll_wait(poll, events, MOST_CONNECTIONS, 0);
        double passed = now() - began;
        if (passed > 0.01 * options.ms + 60) {
            fprintf(stderr, "memload: the server does not answer\n");
            exit(3);
        }
        for (int i = 0; i < count; i++) {
            connection_t *c = events[i].data.ptr;
            size_t index = (size_t)(c - connections);
            if (!done[index] && !serve(c, !filling && passed >= 0.001 * options.ms)) {
                done[index] = true;
                open--;
            }
        }
    }
    return now() - began;
}

static void read_option(const char *word)
{
    struct {
        const char *name;
        unsigned *value, least, most;
    } known[] = {{"connections=", &options.connections, 1, MOST_CONNECTIONS},
                 {"depth=", &options.depth, 1, MOST_DEPTH},
                 {"keys=", &options.keys, 1, 100000000},
                 {"gets=", &options.gets, 0, 100},
                 {"least=", &options.least, 1, MOST_VALUE},
                 {"most=", &options.most, 1, MOST_VALUE},
                 {"ms=", &options.ms, 1, 600000}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(word, known[i].name, length) == 0) {
            unsigned long value = strtoul(word + length, NULL, 10);
            if (value < known[i].least || value > known[i].most) {
                give_up("an option is out of bounds");
            }
            *known[i].value = (unsigned)value;
            return;
        }
    }
    give_up("unknown option");
}

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[2], "fill") != 0 && strcmp(argv[2], "run") != 0)) {
        give_up("usage: memload PORT fill|run [NAME=VALUE...]");
    }
    for (int i = 3; i < argc; i++) {
        read_option(argv[i]);
    }
    if (options.least > options.most) {
        give_up("least is above most");
    }
    filling = strcmp(argv[2], "fill") == 0;
    memset(filler, 'v', sizeof filler);
    connections = calloc(options.connections, sizeof *connections);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (connections == NULL || poll < 0) {
        give_up("no memory");
    }
    for (unsigned i = 0; i < options.connections; i++) {
        open_connection(&connections[i], poll, (uint16_t)strtoul(argv[1], NULL, 10));
    }
    double seconds = drive(poll);
    printf("{\"operations\": %llu, \"seconds\": %.6f, \"gets\": %llu, \"hits\": %llu, \"sets\": %llu}\n",
           (unsigned long long)(gets + sets), seconds, (unsigned long long)gets, (unsigned long long)hits,
           (unsigned long long)sets);
    return 0;
}
