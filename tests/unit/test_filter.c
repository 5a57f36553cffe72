/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Newer than the oldest headers. */
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define LENGTH(array)         (sizeof(array) / sizeof((array)[0]))
#define STEP(code, k)         (struct sock_filter) BPF_STMT(code, k)
#define JUMP(code, k, jt, jf) (struct sock_filter) BPF_JUMP(code, k, jt, jf)
#define LOAD_NUMBER           STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(action)        STEP(BPF_RET | BPF_K, action)

static uint32_t answer(const struct sock_filter *code, size_t length, int number)
{
    struct seccomp_data data = {.nr = number, .arch = ARCHITECTURE, .args = {0x100000002, 3, 0, 0, 0, 9}};
    uint32_t action = 0x1234;
    return pinject_filter_run(code, length, &data, &action) ? action : 0xbad;
}

/* A filter that answers one number otherwise than all others. */
static bool harms(int number, uint32_t action, uint32_t others)
{
    struct sock_filter code[] = {LOAD_NUMBER, JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1), RETURN(action),
                                 RETURN(others)};
    return pinject_filter_harms(code, LENGTH(code));
}

static void test_harms(void **state)
{
    (void)state;
    static const uint32_t bad[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_LOG,
                                   SECCOMP_RET_TRACE | 5,    SECCOMP_RET_USER_NOTIF,  0x12340000};
    static const int ours[] = {SYS_gettid,        SYS_futex,          SYS_statx,  SYS_getcpu,
                               SYS_clock_gettime, SYS_rt_sigprocmask, SYS_munmap, SYS_fcntl};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        assert_true(harms(SYS_reboot, SECCOMP_RET_ALLOW, bad[i]));
        assert_false(harms(SYS_reboot, bad[i], SECCOMP_RET_ALLOW));
        for (size_t j = 0; j < LENGTH(ours); j++)
            assert_true(harms(ours[j], bad[i], SECCOMP_RET_ALLOW));
    }
    /* A wait whose clock is refused would not end. */
    assert_true(harms(SYS_clock_gettime, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW));
    assert_true(harms(SYS_reboot, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | ENOSYS));
    assert_false(harms(SYS_statx, SECCOMP_RET_ERRNO | ENOSYS, SECCOMP_RET_ALLOW));
}

static void test_harms_safe_read_alone(void **state)
{
    (void)state;
    struct sock_filter code[] = {LOAD_NUMBER, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
                                 RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)};
    assert_true(pinject_filter_harms_safe_read(code, LENGTH(code)));
    code[1].k = SYS_futex;
    assert_false(pinject_filter_harms_safe_read(code, LENGTH(code)));
    assert_true(pinject_filter_harms(code, LENGTH(code)));
}

/* By an argument: the low half of the first one of futex is any address, prctl's is what is asked. */
static void test_arguments(void **state)
{
    (void)state;
    struct sock_filter code[] = {LOAD_NUMBER,
                                 JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
                                 STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
                                 JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_GET_NAME, 0, 1),
                                 RETURN(SECCOMP_RET_TRAP),
                                 RETURN(SECCOMP_RET_ALLOW)};
    assert_true(pinject_filter_harms(code, LENGTH(code)));
    code[3].k = PR_SET_NAME;
    assert_false(pinject_filter_harms(code, LENGTH(code)));
}

