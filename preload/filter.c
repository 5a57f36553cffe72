/* SPDX-License-Identifier: MIT */
/* The interpreter of seccomp(2): classic BPF over struct seccomp_data. Its jumps only go forward, so it terminates. */
#include "filter.h"
#include "sys.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/prctl.h>
#include <signal.h>
#include "text.h"
#include <sys/resource.h>

struct machine {
    uint32_t a, x;
    uint32_t memory[BPF_MEMWORDS];
};

static bool calculate(struct machine *machine, const struct sock_filter *code)
{
    uint32_t with = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    switch (BPF_OP(code->code)) {
    case BPF_ADD: machine->a += with; return true;
    case BPF_SUB: machine->a -= with; return true;
    case BPF_MUL: machine->a *= with; return true;
    case BPF_AND: machine->a &= with; return true;
    case BPF_OR: machine->a |= with; return true;
    case BPF_XOR: machine->a ^= with; return true;
    case BPF_LSH: machine->a = with < 32 ? machine->a << with : 0; return true;
    case BPF_RSH: machine->a = with < 32 ? machine->a >> with : 0; return true;
    case BPF_NEG: machine->a = 0u - machine->a; return true;
    case BPF_DIV: machine->a = with ? machine->a / with : 0; return with != 0;
    default: return false;
    }
}

/* *RET_SKIP: instructions to skip. */
static bool jump(const struct machine *machine, const struct sock_filter *code, size_t *ret_skip)
{
    uint32_t with = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    bool is;
    switch (BPF_OP(code->code)) {
    case BPF_JA: *ret_skip = code->k; return true;
    case BPF_JEQ: is = machine->a == with; break;
    case BPF_JGT: is = machine->a > with; break;
    case BPF_JGE: is = machine->a >= with; break;
    case BPF_JSET: is = machine->a & with; break;
    default: return false;
    }
    *ret_skip = is ? code->jt : code->jf;
    return true;
}

static bool load(struct machine *machine, const struct sock_filter *code, const struct seccomp_data *data)
{
    uint32_t value;
    switch (BPF_MODE(code->code)) {
    case BPF_IMM: value = code->k; break;
    case BPF_LEN: value = sizeof(*data); break;
    case BPF_MEM:
        if (code->k >= BPF_MEMWORDS)
            return false;
        value = machine->memory[code->k];
        break;
    case BPF_ABS:
        if (BPF_CLASS(code->code) != BPF_LD || code->k % 4 != 0 || code->k > sizeof(*data) - 4)
            return false;
        memcpy(&value, (const char *)data + code->k, sizeof(value));
        break;
    default: return false;
    }
    *(BPF_CLASS(code->code) == BPF_LD ? &machine->a : &machine->x) = value;
    return true;
}

/* Executes everything but jumps and the end. */
static bool step(struct machine *machine, const struct sock_filter *code, const struct seccomp_data *data)
{
    switch (BPF_CLASS(code->code)) {
    case BPF_LD:
    case BPF_LDX: return load(machine, code, data);
    case BPF_ST:
    case BPF_STX:
        if (code->k >= BPF_MEMWORDS)
            return false;
        machine->memory[code->k] = BPF_CLASS(code->code) == BPF_ST ? machine->a : machine->x;
        return true;
    case BPF_ALU: return calculate(machine, code);
    case BPF_MISC:
        if (code->code == (BPF_MISC | BPF_TAX))
            machine->x = machine->a;
        else
            machine->a = machine->x;
        return code->code == (BPF_MISC | BPF_TAX) || code->code == (BPF_MISC | BPF_TXA);
    default: return false;
    }
}

