/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "collector/records/space.h"

static const char maps[] =
    "55d6f0a00000-55d6f0a04000 r--p 00000000 fe:00 247230                     /usr/bin/dash\n"
    "55d6f0a04000-55d6f0a17000 r-xp 00004000 fe:00 247230                     /usr/bin/dash\n"
    "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
    "7f0000002000-7f0000003000 r-xs 00001000 08:01 12                         /tmp/a b\\012c (deleted)\n"
    "garbage\n"
    "7f0000005000-7f0000004000 r-xp 00000000 08:01 12                         /tmp/backwards\n"
    "7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]";

static void add(struct space *space, uint64_t start, uint64_t size, uint64_t time_ns, const char *path)
{
    struct mapping values = {.start = start, .size = size, .time_ns = time_ns};
    struct mapping *mapping = mapping_new(&values, path);
    assert_non_null(mapping);
    assert_int_equal(space_add(space, mapping), 0);
    mapping_put(mapping);
}

static void test_maps(void **state)
{
    (void)state;
    struct space space;
    space_init(&space);
    assert_int_equal(space_add_maps(&space, maps, 5), 0);
    assert_int_equal(space_count(&space), 4);
    const struct mapping *dash = space_at(&space, 0);
    assert_string_equal(dash->path, "/usr/bin/dash");
    assert_int_equal(dash->start, 0x55d6f0a04000);
    assert_int_equal(dash->size, 0x13000);
    assert_int_equal(dash->offset, 0x4000);
    assert_int_equal(dash->maj, 0xfe);
    assert_int_equal(dash->ino, 247230);
    assert_int_equal(dash->prot, PROT_READ | PROT_EXEC);
    assert_int_equal(dash->flags, MAP_PRIVATE);
    assert_int_equal(dash->time_ns, 5);
    assert_string_equal(space_at(&space, 1)->path, "//anon");
    assert_int_equal(space_at(&space, 1)->prot, PROT_READ | PROT_WRITE | PROT_EXEC);
    assert_string_equal(space_at(&space, 2)->path, "/tmp/a b\nc (deleted)");
    assert_int_equal(space_at(&space, 2)->flags, MAP_SHARED);
    assert_string_equal(space_at(&space, 3)->path, "[vdso]");
    space_release(&space);
    assert_int_equal(space_add_maps(&space, "", 0), 0);
    assert_int_equal(space_count(&space), 0);
}

/* Mappings of data are there if they are wanted, and are never the code at an address. */
static void test_data(void **state)
{
    (void)state;
    struct space space, copy;
    space_init(&space);
    space.data = true;
    assert_int_equal(space_add_maps(&space, maps, 5), 0);
    assert_int_equal(space_count(&space), 5);
    const struct mapping *headers = space_at(&space, 0);
    assert_string_equal(headers->path, "/usr/bin/dash");
    assert_int_equal(headers->prot, PROT_READ);
    assert_true(headers->data && !space_at(&space, 1)->data);
    assert_null(space_find(&space, 0x55d6f0a00000, NULL, NULL));
    assert_non_null(space_find(&space, 0x55d6f0a04000, NULL, NULL));
    struct mapping values = {
        .start = 0x55d6f0a04000, .size = 0x13000, .offset = 0x4000, .maj = 0xfe, .ino = 247230, .time_ns = 6};
    struct mapping *code = mapping_new(&values, "/usr/bin/dash");
    assert_true(space_knows(&space, code) && space_has(&space, code, true));
    values.data = true;
    struct mapping *data = mapping_new(&values, "/usr/bin/dash");
    assert_false(space_knows(&space, data) || space_has(&space, data, true));
    assert_int_equal(space_fork(&space, 9, &copy), 0);
    assert_true(copy.data);
    /* In place of code. */
    assert_int_equal(space_add(&space, data), 0);
    assert_int_equal(space_count(&space), 5);
    assert_null(space_find(&space, 0x55d6f0a04000, NULL, NULL));
    assert_false(space_knows(&space, code));
    mapping_put(code);
    mapping_put(data);
    space_release(&copy);
    space_release(&space);
}

static void test_newer_covers_older(void **state)
{
    (void)state;
    struct space space;
    space_init(&space);
    add(&space, 0x1000, 0x1000, 1, "a");
    add(&space, 0x3000, 0x1000, 2, "b");
    add(&space, 0x0, 0x2000, 3, "c");
    assert_int_equal(space_count(&space), 2);
    assert_string_equal(space_at(&space, 0)->path, "b");
    assert_string_equal(space_at(&space, 1)->path, "c");
    add(&space, 0x3800, 0x1000, 4, "d"); /* covers a part: both stay, the newer one last */
    assert_int_equal(space_count(&space), 3);
    add(&space, 0x3000, 0x1000, 1, "e"); /* told late: it is the older one */
    assert_int_equal(space_count(&space), 4);
    add(&space, UINT64_MAX - 0xfff, 0xfff, 9, "end");
    add(&space, UINT64_MAX - 0xfff, 0xfff, 9, "end again");
    assert_int_equal(space_count(&space), 5);
    space_release(&space);
}