static void test_machine(void **state)
{
    (void)state;
    struct sock_filter code[] = {STEP(BPF_LD | BPF_IMM, 7),          STEP(BPF_ST, 15),
                                 STEP(BPF_LDX | BPF_IMM, 3),         STEP(BPF_ALU | BPF_MUL | BPF_X, 0),
                                 STEP(BPF_ALU | BPF_ADD | BPF_K, 1), STEP(BPF_ALU | BPF_LSH | BPF_K, 4),
                                 STEP(BPF_ALU | BPF_OR | BPF_K, 5),  STEP(BPF_ALU | BPF_XOR | BPF_K, 0xff),
                                 STEP(BPF_ALU | BPF_SUB | BPF_X, 0), STEP(BPF_MISC | BPF_TAX, 0),
                                 STEP(BPF_LD | BPF_MEM, 15),         STEP(BPF_ALU | BPF_ADD | BPF_X, 0),
                                 STEP(BPF_ALU | BPF_DIV | BPF_K, 2), STEP(BPF_ALU | BPF_RSH | BPF_K, 1),
                                 STEP(BPF_ALU | BPF_NEG, 0),         STEP(BPF_RET | BPF_A, 0)};
    uint32_t value = ((((7u * 3 + 1) << 4) | 5) ^ 0xff) - 3;
    assert_int_equal(answer(code, LENGTH(code), 0), 0u - (((value + 7) / 2) >> 1));
    struct sock_filter words[] = {STEP(BPF_LD | BPF_W | BPF_ABS, 20), STEP(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer(words, 2, 0), 1);
    words[0] = STEP(BPF_LD | BPF_W | BPF_LEN, 0);
    assert_int_equal(answer(words, 2, 0), sizeof(struct seccomp_data));
    struct sock_filter jumps[] = {LOAD_NUMBER,
                                  JUMP(BPF_JMP | BPF_JGE | BPF_K, 10, 0, 2),
                                  JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 2),
                                  RETURN(1),
                                  RETURN(2),
                                  RETURN(3)};
    assert_int_equal(answer(jumps, LENGTH(jumps), 11), 1);
    assert_int_equal(answer(jumps, LENGTH(jumps), 9), 2);
    assert_int_equal(answer(jumps, LENGTH(jumps), 12), 3);
}

/* What the kernel refuses is no filter; and nothing outside of it or of the data is ever read. */
static void test_no_filter(void **state)
{
    (void)state;
    struct sock_filter code[] = {LOAD_NUMBER, RETURN(SECCOMP_RET_ALLOW)};
    static const struct sock_filter bad[] = {{0xffff, 0, 0, 0},
                                             {BPF_LD | BPF_W | BPF_ABS, 0, 0, 64},
                                             {BPF_LD | BPF_W | BPF_ABS, 0, 0, 2},
                                             {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0xfffffffc},
                                             {BPF_LD | BPF_MEM, 0, 0, 16},
                                             {BPF_ST, 0, 0, 0xffffffff},
                                             {BPF_JMP | BPF_JA, 0, 0, 1},
                                             {BPF_JMP | BPF_JA, 0, 0, 0xffffffff},
                                             {BPF_JMP | BPF_JEQ, 200, 200, 0},
                                             {BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0},
                                             {BPF_LD | BPF_W | BPF_IND, 0, 0, 0},
                                             {BPF_LDX | BPF_MSH, 0, 0, 0}};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        code[0] = bad[i];
        assert_int_equal(answer(code, LENGTH(code), 0), 0xbad);
        assert_true(pinject_filter_harms(code, LENGTH(code)));
    }
    code[0] = LOAD_NUMBER;
    assert_int_equal(answer(code, 1, 0), 0xbad);
    assert_int_equal(answer(code, 0, 0), 0xbad);
    assert_int_equal(answer(code, 2, 0), SECCOMP_RET_ALLOW);
}

/* ---- The preload object's own calls ---- */

/*
 * What the preload object calls, with which arguments, and whether a request without it would be worse than none. A
 * filter that allows exactly these, each by all of its arguments, harms nothing; one that lacks a single one harms.
 */
struct call {
    int number;
    uint64_t args[4];
    bool needed;
};

#define AT_CWD ((uint64_t)(int64_t)AT_FDCWD)