bool pinject_filter_run(const struct sock_filter *code, size_t length, const struct seccomp_data *data,
                        uint32_t *ret_action)
{
    struct machine machine = {0};
    size_t skip;
    for (size_t at = 0; at < length; at++) {
        switch (BPF_CLASS(code[at].code)) {
        case BPF_RET: *ret_action = BPF_RVAL(code[at].code) == BPF_A ? machine.a : code[at].k; return true;
        case BPF_JMP:
            if (!jump(&machine, &code[at], &skip) || skip >= length - at)
                return false;
            at += skip;
            break;
        default:
            if (!step(&machine, &code[at], data))
                return false;
        }
    }
    return false;
}

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0 /* a number that no filter lists: all calls count as harmed */
#endif

struct own_call {
    int number;
    uint64_t args[4];
    bool needed; /* must not be refused: a wait without end, or a task without a number, is worse than no request */
};

static bool is_harmed(const struct sock_filter *code, size_t length, const struct own_call *call)
{
    struct seccomp_data data = {
        .nr = call->number, .arch = OWN_ARCHITECTURE, .instruction_pointer = (uintptr_t)pinject_filter_harms};
    uint32_t action;
    for (int i = 0; i < 4; i++)
        data.args[i] = call->args[i];
    if (!pinject_filter_run(code, length, &data, &action))
        return true;
    action &= SECCOMP_RET_ACTION_FULL;
    return action != SECCOMP_RET_ALLOW && (call->needed || action != SECCOMP_RET_ERRNO);
}

#define DIRECTORY ((uint64_t)(int64_t)AT_FDCWD)

static const struct own_call safe_read = {SYS_rt_sigprocmask, {(uint64_t)-1, 0x1000, 0, 8}, false};

/*
 * The calls of sys.h after the constructor, and in the constructor of a followed exec generation. Pointers are
 * arbitrary.
 */
static const struct own_call calls[] = {
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
    {SYS_openat, {DIRECTORY, 0x1000, O_RDONLY | O_CLOEXEC}, false},
    {SYS_openat, {DIRECTORY, 0x1000, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {DIRECTORY, 0x1000, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {DIRECTORY, 0x1000, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY}, false},
    {SYS_openat, {DIRECTORY, 0x1000, O_PATH | O_DIRECTORY | O_CLOEXEC}, false},
    {SYS_statx, {DIRECTORY, 0x1000, 0, STATX_TYPE | STATX_MODE}, false},
    {SYS_faccessat, {DIRECTORY, 0x1000, 0}, false},
    {SYS_faccessat, {DIRECTORY, 0x1000, X_OK}, false},
    {SYS_faccessat2, {DIRECTORY, 0x1000, X_OK, AT_EACCESS}, false},
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
};

/* The calls of the handler, and those that start and end a timer. We cannot avoid the handler's return. */
static const struct own_call timer_calls[] = {
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

/* The calls for a change of user. The socket is not used under a filter that is newer than the collector (peer.c). */
static const struct own_call user_calls[] = {
    {SYS_getresuid, {0x1000, 0x1000, 0x1000}, false},
    {SYS_mremap, {0x1000, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED}, false},
    {SYS_mmap, {0x1000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED}, false},
    {SYS_mmap, {0x1000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}, false},
    {SYS_prctl, {PR_GET_SECCOMP}, false},
};

bool pinject_filter_harms_user(const struct sock_filter *code, size_t length)
{
    for (size_t i = 0; i < sizeof(user_calls) / sizeof(user_calls[0]); i++)
        if (is_harmed(code, length, &user_calls[i]))
            return true;
    return false;
}

bool pinject_filter_harms_timers(const struct sock_filter *code, size_t length)
{
    for (size_t i = 0; i < sizeof(timer_calls) / sizeof(timer_calls[0]); i++)
        if (is_harmed(code, length, &timer_calls[i]))
            return true;
    return false;
}

bool pinject_filter_harms_safe_read(const struct sock_filter *code, size_t length)
{
    return is_harmed(code, length, &safe_read);
}

bool pinject_filter_harms(const struct sock_filter *code, size_t length)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (is_harmed(code, length, &calls[i]))
            return true;
    return pinject_filter_harms_safe_read(code, length);
}
