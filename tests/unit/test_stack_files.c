/* SPDX-License-Identifier: MIT */
/* Which file is asked for at an address, when it is asked for again, and what becomes of the answers. */
#include "check.h"

#include <errno.h>

#include "collector/stacks/stack_files.h"
#include "collector/system/mapped_file.h"
#include "collector/system/opener.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/tasks.h"

enum { PID = 321, AGAIN_NS = 100000000 };

static struct tasks tasks;
static struct session session;
static struct event_config config;
static struct process process;
static struct task task;
static char files[4]; /* tables, known by their places */

/* ---- In the place of others ---- */

static struct mapped_file asked;
static char asked_path[64];
static unsigned asks, settles, looks;
static uint64_t last_ticket;
static opener_done *done;
static void *context;
static bool answers_at_once, full;
static struct opener_answer answer;
static char *copied; /* what the answer's tables are */

uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *call, void *of);
uint64_t __wrap_opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *call, void *of)
{
    assert_ptr_equal(opener, tasks.stacks->opener);
    assert_int_equal(kind, OPENER_TABLES);
    asked = *file;
    snprintf(asked_path, sizeof(asked_path), "%s", file->path);
    done = call;
    context = of;
    asks++;
    return full ? 0 : ++last_ticket;
}

bool __wrap_opener_settle(struct opener *opener, uint64_t ticket);
bool __wrap_opener_settle(struct opener *opener, uint64_t ticket)
{
    (void)opener;
    assert_int_equal(ticket, last_ticket);
    settles++;
    if (answers_at_once)
        done(context, ticket, &answer);
    return answers_at_once;
}

struct unwind_file *__wrap_unwind_files_copy(struct unwind_files *all, const struct unwind_stat *stat, int fd);
struct unwind_file *__wrap_unwind_files_copy(struct unwind_files *all, const struct unwind_stat *stat, int fd)
{
    assert_ptr_equal(all, tasks.stacks->files);
    assert_true(fd == 77 && stat->dev == 1 && stat->ino == 2 && stat->size == 3 && stat->mtime_ns == 4);
    return (struct unwind_file *)(void *)copied;
}

static char *known; /* the tables of a file that was read already */
static bool has_time, many;
static const char *leaves;
static unsigned trims;
static unsigned begun, ended;
static uid_t whose;

bool __wrap_unwind_files_know(const struct unwind_files *all, const struct unwind_stat *stat, struct unwind_file **ret);
bool __wrap_unwind_files_know(const struct unwind_files *all, const struct unwind_stat *stat, struct unwind_file **ret)
{
    assert_ptr_equal(all, tasks.stacks->files);
    assert_true(stat->dev == 1 && stat->ino == 2 && stat->size == 3 && stat->mtime_ns == 4);
    if (known)
        *ret = (struct unwind_file *)(void *)known;
    return known;
}

bool __wrap_unwind_files_are_many(struct unwind_files *all);
bool __wrap_unwind_files_are_many(struct unwind_files *all)
{
    assert_ptr_equal(all, tasks.stacks->files);
    return many;
}

bool __wrap_unwind_file_leaves(const struct unwind_file *file);
bool __wrap_unwind_file_leaves(const struct unwind_file *file)
{
    return file && (const void *)file == leaves;
}

void __wrap_unwind_files_trim(struct unwind_files *all);
void __wrap_unwind_files_trim(struct unwind_files *all)
{
    assert_ptr_equal(all, tasks.stacks->files);
    for (unsigned i = 0; i < STACKS_DSOS; i++)
        assert_true(!leaves || (const void *)tasks.stacks->dsos[i].file != leaves);
    trims++;
}

bool __wrap_table_time_begin(struct table_time *time, struct table_user *user, uint64_t now_ns);
bool __wrap_table_time_begin(struct table_time *time, struct table_user *user, uint64_t now_ns)
{
    assert_true(time == &tasks.stacks->time && now_ns);
    whose = user->user;
    begun++;
    return has_time;
}

void __wrap_table_time_end(struct table_time *time, struct table_user *user);
void __wrap_table_time_end(struct table_time *time, struct table_user *user)
{
    assert_ptr_equal(time, &tasks.stacks->time);
    assert_int_equal(user->user, whose);
    ended++;
}

