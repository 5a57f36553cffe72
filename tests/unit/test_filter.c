/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define STEP(code, k) (struct sock_filter)BPF_STMT(code, k)
#define JUMP(code, k, jt, jf) (struct sock_filter)BPF_JUMP(code, k, jt, jf)
#define LOAD_NUMBER STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(action) STEP(BPF_RET | BPF_K, action)

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
                                   SECCOMP_RET_TRACE | 5, SECCOMP_RET_USER_NOTIF, 0x12340000};
    static const int ours[] = {SYS_gettid, SYS_futex, SYS_statx, SYS_getcpu, SYS_clock_gettime, SYS_rt_sigprocmask,
                               SYS_munmap, SYS_fcntl};
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

static void test_harms_reach_alone(void **state)
{
    (void)state;
    struct sock_filter code[] = {LOAD_NUMBER, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
                                 RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)};
    assert_true(pinject_filter_harms_reach(code, LENGTH(code)));
    code[1].k = SYS_futex;
    assert_false(pinject_filter_harms_reach(code, LENGTH(code)));
    assert_true(pinject_filter_harms(code, LENGTH(code)));
}

/* By an argument: the low half of the first one of futex is any address, prctl's is what is asked. */
static void test_arguments(void **state)
{
    (void)state;
    struct sock_filter code[] = {
        LOAD_NUMBER, JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_GET_NAME, 0, 1), RETURN(SECCOMP_RET_TRAP), RETURN(SECCOMP_RET_ALLOW)};
    assert_true(pinject_filter_harms(code, LENGTH(code)));
    code[3].k = PR_SET_NAME;
    assert_false(pinject_filter_harms(code, LENGTH(code)));
}

static void test_machine(void **state)
{
    (void)state;
    struct sock_filter code[] = {
        STEP(BPF_LD | BPF_IMM, 7), STEP(BPF_ST, 15), STEP(BPF_LDX | BPF_IMM, 3),
        STEP(BPF_ALU | BPF_MUL | BPF_X, 0), STEP(BPF_ALU | BPF_ADD | BPF_K, 1), STEP(BPF_ALU | BPF_LSH | BPF_K, 4),
        STEP(BPF_ALU | BPF_OR | BPF_K, 5), STEP(BPF_ALU | BPF_XOR | BPF_K, 0xff), STEP(BPF_ALU | BPF_SUB | BPF_X, 0),
        STEP(BPF_MISC | BPF_TAX, 0), STEP(BPF_LD | BPF_MEM, 15), STEP(BPF_ALU | BPF_ADD | BPF_X, 0),
        STEP(BPF_ALU | BPF_DIV | BPF_K, 2), STEP(BPF_ALU | BPF_RSH | BPF_K, 1), STEP(BPF_ALU | BPF_NEG, 0),
        STEP(BPF_RET | BPF_A, 0)};
    uint32_t value = ((((7u * 3 + 1) << 4) | 5) ^ 0xff) - 3;
    assert_int_equal(answer(code, LENGTH(code), 0), 0u - (((value + 7) / 2) >> 1));
    struct sock_filter words[] = {STEP(BPF_LD | BPF_W | BPF_ABS, 20), STEP(BPF_RET | BPF_A, 0)};
    assert_int_equal(answer(words, 2, 0), 1);
    words[0] = STEP(BPF_LD | BPF_W | BPF_LEN, 0);
    assert_int_equal(answer(words, 2, 0), sizeof(struct seccomp_data));
    struct sock_filter jumps[] = {LOAD_NUMBER, JUMP(BPF_JMP | BPF_JGE | BPF_K, 10, 0, 2),
                                  JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 2), RETURN(1), RETURN(2), RETURN(3)};
    assert_int_equal(answer(jumps, LENGTH(jumps), 11), 1);
    assert_int_equal(answer(jumps, LENGTH(jumps), 9), 2);
    assert_int_equal(answer(jumps, LENGTH(jumps), 12), 3);
}

/* What the kernel refuses is no filter; and nothing outside of it or of the data is ever read. */
static void test_no_filter(void **state)
{
    (void)state;
    struct sock_filter code[] = {LOAD_NUMBER, RETURN(SECCOMP_RET_ALLOW)};
    static const struct sock_filter bad[] = {
        {0xffff, 0, 0, 0}, {BPF_LD | BPF_W | BPF_ABS, 0, 0, 64}, {BPF_LD | BPF_W | BPF_ABS, 0, 0, 2},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0xfffffffc}, {BPF_LD | BPF_MEM, 0, 0, 16}, {BPF_ST, 0, 0, 0xffffffff},
        {BPF_JMP | BPF_JA, 0, 0, 1}, {BPF_JMP | BPF_JA, 0, 0, 0xffffffff}, {BPF_JMP | BPF_JEQ, 200, 200, 0},
        {BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0}, {BPF_LD | BPF_W | BPF_IND, 0, 0, 0}, {BPF_LDX | BPF_MSH, 0, 0, 0}};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harms), cmocka_unit_test(test_harms_reach_alone), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_machine), cmocka_unit_test(test_no_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
