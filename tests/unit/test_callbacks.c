/* The callbacks of plain accesses: each name that compilers call notes what it stands for, nothing outside the range. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

typedef void callback_t(void *address);
typedef void callback_pc_t(void *address, void *pc);

/* Every line of the table, by five sizes. */
#define DECLARE(name)                                                                                                  \
    callback_t __tsan_##name##1, __tsan_##name##2, __tsan_##name##4, __tsan_##name##8, __tsan_##name##16;
#define PFA_CALLBACKS(name, counts) DECLARE(name)
#define PFA_CALLBACKS_LIKE(name, other) DECLARE(name)
#include "hooks/access/callbacks.def"

static const struct {
    const char *name;
    callback_t *call[5];
} table[] = {
#define ROW(name) {#name, {__tsan_##name##1, __tsan_##name##2, __tsan_##name##4, __tsan_##name##8, __tsan_##name##16}},
#define PFA_CALLBACKS(name, counts) ROW(name)
#define PFA_CALLBACKS_LIKE(name, other) ROW(name)
#include "hooks/access/callbacks.def"
};

/* What a callback counts follows from its name, not from what the table says. */
static uint64_t counts_of(const char *name)
{
    return (strstr(name, "read") != NULL ? PFA_ACCESS_READ : 0) +
           (strstr(name, "write") != NULL ? PFA_ACCESS_WRITE : 0);
}

static void every_size_of_every_name(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof table / sizeof table[0]; row++) {
        for (size_t i = 0; i < 5; i++) {
            size_t size = (size_t)1 << i;
            watch();
            table[row].call[i](range + 3);
            expect({3, size, counts_of(table[row].name)});
            expect_errno_kept();
        }
    }
}

static void nothing_outside_the_range(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof table / sizeof table[0]; row++) {
        for (size_t i = 0; i < 5; i++) {
            watch();
            table[row].call[i](outside);
            table[row].call[i](range - 1);
            table[row].call[i](range + ROOM);
            table[row].call[i](NULL);
            expect_nothing();
        }
    }
}

static void the_range_has_two_ends(void **state)
{
    (void)state;
    watch();
    __tsan_read1(range);
    __tsan_write16(range + ROOM - 1);
    expect(R(0, 1), W(ROOM - 1, 16));
}

static void nothing_while_nothing_is_recorded(void **state)
{
    (void)state;
    pfa_access_view.span = 0;
    watch();
    __tsan_read1(range);
    memcpy(range, range + 8, 8);
    expect_nothing();
    pfa_access_view.span = ROOM;
}

callback_pc_t __tsan_read1_pc, __tsan_read2_pc, __tsan_read4_pc, __tsan_read8_pc, __tsan_read16_pc;
callback_pc_t __tsan_write1_pc, __tsan_write2_pc, __tsan_write4_pc, __tsan_write8_pc, __tsan_write16_pc;

static void with_a_place_in_the_code(void **state)
{
    (void)state;
    callback_pc_t *reads[] = {__tsan_read1_pc, __tsan_read2_pc, __tsan_read4_pc, __tsan_read8_pc, __tsan_read16_pc};
    callback_pc_t *writes[] = {__tsan_write1_pc, __tsan_write2_pc, __tsan_write4_pc, __tsan_write8_pc,
                               __tsan_write16_pc};
    for (size_t i = 0; i < 5; i++) {
        watch();
        reads[i](range + 32, outside);
        writes[i](range + 64, outside);
        expect(R(32, (size_t)1 << i), W(64, (size_t)1 << i));
    }
}

void __tsan_read_range(void *address, uint64_t size);
void __tsan_write_range(void *address, uint64_t size);
void __tsan_read_range_pc(void *address, uint64_t size, void *pc);
void __tsan_write_range_pc(void *address, uint64_t size, void *pc);

