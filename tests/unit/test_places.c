/* Where the records of regions lie: close together, nobody's over another's, and with room on the disk. */
#include "alloc/inherit.h"
#include "meta/depot.h"
#include "alloc/places.h"
#include "alloc/region.h"
#include "base/options.h"
#include "meta/extents.h"
#include "tests/unit/allocator.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { SLICES = 64, LEAD_MAX = 26 };

typedef struct place {
    uintptr_t begin;
    uintptr_t records;
    uintptr_t end;
} place_t;

static place_t get_place(uint64_t slice, uint64_t before, uint64_t count)
{
    pfa_record_t *records = NULL;
    must(pfa_places_get(slice, (pfa_need_t){before, count}, &records) == 0);
    uintptr_t at = (uintptr_t)records;
    return (place_t){at - before * pfa_range_record_size(), at, at + count * pfa_range_record_size()};
}

static void be_each_in_its_place(void)
{
    static place_t places[SLICES];
    uint64_t seed = 7;
    allocator_start(256 * MIB, 256 * MIB);
    for (int round = 0; round < 20000; round++) {
        uint64_t slice = random_below(&seed, SLICES);
        /* Mostly few records, at times as many as there can be. */
        uint64_t most = PFA_RECORDS_PER_SLICE >> random_below(&seed, 10);
        uint64_t before = random_below(&seed, LEAD_MAX + 1);
        place_t place = get_place(slice, before, 1 + random_below(&seed, most));
        must(place.records % pfa_range_record_size() == 0);
        for (uint64_t other = 0; other < SLICES; other++) {
            must(other == slice || place.end <= places[other].begin || place.begin >= places[other].end);
        }
        places[slice] = place;
        memset((void *)place.begin, (int)slice + 1, place.end - place.begin);
        /* As far as any word reaches there are records, whoever's they are. */
        const volatile char *first = (const char *)place.records - LEAD_MAX * pfa_range_record_size();
        const volatile char *last = (const char *)place.records + PFA_RECORDS_PER_SLICE * pfa_range_record_size() - 1;
        (void)(*first + *last);
    }
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        for (uintptr_t at = places[slice].begin; at < places[slice].end; at++) {
            must(*(const char *)at == (char)(slice + 1));
        }
    }
}
RUN_IN_CHILD(be_each_in_its_place)

static void share_pages(void)
{
    enum { BEFORE = 9, COUNT = 1358 }; /* a region of 48 byte slots */
    allocator_start(256 * MIB, 256 * MIB);
    place_t first = get_place(3, BEFORE, COUNT);
    place_t last = first;
    for (uint64_t slice = 4; slice < 16; slice++) {
        place_t next = get_place(slice, BEFORE, COUNT);
        must(next.begin == last.end);
        last = next;
    }
    /* A smaller one stays where it is, and so does one that comes back; a bigger one only if nobody is behind it. */
    must(get_place(3, 1, 70).begin == first.begin && get_place(3, BEFORE, COUNT).begin == first.begin);
    must(get_place(15, BEFORE, COUNT + 1).begin == last.begin);
    must(get_place(3, BEFORE, COUNT + 1).begin == last.end + pfa_range_record_size());
    /* Those that find the shared part full have a home, and keep it. */
    place_t home = get_place(0, 0, PFA_RECORDS_PER_SLICE);
    (void)get_place(1, BEFORE, COUNT);
    (void)get_place(2, BEFORE, COUNT);
    must(get_place(0, BEFORE, COUNT).records == home.records && get_place(0, 0, 1400).records == home.records);
}
RUN_IN_CHILD(share_pages)

static char path[64];

static struct stat look_at_file(void)
{
    struct stat status;
    must(stat(path, &status) == 0);
    return status;
}

/* Room that were missing for the records of a chunk's region would be taken now. */
static void store_to_records(const void *chunk)
{
    pfa_page_geometry_t page;
    pfa_backing_geometry(chunk, &page);
    struct stat before = look_at_file();
    uint64_t end = ((page.start - pfa_range.base) & ~(uint64_t)0xffff) + ((uint64_t)page.slices << PFA_SLICE_SHIFT);
    for (uint64_t at = page.start - pfa_range.base; at < end; at += page.slot_size) {
        volatile uint64_t *time = &pfa_region_place(at).record->alloc_time;
        *time = *time;
    }
    struct stat after = look_at_file();
    must(before.st_blocks == after.st_blocks);
    must((uint64_t)after.st_size == pfa_load_relaxed(&pfa_extents_head->file_size));
}

static void choose_path(void)
{
    (void)snprintf(path, sizeof path, "places.%d.live", (int)getpid());
    (void)unlink(path);
    strcpy(pfa_options.live, "beside");
}

static void have_room_in_a_child(void)
{
    enum { CHUNKS = 20000, SIZES = 5 };
    static const size_t sizes[SIZES] = {16, 48, 200, 1000, 20000};
    static void *chunks[SIZES][CHUNKS];
    choose_path();
    allocator_start(2 * GIB, 2 * GIB);
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < CHUNKS; j++) {
            chunks[i][j] = chunk_of(sizes[i]);
            must(chunks[i][j] != NULL);
        }
    }
    must(pfa_inherit(path) == 0 && pfa_extents_shared());
    must(strcmp(pfa_extents_path(), path) == 0);
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < CHUNKS; j += 50) {
            store_to_records(chunks[i][j]);
        }
    }
    uint64_t bytes = SIZES * CHUNKS * pfa_range_record_size();
    uint64_t taken = (uint64_t)look_at_file().st_blocks * 512;
    (void)unlink(path);
    must(taken >= bytes && taken < bytes + bytes / 4 + 4 * MIB);
}
RUN_IN_CHILD(have_room_in_a_child)