static const struct call all_calls[] = {
    {SYS_gettid, {0}, true},
    {SYS_getpid, {0}, true},
    {SYS_getppid, {0}, true},
    {SYS_futex, {0x1000, FUTEX_WAKE, 1}, true},
    {SYS_futex, {0x1000, FUTEX_WAIT_BITSET, 1, 0x1000}, true},
    {SYS_clock_gettime, {CLOCK_MONOTONIC, 0x1000}, true},
    {SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID, 0x1000}, true},
    {SYS_getcpu, {0x1000}, false},
    {SYS_sched_getscheduler, {0}, false},
    {SYS_sched_yield, {0}, false},
    {SYS_nanosleep, {0x1000}, false},
    {SYS_prctl, {PR_GET_NAME, 0x1000}, false},
    {SYS_prctl, {PR_SET_MM, PR_SET_MM_MAP, 0x1000, sizeof(struct prctl_mm_map)}, false},
    {SYS_brk, {0}, false},
    {SYS_openat, {AT_CWD, 0x1000, O_RDONLY | O_CLOEXEC}, false},
    {SYS_openat, {AT_CWD, 0x1000, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {AT_CWD, 0x1000, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {AT_CWD, 0x1000, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {AT_CWD, 0x1000, O_PATH | O_DIRECTORY | O_CLOEXEC}, false},
    {SYS_statx, {AT_CWD, 0x1000, 0, STATX_TYPE | STATX_MODE}, false},
    {SYS_faccessat, {AT_CWD, 0x1000, 0}, false},
    {SYS_faccessat, {AT_CWD, 0x1000, X_OK}, false},
    {SYS_faccessat2, {AT_CWD, 0x1000, X_OK, AT_EACCESS}, false},
    {SYS_getuid, {0}, false},
    {SYS_geteuid, {0}, false},
    {SYS_getgid, {0}, false},
    {SYS_getegid, {0}, false},
    {SYS_prctl, {PR_GET_TID_ADDRESS, 0x1000}, false},
    {SYS_set_tid_address, {0x1000}, false},
    {SYS_rt_sigprocmask, {SIG_SETMASK, 0x1000, 0x1000, 8}, false},
    {SYS_statx, {3, 0x1000, AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE}, false},
    {SYS_read, {3, 0x1000, 2047}, false},
    {SYS_pread64, {3, 0x1000, 1024}, false},
    {SYS_fcntl, {3, F_GETLK, 0x1000}, false},
    {SYS_close, {3}, false},
    {SYS_kill, {1, 0}, false},
    {SYS_mmap, {0, 4096, PROT_READ, MAP_SHARED}, false},
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED}, false},
    {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}, false},
    {SYS_munmap, {0x1000, 4096}, false},
    {SYS_prlimit64, {0, RLIMIT_STACK, 0, 0x1000}, false},
    {SYS_waitid, {0, 1, 0x1000, 4}, false},
    {SYS_rt_sigprocmask, {(uint64_t)-1, 0x1000, 0, 8}, false},
};

static const struct call timer_calls[] = {
    {SYS_rt_sigaction, {60, 0x1000, 0x1000, 8}, false},
    {SYS_timer_create, {0, 0x1000, 0x1000}, false},
    {SYS_madvise, {0x1000, 4096, MADV_DONTFORK}, false},
    {SYS_sigaltstack, {0, 0x1000}, false},
    {SYS_rt_sigreturn, {0}, true},
    {SYS_gettid, {0}, true},
    {SYS_clock_gettime, {CLOCK_MONOTONIC, 0x1000}, true},
    {SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID, 0x1000}, false},
    {SYS_getrusage, {1, 0x1000}, false},
    {SYS_getcpu, {0x1000}, false},
    {SYS_process_vm_readv, {1, 0x1000, 1, 0x1000}, false},
    {SYS_timer_settime, {0, 0, 0x1000}, false},
    {SYS_timer_delete, {0}, false},
    {SYS_munmap, {0x1000, 4096}, false},
};