static void ranges(void **state)
{
    (void)state;
    watch();
    __tsan_read_range(range + 5, 100);
    __tsan_write_range(range + 7, 1);
    __tsan_read_range_pc(range + 9, 33, outside);
    __tsan_write_range_pc(range + 11, ROOM, outside);
    expect(R(5, 100), W(7, 1), R(9, 33), W(11, ROOM));
    watch();
    __tsan_read_range(range, 0);
    __tsan_write_range(range, 0);
    __tsan_read_range(outside, 8);
    expect_nothing();
}

void __tsan_vptr_read(void **address);
void __tsan_vptr_update(void **address, void *value);

/* Stored again or changed: a store is a store. The callback itself stores nothing, the compiler's code does. */
static void virtual_tables(void **state)
{
    (void)state;
    void **place = (void **)(range + 128);
    *place = outside;
    watch();
    __tsan_vptr_read(place);
    __tsan_vptr_update(place, outside);
    __tsan_vptr_update(place, range);
    expect(R(128, 8), W(128, 8), W(128, 8));
    assert_ptr_equal(*place, outside);
}

callback_t __sanitizer_cov_load1, __sanitizer_cov_load2, __sanitizer_cov_load4, __sanitizer_cov_load8,
    __sanitizer_cov_load16;
callback_t __sanitizer_cov_store1, __sanitizer_cov_store2, __sanitizer_cov_store4, __sanitizer_cov_store8,
    __sanitizer_cov_store16;

static void loads_and_stores_of_coverage(void **state)
{
    (void)state;
    callback_t *loads[] = {__sanitizer_cov_load1, __sanitizer_cov_load2, __sanitizer_cov_load4, __sanitizer_cov_load8,
                           __sanitizer_cov_load16};
    callback_t *stores[] = {__sanitizer_cov_store1, __sanitizer_cov_store2, __sanitizer_cov_store4,
                            __sanitizer_cov_store8, __sanitizer_cov_store16};
    for (size_t i = 0; i < 5; i++) {
        watch();
        loads[i](range + 16);
        stores[i](range + 48);
        loads[i](outside);
        stores[i](outside);
        expect(R(16, (size_t)1 << i), W(48, (size_t)1 << i));
    }
}

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
int RunningOnValgrind(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_acquire(void *address);

/* Accesses that ThreadSanitizer is told to ignore count like others. */
static void what_means_nothing_here(void **state)
{
    (void)state;
    watch();
    __tsan_init();
    __tsan_func_entry(range);
    __tsan_ignore_thread_begin();
    __tsan_read2(range);
    __tsan_ignore_thread_end();
    __tsan_func_exit();
    AnnotateHappensBefore(__FILE__, __LINE__, range);
    __tsan_acquire(range);
    expect(R(0, 2));
    assert_int_equal(RunningOnValgrind(), 0);
    assert_non_null(__tsan_create_fiber(0));
}

static const char *heard;

/* A program's own definition is the one that is called: the archive's is weak. */
void AnnotateThreadName(const char *file, int line, const char *name);
void AnnotateThreadName(const char *file, int line, const char *name)
{
    (void)file;
    (void)line;
    heard = name;
}

static void annotations_give_way(void **state)
{
    (void)state;
    AnnotateThreadName(__FILE__, __LINE__, "worker");
    assert_string_equal(heard, "worker");
}

static void the_module_is_attached_once(void **state)
{
    (void)state;
    assert_int_equal(attached, 1);
    assert_int_equal(profalloc_instrumented, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_of_every_name),
        cmocka_unit_test(nothing_outside_the_range),
        cmocka_unit_test(the_range_has_two_ends),
        cmocka_unit_test(nothing_while_nothing_is_recorded),
        cmocka_unit_test(with_a_place_in_the_code),
        cmocka_unit_test(ranges),
        cmocka_unit_test(virtual_tables),
        cmocka_unit_test(loads_and_stores_of_coverage),
        cmocka_unit_test(what_means_nothing_here),
        cmocka_unit_test(annotations_give_way),
        cmocka_unit_test(the_module_is_attached_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