struct unwind_file *__wrap_unwind_files_vdso(struct unwind_files *all);
struct unwind_file *__wrap_unwind_files_vdso(struct unwind_files *all)
{
    assert_ptr_equal(all, tasks.stacks->files);
    return (struct unwind_file *)(void *)&files[3];
}

bool __wrap_tasks_look_at_maps(struct tasks *its, struct process *of);
bool __wrap_tasks_look_at_maps(struct tasks *its, struct process *of)
{
    assert_true(its == &tasks && of == &process);
    looks++;
    return false;
}

/* ---- Tests ---- */

static uint64_t generation; /* of what is mapped from now on */
static uint32_t minor_number;

static void map(uint64_t start, uint64_t size, uint64_t ino, const char *path)
{
    const struct mapping values = {.start = start,
                                   .size = size,
                                   .offset = 0x300,
                                   .ino = ino,
                                   .maj = 8,
                                   .min = minor_number,
                                   .ino_generation = generation};
    struct mapping *mapping = mapping_new(&values, path);
    assert_non_null(mapping);
    assert_int_equal(space_add(&process.space, mapping), 0);
    mapping_put(mapping);
}

static int set_up(void **state)
{
    (void)state;
    memset(&tasks, 0, sizeof(tasks));
    memset(&process, 0, sizeof(process));
    memset(&task, 0, sizeof(task));
    config.dump = 4096;
    tasks.session = &session;
    tasks.config = &config;
    tasks.now_ns = 1000000000;
    task.process = &process;
    task.pid = PID;
    space_init(&process.space);
    asks = settles = looks = 0;
    full = false;
    answers_at_once = has_time = true;
    known = NULL;
    begun = ended = trims = 0;
    many = false;
    leaves = NULL;
    generation = 0;
    minor_number = 9;
    process.limited = true;
    process.user = 1234;
    answer = (struct opener_answer){.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5, .fd = 77};
    copied = &files[0];
    return tasks_begin_stacks(&tasks);
}

static int tear_down(void **state)
{
    (void)state;
    space_release(&process.space);
    stacks_free(tasks.stacks);
    return 0;
}

static void expect(uint64_t address, const char *file)
{
    const struct stack_owner owner = tasks_stack_owner(&tasks, &task);
    struct stack_search search = {tasks.stacks, &owner};
    struct unwind_map found;
    assert_true(stack_files_find(&search, address, &found));
    assert_ptr_equal(found.file, file);
    assert_int_equal(found.offset, 0x300);
    assert_true(found.start <= address && found.low <= address && found.high > address);
}

static void the_file_is_asked_for_once(void **state)
{
    (void)state;
    map(0x10000, 0x2000, 6, "/lib/a");
    expect(0x10010, &files[0]);
    assert_true(asks == 1 && settles == 1 && looks == 0);
    assert_true(asked.pid == PID && asked.maj == 8 && asked.min == 9 && asked.ino == 6);
    assert_true(asked.start == 0x10000 && asked.size == 0x2000);
    assert_string_equal(asked_path, "/lib/a");
    expect(0x11fff, &files[0]);
    /* The same file elsewhere, and in another process. */
    map(0x50000, 0x1000, 6, "/lib/a");
    expect(0x50000, &files[0]);
    assert_int_equal(asks, 1);
    map(0x60000, 0x1000, 7, "/lib/a");
    copied = &files[1];
    expect(0x60000, &files[1]); /* this is another one */
    assert_int_equal(asks, 2);
}

static void what_is_no_file_is_not_asked_for(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 0, "//anon");
    map(0x20000, 0x1000, 0, "[heap]");
    map(0x30000, 0x1000, 0, "[vdso]");
    expect(0x10000, NULL);
    expect(0x20000, NULL);
    expect(0x30000, &files[3]);
    assert_int_equal(asks, 0);
    const struct stack_owner owner = tasks_stack_owner(&tasks, &task);
    struct stack_search search = {tasks.stacks, &owner};
    struct unwind_map found;
    assert_false(stack_files_find(&search, 0x40000, &found));
    assert_int_equal(looks, 1);
}