static const struct call user_calls[] = {
    {SYS_getresuid, {0x1000, 0x1000, 0x1000}, false},
    {SYS_mremap, {0x1000, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED}, false},
    {SYS_mmap, {0x1000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED}, false},
    {SYS_mmap, {0x1000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}, false},
    {SYS_prctl, {PR_GET_SECCOMP}, false},
};

enum { ROWS = 64, WORDS_OF_A_ROW = 2 + 4 * 4 + 1 };

/* Allows each call of the table but for one, which gets ACTION; all others end the process. */
static size_t write_list(struct sock_filter *code, const struct call *calls, size_t count, size_t one, uint32_t action)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = at + WORDS_OF_A_ROW;
        code[at++] = LOAD_NUMBER;
        code[at] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, 0, (uint8_t)(end - at - 1));
        at++;
        for (size_t half = 0; half < 8; half++) {
            uint32_t word = (uint32_t)(half % 2 ? calls[i].args[half / 2] >> 32 : calls[i].args[half / 2]);
            code[at++] = STEP(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 4 * half));
            code[at] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, (uint8_t)(end - at - 1));
            at++;
        }
        code[at++] = RETURN(i == one ? action : SECCOMP_RET_ALLOW);
    }
    code[at++] = RETURN(SECCOMP_RET_KILL_PROCESS);
    return at;
}

static void check_list(const struct call *calls, size_t count, bool (*harms_it)(const struct sock_filter *, size_t))
{
    static struct sock_filter code[ROWS * WORDS_OF_A_ROW + 1];
    assert_true(count <= ROWS);
    assert_false(harms_it(code, write_list(code, calls, count, count, 0)));
    for (size_t i = 0; i < count; i++) {
        bool killed = harms_it(code, write_list(code, calls, count, i, SECCOMP_RET_KILL_PROCESS));
        bool refused = harms_it(code, write_list(code, calls, count, i, SECCOMP_RET_ERRNO | EPERM));
        if (!killed || refused != calls[i].needed)
            fail_msg("row %zu, number %d: %d %d", i, calls[i].number, killed, refused);
    }
}

static void test_own_calls(void **state)
{
    (void)state;
    check_list(all_calls, LENGTH(all_calls), pinject_filter_harms);
    check_list(timer_calls, LENGTH(timer_calls), pinject_filter_harms_timers);
    check_list(user_calls, LENGTH(user_calls), pinject_filter_harms_user);
    check_list(&all_calls[LENGTH(all_calls) - 1], 1, pinject_filter_harms_safe_read);
}