static void test_fork_shares(void **state)
{
    (void)state;
    struct space parent, child, grandchild;
    space_init(&parent);
    add(&parent, 0x1000, 0x1000, 1, "a");
    assert_int_equal(space_fork(&parent, 5, &child), 0);
    assert_ptr_equal(parent.list, child.list);
    assert_int_equal(space_fork(&child, 5, &grandchild), 0);
    add(&child, 0x5000, 0x1000, 6, "b");
    assert_int_equal(space_count(&parent), 1);
    assert_int_equal(space_count(&child), 2);
    assert_int_equal(space_count(&grandchild), 1);
    space_release(&parent);
    add(&grandchild, 0x1000, 0x1000, 7, "c");
    assert_string_equal(space_at(&child, 0)->path, "a");
    assert_string_equal(space_at(&grandchild, 0)->path, "c");
    space_release(&child);
    space_release(&grandchild);
}

/* What the parent mapped after the fork is not in the child. */
static void test_fork_is_of_its_time(void **state)
{
    (void)state;
    struct space parent, child;
    space_init(&parent);
    add(&parent, 0x1000, 0x1000, 1, "a");
    add(&parent, 0x3000, 0x1000, 10, "later");
    assert_int_equal(space_fork(&parent, 5, &child), 0);
    assert_int_equal(space_count(&child), 1);
    assert_string_equal(space_at(&child, 0)->path, "a");
    space_release(&child);
    space_release(&parent);
    assert_int_equal(space_fork(&parent, 5, &child), 0);
    assert_int_equal(space_count(&child), 0);
}

/* Equal versions mean the same mappings, whosever they are; each change gives one that there was never before. */
static void test_versions(void **state)
{
    (void)state;
    struct space parent, child, later, other;
    space_init(&parent);
    space_init(&other);
    assert_int_equal(parent.version, 0);
    assert_int_equal(space_fork(&parent, 5, &child), 0); /* of nothing */
    assert_int_equal(child.version, 0);
    add(&parent, 0x1000, 0x1000, 1, "a");
    const uint64_t first = parent.version;
    assert_true(first > 0);
    add(&other, 0x1000, 0x1000, 1, "a");
    assert_true(other.version > first);
    assert_int_equal(space_fork(&parent, 5, &child), 0);
    assert_int_equal(child.version, first);
    add(&parent, 0x3000, 0x1000, 10, "later");
    assert_true(parent.version > other.version);
    assert_int_equal(child.version, first);
    /* One that has only a part of the mappings is another one. */
    assert_int_equal(space_fork(&parent, 9, &later), 0);
    assert_int_equal(space_count(&later), 1);
    assert_true(later.version > parent.version);
    const uint64_t last = later.version;
    assert_int_equal(space_add_maps(&child, maps, 6), 0);
    assert_true(child.version > last);
    const uint64_t whole = child.version;
    assert_int_equal(space_add_maps(&child, "garbage\n", 7), 0);
    assert_int_equal(child.version, whole);
    space_release(&child);
    assert_int_equal(child.version, 0);
    space_release(&parent);
    space_release(&later);
    space_release(&other);
}

