/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fnv.h"
#include "common/table.h"

struct thing {
    UT_hash_handle hh;
    char name[16];
};

static struct thing *things;
static volatile unsigned allowed; /* allocations, before all fail; a compiler thinks that malloc() cannot see it */

static bool is_allowed(void)
{
    return allowed && allowed--;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return is_allowed() ? __real_malloc(size) : NULL;
}

/* Compilers make one of malloc() and memset(). */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return is_allowed() ? __real_calloc(count, size) : NULL;
}

static struct thing *find(const char *name)
{
    struct thing *thing;
    HASH_FIND(hh, things, name, strlen(name), thing);
    return thing;
}

static bool add(struct thing *thing, unsigned number)
{
    snprintf(thing->name, sizeof(thing->name), "%u", number);
    HASH_ADD_KEYPTR(hh, things, thing->name, strlen(thing->name), thing);
    return TABLE_HAS(thing);
}

/* Each allocation fails in turn; what was added before is still there, in its order, and more can be added later. */
static void without_memory(void **state)
{
    (void)state;
    enum { MANY = 2000, FAILURES = 5 }; /* a table of so many takes at least five allocations */
    static struct thing all[MANY];
    unsigned refused = 0;
    for (unsigned most = 0; most < FAILURES; most++) {
        memset(all, 0, sizeof(all));
        things = NULL;
        allowed = most;
        for (unsigned i = 0; i < MANY; i++) {
            if (add(&all[i], i))
                continue;
            refused++;
            allowed = MANY;
            assert_true(add(&all[i], i));
        }
        unsigned count = 0;
        for (struct thing *thing = things; thing; thing = thing->hh.next)
            assert_ptr_equal(thing, &all[count++]);
        assert_int_equal(count, MANY);
        for (unsigned i = 0; i < MANY; i++)
            assert_ptr_equal(find(all[i].name), &all[i]);
        assert_null(find("none"));
        allowed = MANY;
        HASH_CLEAR(hh, things);
    }
    assert_int_equal(refused, FAILURES);
}

static void key_of_another_process(uint64_t ret[2])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_table", "key", NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], ret, 2 * sizeof(*ret)), 2 * sizeof(*ret));
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Another process has another key, so that nobody can know beforehand which keys meet. */
static void nobody_knows_the_key(void **state)
{
    (void)state;
    const uint64_t *key = table_key();
    assert_ptr_equal(key, table_key());
    assert_true(key[0] | key[1]);
    uint64_t other[2];
    key_of_another_process(other);
    assert_memory_not_equal(key, other, sizeof(other));
    unsigned hash;
    HASH_VALUE("name", 4, hash);
    assert_int_equal(hash, (unsigned)siphash(key, "name", 4));
}

/* Values of the authors' own table: "", "a" and "foobar". */
static void known_hashes(void **state)
{
    (void)state;
    assert_true(fnv(FNV_BEGIN, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(fnv(FNV_BEGIN, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(fnv(fnv(FNV_BEGIN, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) /* key_of_another_process() */
        return write(STDOUT_FILENO, table_key(), 2 * sizeof(uint64_t)) < 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_memory), cmocka_unit_test(nobody_knows_the_key),
                                       cmocka_unit_test(known_hashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