/* Every operation of the machine, with a constant and with X, against its meaning. */
static void test_operations(void **state)
{
    static const struct {
        uint16_t operation;
        uint32_t a, with, expected;
    } cases[] = {
        {BPF_ADD, 5, 3, 8},          {BPF_SUB, 5, 7, 0xfffffffe}, {BPF_MUL, 0x10001, 0x10001, 0x20001},
        {BPF_AND, 12, 10, 8},        {BPF_OR, 12, 10, 14},        {BPF_XOR, 12, 10, 6},
        {BPF_LSH, 3, 31, 1u << 31},  {BPF_LSH, 3, 32, 0},         {BPF_LSH, 3, 33, 0},
        {BPF_RSH, 1u << 31, 31, 1},  {BPF_RSH, 1u << 31, 32, 0},  {BPF_DIV, 7, 2, 3},
        {BPF_NEG, 5, 9, 0xfffffffb},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        for (int by_x = 0; by_x < 2; by_x++) {
            struct sock_filter code[] = {
                STEP(BPF_LD | BPF_IMM, cases[i].a), STEP(BPF_LDX | BPF_IMM, by_x ? cases[i].with : 77),
                STEP((uint16_t)(BPF_ALU | cases[i].operation | (by_x ? BPF_X : BPF_K)), by_x ? 78 : cases[i].with),
                STEP(BPF_RET | BPF_A, 0)};
            assert_int_equal(answer(code, LENGTH(code), 0), cases[i].expected);
        }
    struct sock_filter zero[] = {STEP(BPF_LD | BPF_IMM, 7), STEP(BPF_ALU | BPF_DIV | BPF_X, 2),
                                 STEP(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer(zero, LENGTH(zero), 0), 0xbad); /* X is 0 */
    zero[1] = STEP(BPF_ALU | 0xf0, 2);
    assert_int_equal(answer(zero, LENGTH(zero), 0), 0xbad);
}

static void test_jumps(void **state)
{
    static const struct {
        uint16_t operation;
        uint32_t a, with;
        bool is;
    } cases[] = {
        {BPF_JEQ, 5, 5, true}, {BPF_JEQ, 5, 6, false}, {BPF_JGT, 6, 5, true},  {BPF_JGT, 5, 5, false},
        {BPF_JGE, 5, 5, true}, {BPF_JGE, 4, 5, false}, {BPF_JSET, 6, 3, true}, {BPF_JSET, 4, 3, false},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        for (int by_x = 0; by_x < 2; by_x++) {
            uint16_t operation = (uint16_t)(BPF_JMP | cases[i].operation | (by_x ? BPF_X : BPF_K));
            struct sock_filter code[] = {STEP(BPF_LD | BPF_IMM, cases[i].a),
                                         STEP(BPF_LDX | BPF_IMM, by_x ? cases[i].with : 77),
                                         JUMP(operation, by_x ? 78 : cases[i].with, 1, 2),
                                         RETURN(0),
                                         RETURN(1),
                                         RETURN(2)};
            assert_int_equal(answer(code, LENGTH(code), 0), cases[i].is ? 1 : 2);
        }
    struct sock_filter code[] = {STEP(BPF_JMP | BPF_JA, 2), RETURN(0), RETURN(1), RETURN(2)};
    assert_int_equal(answer(code, LENGTH(code), 0), 2);
    code[0].code = BPF_JMP | 0xf0;
    assert_int_equal(answer(code, LENGTH(code), 0), 0xbad);
}

/* Memory of both registers, and what moves between them. */
static void test_memory(void **state)
{
    (void)state;
    struct sock_filter code[] = {STEP(BPF_LDX | BPF_IMM, 9),         STEP(BPF_STX, 3),
                                 STEP(BPF_LD | BPF_IMM, 4),          STEP(BPF_ST, 2),
                                 STEP(BPF_LDX | BPF_MEM, 2),         STEP(BPF_LD | BPF_MEM, 3),
                                 STEP(BPF_ALU | BPF_SUB | BPF_X, 0), STEP(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer(code, LENGTH(code), 0), 5);
    code[6] = STEP(BPF_MISC | BPF_TXA, 0);
    assert_int_equal(answer(code, LENGTH(code), 0), 4);
    code[6] = STEP(BPF_LDX | BPF_W | BPF_LEN, 0);
    code[5] = STEP(BPF_MISC | BPF_TXA, 0);
    assert_int_equal(answer(code, LENGTH(code), 0), 4);
    code[6] = STEP(BPF_MISC | 0x40, 0);
    assert_int_equal(answer(code, LENGTH(code), 0), 0xbad);
    /* X is loaded from no data. */
    code[6] = STEP(BPF_LDX | BPF_W | BPF_ABS, 0);
    assert_int_equal(answer(code, LENGTH(code), 0), 0xbad);
    struct sock_filter data[] = {STEP(BPF_LD | BPF_W | BPF_ABS, 60), STEP(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer(data, LENGTH(data), 0), 0); /* the last word: the high half of the sixth argument */
    data[0].k = 56;
    assert_int_equal(answer(data, LENGTH(data), 0), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harms),      cmocka_unit_test(test_harms_safe_read_alone),
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_machine),
        cmocka_unit_test(test_no_filter),  cmocka_unit_test(test_own_calls),
        cmocka_unit_test(test_operations), cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