/* The same slices with ever other slots: what they leave is given back, what they come back to has room again. */
static void have_room_after_changes(void)
{
    enum { CHUNKS = 100000 };
    static const size_t sizes[] = {16, 32, 48, 16, 64, 48, 1000, 48, 20000, 16, 48, 80};
    static void *chunks[CHUNKS];
    choose_path();
    must(pfa_extents_open(path) == 0 && pfa_extents_shared());
    allocator_start(4 * GIB, 2 * GIB);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t count = sizes[i] > 1000 ? CHUNKS / 10 : CHUNKS;
        const void *last = NULL;
        for (size_t j = 0; j < count; j++) {
            chunks[j] = chunk_of(sizes[i]);
            must(chunks[j] != NULL);
            const void *records = pfa_range.slices[((uintptr_t)chunks[j] - pfa_range.base) >> PFA_SLICE_SHIFT].records;
            if (records != last) { /* a region that is new, mostly */
                store_to_records(chunks[j]);
            }
            last = records;
        }
        for (size_t j = 0; j < count; j++) {
            must(free_chunk(chunks[j]) == PFA_CHUNK_LIVE);
        }
        (void)pfa_backing_trim();
    }
    (void)unlink(path);
}
RUN_IN_CHILD(have_room_after_changes)

static char *make_folder(void)
{
    static char folder[] = "/dev/shm/profalloc-test-XXXXXX";
    must(mkdtemp(folder) != NULL);
    strcpy(pfa_options.live, folder);
    return folder;
}

/* Memory gets short in the middle: the units from there on are in the second file, those before stay, in a child too. */
static void go_on_where_memory_is_short(void)
{
    enum { CHUNKS = 400000 };
    static void *chunks[CHUNKS];
    char more[80];
    struct stat status;
    choose_path();
    char *folder = make_folder();
    pfa_options.live_size = 8 * MIB * (wide_records() ? 2 : 1);
    (void)snprintf(more, sizeof more, "%s.more", path);
    must(pfa_extents_open(path) == 0 && pfa_extents_shared());
    must(strncmp(pfa_extents_path(), folder, strlen(folder)) == 0);
    allocator_start(4 * GIB, 2 * GIB);
    for (size_t i = 0; i < CHUNKS; i++) {
        chunks[i] = chunk_of(48);
        must(chunks[i] != NULL);
    }
    must(stat(more, &status) == 0 && status.st_blocks * 512 > CHUNKS / 2 * 32 && (status.st_mode & 0777) == 0600);
    must(look_at_file().st_blocks * 512 <= (blkcnt_t)pfa_options.live_size && (look_at_file().st_mode & 0777) == 0600);
    for (size_t i = 0; i < CHUNKS; i += 3) {
        must(free_chunk(chunks[i]) == PFA_CHUNK_LIVE);
    }
    pfa_extents_unlink();
    must(access(path, F_OK) != 0 && access(more, F_OK) != 0);
    /* As a child, with memory short from the start of the records on, and then without. */
    for (int round = 0; round < 2; round++) {
        pfa_options.live_size = round == 0 ? 8 * MIB : 1 * GIB;
        must(pfa_inherit(path) == 0 && pfa_extents_shared());
        must((access(more, F_OK) == 0) == (round == 0));
        for (size_t i = 1 + (size_t)round; i < CHUNKS; i += 3) {
            must(free_chunk(chunks[i]) != PFA_CHUNK_FREED);
        }
        pfa_extents_unlink();
    }
    must(rmdir(folder) == 0);
}
RUN_IN_CHILD(go_on_where_memory_is_short)

/* A fork found other threads in the middle of adding: the extents are there, and nobody was told. */
static void know_what_was_being_made(void)
{
    enum { SLICE = 3 };
    void *memory;
    uint32_t number;
    allocator_start(256 * MIB, 256 * MIB);
    must(pfa_depot_open() == 0);
    place_t place = get_place(SLICE, 0, 10);
    pfa_record_unit_t *group = &pfa_range.units[0];
    pfa_store_relaxed(&group->records, (char *)NULL);
    pfa_store_relaxed(&group->extent, (uint16_t)0);
    pfa_store_relaxed(&group->group_extent, (uint16_t)0);
    must(pfa_extents_add(PFA_EXTENT_NODES, 1, PFA_LIVE_NODES * sizeof(pfa_live_node_t), NULL, &memory, &number) == 0);
    ((pfa_live_node_t *)memory)[3].pc = 4711;
    pfa_store_relaxed(&pfa_extents_head->node_count, PFA_LIVE_NODES + 4);
    must(pfa_inherit(NULL) == 0);
    must(pfa_depot_count() == PFA_LIVE_NODES + 4 && pfa_depot_node(PFA_LIVE_NODES + 3)->pc == 4711);
    must(get_place(SLICE, 0, 10).records == place.records);
    memset((void *)place.begin, 1, place.end - place.begin);
}
RUN_IN_CHILD(know_what_was_being_made)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_be_each_in_its_place),        cmocka_unit_test(test_share_pages),
        cmocka_unit_test(test_have_room_in_a_child),        cmocka_unit_test(test_have_room_after_changes),
        cmocka_unit_test(test_go_on_where_memory_is_short), cmocka_unit_test(test_know_what_was_being_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
