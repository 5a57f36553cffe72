/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: they return -errno and touch neither errno nor any thread state, so they may be used on
 * borrowed memory (child of vfork), in signal handlers, in a child of a multithreaded process and before libc has
 * initialised itself.
 */
#ifndef PINJECT_PRELOAD_SYS_H
#define PINJECT_PRELOAD_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <errno.h>
#endif

/* Newer than the oldest headers that we build with; the same number on all architectures. */
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    int saved = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
#endif
}

#define SYS_0(number)                sys_call(number, 0, 0, 0, 0, 0, 0)
#define SYS_1(number, a)             sys_call(number, (long)(a), 0, 0, 0, 0, 0)
#define SYS_2(number, a, b)          sys_call(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS_3(number, a, b, c)       sys_call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS_4(number, a, b, c, d)    sys_call(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS_5(number, a, b, c, d, e) sys_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS_6(number, a, b, c, d, e, f) \
    sys_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Differs from thread to thread, and is the same in a child of fork. */
static inline uintptr_t sys_thread_pointer(void)
{
#if defined(__x86_64__)
    uintptr_t pointer; /* gcc has a builtin for it since 11 */
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

/*
 * Does valgrind run the program? It would take what we do for what the program does. This is valgrind's client request;
 * a real processor changes nothing by these instructions.
 */
static inline bool sys_on_valgrind(void)
{
    volatile uint64_t request[6] = {0x1001};
    uint64_t result = 0;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(request)
                     : "cc", "memory");
#elif defined(__aarch64__)
    register uint64_t x3 __asm__("x3") = 0;
    register volatile uint64_t *x4 __asm__("x4") = request;
    __asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61; orr x10, x10, x10"
                     : "+r"(x3)
                     : "r"(x4)
                     : "cc", "memory");
    result = x3;
#endif
    return result != 0;
}

static inline int sys_getpid(void)
{
    return (int)SYS_0(SYS_getpid);
}

/* The name of the calling task: 16 bytes with the NUL. */
static inline void sys_get_name(char *name)
{
    SYS_5(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
}

static inline int sys_getppid(void)
{
    return (int)SYS_0(SYS_getppid);
}

static inline int sys_gettid(void)
{
    return (int)SYS_0(SYS_gettid);
}

static inline int sys_open(const char *path, int flags)
{
    return (int)SYS_4(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int sys_close(int fd)
{
    return (int)SYS_1(SYS_close, fd);
}

static inline long sys_read(int fd, void *bytes, size_t size)
{
    return SYS_3(SYS_read, fd, bytes, size);
}

static inline long sys_pread(int fd, void *bytes, size_t size, uint64_t offset)
{
    return SYS_4(SYS_pread64, fd, bytes, size, offset);
}

static inline long sys_readlink(const char *path, char *bytes, size_t size)
{
    return SYS_4(SYS_readlinkat, AT_FDCWD, path, bytes, size);
}

/* The layout of struct stat differs between architectures and libcs; that of statx does not. */
static inline int sys_statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret_status)
{
    return (int)SYS_5(SYS_statx, fd, path, flags, mask, ret_status);
}

/*
 * The holder of the lock on the first byte of the file: its pid in our pid namespace; 0: none; negative: it has no pid
 * here, or that is unknown.
 */
static inline int sys_lock_holder(int fd)
{
#if __SIZEOF_LONG__ == 8
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    int error = (int)SYS_3(SYS_fcntl, fd, F_GETLK, &lock);
    if (error < 0)
        return error;
    if (lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : -1;
#else
    (void)fd;
    return -1; /* two layouts of the structure */
#endif
}

static inline int sys_kill(int pid, int signal)
{
    return (int)SYS_2(SYS_kill, pid, signal);
}

static inline bool sys_exists(const char *path)
{
    return SYS_3(SYS_faccessat, AT_FDCWD, path, 0) == 0;
}

static inline bool sys_failed(const void *mapping)
{
    return (uintptr_t)mapping >= (uintptr_t)-4095;
}

static inline void *sys_map(size_t size, int protection, int flags, int fd)
{
    return (void *)SYS_6(SYS_mmap, 0, size, protection, flags, fd, 0);
}

static inline void sys_unmap(void *mapping, size_t size)
{
    SYS_2(SYS_munmap, mapping, size);
}

static inline long sys_futex_wake(uint32_t *word, int count)
{
    return SYS_3(SYS_futex, word, FUTEX_WAKE, count);
}

/* Waits until the word is not `expected`, a wake, a signal, or the absolute time of CLOCK_MONOTONIC. */
static inline long sys_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *deadline)
{
    return SYS_6(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline, 0, FUTEX_BITSET_MATCH_ANY);
}

static inline uint64_t sys_clock_ns(clockid_t id)
{
    struct timespec now = {0, 0};
    SYS_2(SYS_clock_gettime, id, &now); /* not the vDSO: libc's function may be that of an uninitialized sanitizer */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int sys_cpu(void)
{
    unsigned cpu = 0;
    return SYS_3(SYS_getcpu, &cpu, 0, 0) < 0 ? -1 : (int)cpu;
}

/* SCHED_FIFO, SCHED_RR, SCHED_DEADLINE: such a task must not wait, or others run before it. */
static inline bool sys_is_real_time(void)
{
    long policy = SYS_1(SYS_sched_getscheduler, 0) & 0xff; /* without SCHED_RESET_ON_FORK */
    return policy == 1 || policy == 2 || policy == 6;
}

/* Lets others have the CPU; still runnable (state R). */
static inline long sys_yield(void)
{
    return SYS_0(SYS_sched_yield);
}

static inline void sys_sleep_ns(uint32_t ns)
{
    struct timespec pause = {0, (long)ns};
    SYS_2(SYS_nanosleep, &pause, 0);
}

#endif