/* It may have been replaced: it is asked for again, but nobody waits, and what is known holds meanwhile. */
static void files_are_asked_for_again(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, &files[0]);
    tasks.now_ns += AGAIN_NS - 1;
    process.space.version += 1000; /* blocks are new */
    expect(0x10000, &files[0]);
    assert_int_equal(asks, 1);
    tasks.now_ns++;
    process.space.version += 1000;
    expect(0x10000, &files[0]);
    assert_true(asks == 2 && settles == 1);
    tasks.now_ns += 10 * (uint64_t)AGAIN_NS; /* as long as there is no answer there is no other question */
    process.space.version += 1000;
    expect(0x10000, &files[0]);
    assert_int_equal(asks, 2);
    answer.status = -1;
    done(context, last_ticket, &answer); /* gone with its process: the tables hold */
    expect(0x10000, &files[0]);
    answer.status = 0;
    process.space.version += 1000;
    expect(0x10000, &files[0]);
    assert_int_equal(asks, 3);
    copied = &files[2];
    done(context, last_ticket, &answer);
    expect(0x10000, &files[2]); /* also where a block had the old ones */
    copied = NULL;
    done(context, last_ticket, &answer); /* nobody waits for that any more */
    done(context, 999999, &answer);
    expect(0x10000, &files[2]);
}

static void answers_that_come_late(void **state)
{
    (void)state;
    answers_at_once = false;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, NULL);
    assert_true(asks == 1 && settles == 1);
    expect(0x10000, NULL);
    done(context, last_ticket, &answer);
    expect(0x10000, &files[0]);
    assert_int_equal(asks, 1);
    /* Too many were asked already: nothing is waited for. */
    full = true;
    map(0x20000, 0x1000, 7, "/lib/b");
    expect(0x20000, NULL);
    assert_true(asks == 2 && settles == 1);
}

/* What is read in the loop takes its user's share of the time; without it the file is looked at again. */
static void tables_have_their_time(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, &files[0]);
    assert_true(begun == 1 && ended == 1 && whose == 1234);
    has_time = false;
    map(0x20000, 0x1000, 7, "/lib/b");
    expect(0x20000, NULL);
    assert_true(begun == 2 && ended == 1 && asks == 2);
    assert_int_equal(tasks.stacks->time.put_off, 1);
    tasks.now_ns += AGAIN_NS;
    expect(0x20000, NULL); /* nobody waits for it, and it is the same file still */
    done(context, last_ticket, &answer);
    assert_true(begun == 3 && asks == 3 && tasks.stacks->time.put_off == 1);
    tasks.now_ns += AGAIN_NS;
    has_time = true;
    expect(0x20000, NULL);
    done(context, last_ticket, &answer);
    expect(0x20000, &files[0]);
    assert_true(begun == 4 && ended == 2 && asks == 4);
    expect(0x20000, &files[0]);
    assert_int_equal(asks, 4);
    /* What is known takes none. */
    has_time = false;
    known = &files[1];
    map(0x30000, 0x1000, 8, "/lib/c");
    expect(0x30000, &files[1]);
    assert_true(begun == 4 && tasks.stacks->time.put_off == 1);
    /* One whose user nobody knows: the kernel is asked; the process is gone. */
    process.limited = false;
    task.pid = asked.pid = -1;
    known = NULL;
    map(0x40000, 0x1000, 9, "/lib/d");
    expect(0x40000, NULL);
    assert_int_equal(whose, (uid_t)-1);
}

/* Tables of what the file was before would lead anywhere. */
static void a_file_that_changed_keeps_no_tables(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, &files[0]);
    tasks.now_ns += AGAIN_NS;
    process.space.version += 1000;
    expect(0x10000, &files[0]);
    copied = NULL;
    done(context, last_ticket, &answer);
    expect(0x10000, NULL);
}

/* What changed into something else has none; a file that is gone with its process keeps them. */
static void answers_without_tables(void **state)
{
    static const struct {
        int status;
        bool kept;
    } cases[] = {{-ENOENT, true}, {-ETIMEDOUT, true}, {-EBUSY, true}, {-ENOEXEC, false}, {-EFBIG, false}};
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        answer.status = 0;
        map(0x10000 * (i + 1), 0x1000, 6 + i, "/lib/a");
        expect(0x10000 * (i + 1), &files[0]);
        tasks.now_ns += AGAIN_NS;
        process.space.version += 1000;
        expect(0x10000 * (i + 1), &files[0]);
        answer.status = cases[i].status;
        done(context, last_ticket, &answer);
        expect(0x10000 * (i + 1), cases[i].kept ? &files[0] : NULL);
    }
}