/* What has no name is forgotten before what has one, the oldest first; and it is counted. */
static void test_bounded(void **state)
{
    (void)state;
    struct space space;
    space_init(&space);
    add(&space, 0x1000, 0x1000, 1, "/bin/first");
    for (uint64_t i = 2; i <= SPACE_MAPPINGS + 10; i++)
        add(&space, i * 0x1000, 0x1000, i, "//anon");
    assert_true(space_count(&space) <= SPACE_MAPPINGS);
    assert_int_equal(space_count(&space) + space.forgotten, SPACE_MAPPINGS + 10);
    assert_string_equal(space_at(&space, 0)->path, "/bin/first");
    assert_int_equal(space_at(&space, space_count(&space) - 1)->start, (SPACE_MAPPINGS + 10) * 0x1000ull);
    space_release(&space);
    /* Data makes room for data, and not for code; code never makes room for data. */
    struct space_quota quota = {0};
    space_init(&space);
    space.quota = &quota;
    add(&space, 0x1000, 0x1000, 1, "//anon");
    for (uint64_t i = 2; i <= SPACE_DATA + 10; i++) {
        struct mapping *data = mapping_new(
            &(struct mapping){.start = i * 0x1000, .size = 0x1000, .time_ns = i, .data = true}, "/data");
        assert_int_equal(space_add(&space, data), 0);
        mapping_put(data);
    }
    assert_true(space_count(&space) <= SPACE_DATA + 1);
    assert_string_equal(space_at(&space, 0)->path, "//anon");
    assert_non_null(space_find_data(&space, (SPACE_DATA + 10) * 0x1000ull + 0xfff));
    assert_null(space_find_data(&space, 0x1000));
    assert_null(space_find_data(&space, (SPACE_DATA + 11) * 0x1000ull));
    const size_t data_count = space_count(&space) - 1;
    for (uint64_t i = 1; i <= SPACE_MAPPINGS + 10; i++)
        add(&space, (2 * SPACE_MAPPINGS + i) * 0x1000, 0x1000, i, "/lib/plugin.so");
    assert_int_equal(space.list->data, data_count);
    assert_int_equal(space_count(&space) - data_count + space.forgotten, SPACE_MAPPINGS + 11);
    /* A large part of a user's mappings may not be data. */
    static char path[4000];
    memset(path, 'p', sizeof(path) - 1);
    struct space many[2];
    int refused = 0;
    for (unsigned i = 0; i < 2; i++) {
        space_init(&many[i]);
        many[i].quota = &quota;
        for (uint64_t j = 1; j <= SPACE_DATA - 100; j++) {
            struct mapping *data = mapping_new(
                &(struct mapping){.start = j * 0x1000, .size = 0x1000, .time_ns = j, .data = true}, path);
            refused |= space_add(&many[i], data);
            mapping_put(data);
        }
        assert_int_equal(refused, i ? -ENOSPC : 0);
    }
    assert_true(quota.data <= SPACE_DATA_BYTES);
    assert_int_equal(quota.refused, 0);
    space_release(&many[0]);
    space_release(&many[1]);
    space_release(&space);
    assert_int_equal(quota.data, 0);
    assert_int_equal(quota.bytes, 0);
    space_init(&space);
    for (uint64_t i = 1; i <= 2 * SPACE_MAPPINGS; i++)
        add(&space, i * 0x1000, 0x1000, i, "/lib/plugin.so");
    assert_true(space_count(&space) <= SPACE_MAPPINGS);
    assert_int_equal(space_at(&space, space_count(&space) - 1)->start, 2 * SPACE_MAPPINGS * 0x1000ull);
    assert_int_equal(space_at(&space, 0)->start, (2 * SPACE_MAPPINGS + 1 - space_count(&space)) * 0x1000ull);
    assert_int_equal(space_count(&space) + space.forgotten, 2 * SPACE_MAPPINGS);
    space_release(&space);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As many mappings as the kernel lets a process have, all of them executable. */
static void test_many_lines(void **state)
{
    (void)state;
    enum { LINES = 65530, ROUNDS = 5 };
    struct space space;
    char *text = malloc(LINES * 80), *at = text;
    assert_non_null(text);
    for (uint64_t i = 1; i <= LINES; i++)
        at += sprintf(at, "%lx-%lx r-xp 00000000 00:00 0 \n", i * 0x2000, i * 0x2000 + 0x1000);
    double start = cpu_seconds();
    for (unsigned i = 0; i < ROUNDS; i++) {
        space_init(&space);
        assert_int_equal(space_add_maps(&space, text, 5), 0);
        assert_int_equal(space_count(&space), SPACE_MAPPINGS);
        assert_int_equal(space.forgotten, LINES - SPACE_MAPPINGS);
        space_release(&space);
    }
    assert_true(cpu_seconds() - start < 20); /* 0.05; seconds each, where every line was compared with all others */
    free(text);
}

/* Lines that are not in order are told from mappings that lie over each other. */
static void test_lines_out_of_order(void **state)
{
    (void)state;
    static const char lines[] = "5000-6000 r-xp 00000000 08:01 5 /a\n"
                                "1000-2000 r-xp 00000000 08:01 6 /b\n"
                                "4000-7000 r-xp 00000000 08:01 7 /c\n";
    struct space space;
    uint64_t low, high;
    space_init(&space);
    assert_int_equal(space_add_maps(&space, lines, 5), 0);
    assert_int_equal(space_count(&space), 2);
    assert_string_equal(space_find(&space, 0x5800, &low, &high)->path, "/c");
    assert_int_equal(low, 0x4000);
    assert_int_equal(high, 0x7000);
    /* From the first byte to the last. */
    assert_string_equal(space_find(&space, 0x4000, NULL, NULL)->path, "/c");
    assert_string_equal(space_find(&space, 0x6fff, NULL, NULL)->path, "/c");
    assert_null(space_find(&space, 0x3fff, NULL, NULL));
    assert_null(space_find(&space, 0x7000, &low, &high));
    assert_int_equal(low, 0x7000);
    assert_true(high == UINT64_MAX);
    assert_null(space_find(&space, 0x3000, &low, &high));
    assert_int_equal(low, 0x2000);
    assert_int_equal(high, 0x4000);
    assert_true(space_has(&space, space_at(&space, 0), true));
    assert_int_equal(space_add_maps(&space, "1000-2000 r-xp 00000000 08:01 8 /d\n", 6), 0);
    assert_int_equal(space_count(&space), 2);
    assert_string_equal(space_find(&space, 0x1000, NULL, NULL)->path, "/d");
    space_release(&space);
}

static void test_same_dso(void **state)
{
    (void)state;
    struct mapping values = {.ino = 1, .maj = 2, .start = 0x1000};
    struct mapping *a = mapping_new(&values, "/a"), *c = mapping_new(&values, "/c");
    values.start = 0x2000;
    struct mapping *b = mapping_new(&values, "/a");
    assert_true(mapping_same_dso(a, b));
    assert_false(mapping_same_dso(a, c));
    mapping_put(a);
    mapping_put(b);
    mapping_put(c);
    mapping_put(NULL);
}

/* Many spaces of one quota, with long paths: what does not fit is left out, and counted. */
static void test_quota(void **state)
{
    (void)state;
    enum { PATH = 4000, EACH = sizeof(struct mapping) + PATH + 1, FIT = SPACE_BYTES / EACH, SPACES = 4 };
    static char path[PATH + 1], line[PATH + 100];
    struct space spaces[SPACES], child, other;
    struct space_quota quota = {0}, another = {0};
    memset(path, 'p', PATH);
    for (unsigned i = 0; i < SPACES; i++) {
        space_init(&spaces[i]);
        spaces[i].quota = &quota;
    }
    for (uint64_t i = 0; i < FIT; i++)
        add(&spaces[i % SPACES], (i + 1) * 0x1000, 0x1000, 1, path);
    assert_int_equal(quota.bytes, (uint64_t)FIT * EACH);
    assert_int_equal(quota.refused, 0);
    struct mapping *late = mapping_new(&(struct mapping){.start = 0x1000, .size = 0x1000, .time_ns = 9}, path);
    assert_int_equal(space_add(&spaces[1], late), -ENOSPC);
    assert_int_equal(quota.refused, 1);
    /* What it covers is gone, all the same: that makes room. */
    const size_t before = space_count(&spaces[0]);
    assert_int_equal(space_add(&spaces[0], late), 0);
    assert_int_equal(space_count(&spaces[0]), before);
    assert_ptr_equal(space_at(&spaces[0], before - 1), late);
    mapping_put(late);
    /* The same for lines of /proc, in order or not. */
    snprintf(line, sizeof(line), "ff1000-ff2000 r-xp 00000000 08:01 5 %s\nff0000-ff1000 r-xp 00000000 08:01 5 %s\n",
             "/a", path);
    space_init(&other);
    other.quota = &quota;
    const uint64_t rest = SPACE_BYTES - quota.bytes;
    assert_int_equal(space_add_maps(&other, line, 5), 0);
    assert_int_equal(space_add_maps(&spaces[0], strchr(line, '\n') + 1, 5), 0);
    assert_int_equal(space_count(&other), rest >= sizeof(struct mapping) + 3);
    assert_int_equal(quota.refused, 3 + !space_count(&other));
    space_release(&other);
    assert_int_equal(other.quota == &quota, true);
    /* A child has them for nothing; others have their own quota, and who has left gives back what was his. */
    assert_int_equal(space_fork(&spaces[0], 10, &child), 0);
    assert_ptr_equal(child.quota, &quota);
    assert_int_equal(quota.bytes, (uint64_t)FIT * EACH);
    spaces[1].quota = &another;
    add(&spaces[1], 0xff0000, 0x1000, 1, path);
    assert_int_equal(another.bytes, EACH);
    for (unsigned i = 0; i < SPACES; i++)
        space_release(&spaces[i]);
    assert_int_equal(another.bytes, 0);
    assert_int_equal(quota.bytes, before * EACH);
    space_release(&child);
    assert_int_equal(quota.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_newer_covers_older),
        cmocka_unit_test(test_fork_shares),
        cmocka_unit_test(test_fork_is_of_its_time),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_lines_out_of_order),
        cmocka_unit_test(test_same_dso),
        cmocka_unit_test(test_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
