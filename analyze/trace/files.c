/* Owns the files that are read: which are open, and what is remembered of them. See analyze/trace/files.h. */
#include "analyze/trace/files.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many stay open though nobody has them. */
enum { KEPT_OPEN = 8 };

struct pfa_file {
    pfa_files_t *files;
    pfa_file_t *next;
    char *path;
    int fd; /* -1: it is closed, for want of room */
    dev_t device;
    ino_t inode;
    bool gone; /* something else has its name now */
    unsigned users;
    uint64_t last_used;
    pfa_blocks_t blocks; /* none: not known */
};

struct pfa_files {
    pfa_memory_t *memory;
    pthread_mutex_t lock; /* of all below; of ours, memory alone is locked under it */
    pfa_file_t *first;
    uint64_t uses;
};

pfa_files_t *pfa_files_new(void)
{
    pfa_files_t *files = calloc(1, sizeof *files);
    if (files == NULL) {
        return NULL;
    }
    files->memory = pfa_memory_new();
    if (files->memory == NULL) {
        free(files);
        return NULL;
    }
    pthread_mutex_init(&files->lock, NULL);
    return files;
}

static void close_file(void *object)
{
    const pfa_file_t *file = object;
    if (file->fd >= 0) {
        close(file->fd);
    }
}

void pfa_files_free(pfa_files_t *files)
{
    if (files != NULL) {
        pfa_memory_delete(files->memory);
        pthread_mutex_destroy(&files->lock);
        free(files);
    }
}

/* A file that has lost its name is closed with the last who has it. */
static void drop_gone(pfa_files_t *files)
{
    for (pfa_file_t **at = &files->first; *at != NULL;) {
        pfa_file_t *file = *at;
        if (file->gone && file->users == 0) {
            *at = file->next;
            pfa_blocks_free(&file->blocks);
            pfa_memory_free(file->path);
            pfa_memory_free(file);
        } else {
            at = &file->next;
        }
    }
}

/* Those that nobody has, the longest unused first, until so few are open. */
static void close_unused(pfa_files_t *files, size_t kept)
{
    while (true) {
        pfa_file_t *oldest = NULL;
        size_t unused = 0;
        for (pfa_file_t *file = files->first; file != NULL; file = file->next) {
            if (file->fd >= 0 && file->users == 0) {
                unused++;
                oldest = oldest == NULL || file->last_used < oldest->last_used ? file : oldest;
            }
        }
        if (unused <= kept) {
            return;
        }
        close(oldest->fd);
        oldest->fd = -1;
    }
}

static pfa_file_t *find(const pfa_files_t *files, const char *path)
{
    for (pfa_file_t *file = files->first; file != NULL; file = file->next) {
        if (!file->gone && strcmp(file->path, path) == 0) {
            return file;
        }
    }
    return NULL;
}

typedef struct taking {
    pfa_files_t *files;
    const char *path;
    pfa_file_t *file;
    int error;
} taking_t;

static int open_path(pfa_files_t *files, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == EMFILE) {
        close_unused(files, 0);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    return fd;
}

/* Opens it anew: what it was before may have changed since. */
static pfa_file_t *open_anew(taking_t *taking, pfa_file_t *known)
{
    struct stat status;
    char *path = pfa_memory_copy(taking->path, strlen(taking->path));
    pfa_file_t *file = pfa_memory_object(sizeof *file, close_file);
    file->path = path;
    file->fd = -1;
    file->fd = open_path(taking->files, taking->path);
    if (file->fd < 0 || fstat(file->fd, &status) != 0) {
        taking->error = errno;
        pfa_memory_free(file);
        pfa_memory_free(path);
        return NULL;
    }
    if (known != NULL && known->fd < 0 && known->device == status.st_dev && known->inode == status.st_ino) {
        known->fd = file->fd;
        file->fd = -1;
        pfa_memory_free(file);
        pfa_memory_free(path);
        return known;
    }
    file->files = taking->files;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    if (known != NULL) {
        known->gone = true;
    }
    file->next = taking->files->first;
    taking->files->first = file;
    return file;
}

/* Work in the arena of the files, under the lock. */
static void take(void *to)
{
    taking_t *taking = to;
    struct stat status;
    pfa_file_t *file = find(taking->files, taking->path);
    bool same = file != NULL && file->fd >= 0 && stat(taking->path, &status) == 0 && status.st_dev == file->device &&
                status.st_ino == file->inode;
    if (!same) {
        file = open_anew(taking, file);
    }
    if (file != NULL) {
        file->users++;
        file->last_used = ++taking->files->uses;
    }
    taking->file = file;
}

pfa_file_t *pfa_files_take(pfa_files_t *files, const char *path)
{
    taking_t taking = {.files = files, .path = path};
    pthread_mutex_lock(&files->lock);
    int error = pfa_memory_work(files->memory, take, &taking);
    drop_gone(files);
    pthread_mutex_unlock(&files->lock);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    errno = taking.error;
    return taking.file;
}

void pfa_files_give_back(pfa_file_t *file)
{
    pfa_files_t *files = file->files;
    pthread_mutex_lock(&files->lock);
    file->users--;
    drop_gone(files);
    close_unused(files, KEPT_OPEN);
    pthread_mutex_unlock(&files->lock);
}

int pfa_file_descriptor(const pfa_file_t *file)
{
    return file->fd; /* it stays while somebody has the file */
}

typedef struct copying {
    const pfa_blocks_t *from;
    pfa_block_t *list;
} copying_t;

static void copy_list(void *to)
{
    copying_t *copying = to;
    copying->list = pfa_memory_copy(copying->from->list, copying->from->count * sizeof *copying->list);
}

static int copy_blocks(pfa_memory_t *arena, const pfa_blocks_t *from, pfa_blocks_t *to)
{
    copying_t copying = {.from = from};
    int error = pfa_memory_work(arena, copy_list, &copying);
    if (error == 0) {
        *to = *from;
        to->list = copying.list;
        to->room = from->count;
    }
    return error;
}

bool pfa_file_recall(pfa_file_t *file, pfa_blocks_t *blocks)
{
    pthread_mutex_lock(&file->files->lock);
    bool known = file->blocks.count != 0 && pfa_blocks_are_of_same(&file->blocks, blocks);
    int error = known ? copy_blocks(pfa_memory_arena(), &file->blocks, blocks) : 0;
    pthread_mutex_unlock(&file->files->lock);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    return known;
}

void pfa_file_remember(pfa_file_t *file, const pfa_blocks_t *blocks)
{
    pfa_blocks_t copy;
    int error = copy_blocks(file->files->memory, blocks, &copy);
    if (error != 0) {
        pfa_memory_leave(error);
    }
    pthread_mutex_lock(&file->files->lock);
    pfa_blocks_free(&file->blocks);
    file->blocks = copy;
    pthread_mutex_unlock(&file->files->lock);
}