/* DSOs give up the files that leave, before they are freed; they are looked at again. */
static void files_leave(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, &files[0]);
    copied = &files[1];
    map(0x20000, 0x1000, 7, "/lib/b");
    expect(0x20000, &files[1]);
    stack_files_make_room(tasks.stacks);
    expect(0x10000, &files[0]);
    assert_true(asks == 2 && trims == 0);
    many = true;
    leaves = &files[0];
    stack_files_make_room(tasks.stacks);
    many = false;
    assert_int_equal(trims, 1);
    copied = &files[2];
    expect(0x20000, &files[1]);
    expect(0x10000, &files[2]);
    assert_true(asks == 3 && settles == 3);
}

/* A file that had no room is looked at again. */
static void no_room(void **state)
{
    (void)state;
    copied = NULL;
    map(0x10000, 0x1000, 6, "/lib/a");
    expect(0x10000, NULL);
    assert_int_equal(tasks.stacks->no_room, 1);
    tasks.now_ns += AGAIN_NS;
    expect(0x10000, NULL);
    done(context, last_ticket, &answer);
    assert_int_equal(tasks.stacks->no_room, 1);
    tasks.now_ns += AGAIN_NS;
    expect(0x10000, NULL);
    copied = &files[0];
    done(context, last_ticket, &answer);
    expect(0x10000, &files[0]);
    assert_true(asks == 3 && tasks.stacks->no_room == 1);
}

/* Who chooses what his file is called chooses where it is looked for, but never gives his tables to another one. */
static void files_in_one_place(void **state)
{
    (void)state;
    map(0x10000, 0x1000, 7, "/lib/a");
    expect(0x10000, &files[0]);
    copied = &files[1];
    generation = 31;
    map(0x20000, 0x1000, 6, "/lib/a"); /* 6 * 31 + 31 is 7 * 31 */
    expect(0x20000, &files[1]);
    assert_int_equal(asks, 2);
    copied = &files[2];
    map(0x30000, 0x1000, 7, "/lib/a"); /* the inode was given to another file */
    expect(0x30000, &files[2]);
    assert_int_equal(asks, 3);
    generation = 0;
    copied = &files[0];
    map(0x40000, 0x1000, 7, "/lib/b");
    expect(0x40000, &files[0]);
    generation = 1;
    minor_number = 9;
    copied = &files[1];
    map(0x50000, 0x1000, 8, "/lib/b");
    expect(0x50000, &files[1]);
    generation = 0;
    minor_number = 9 + 31; /* 1 * 31 + 9 */
    copied = &files[2];
    map(0x60000, 0x1000, 8, "/lib/b");
    expect(0x60000, &files[2]);
    assert_int_equal(asks, 6);
    minor_number = 9;
    map(0x80000, 0x1000, 17, "/lib/d");
    expect(0x80000, &files[2]);
    minor_number = 9 + 31 * 31; /* one inode less */
    copied = &files[1];
    map(0x90000, 0x1000, 16, "/lib/d");
    expect(0x90000, &files[1]);
    asks = 6;
    copied = &files[2];
    /* More than there are places, all of one inode. */
    for (generation = 100; generation < 100 + 3 * STACKS_DSOS; generation++) {
        map(0x70000, 0x1000, 9, "/lib/c");
        expect(0x70000, &files[2]);
        assert_int_equal(asks, 7 + generation - 100);
    }
    asks = 0;
    for (unsigned i = 0; i < 3 * STACKS_DSOS; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/lib/%u", i);
        map(0x70000, 0x1000, 9, path);
        expect(0x70000, &files[2]);
        assert_int_equal(asks, i + 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(the_file_is_asked_for_once),
        TEST(what_is_no_file_is_not_asked_for),
        TEST(files_are_asked_for_again),
        TEST(answers_without_tables),
        TEST(files_leave),
        TEST(no_room),
        TEST(files_in_one_place),
        TEST(answers_that_come_late),
        TEST(tables_have_their_time),
        TEST(a_file_that_changed_keeps_no_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
