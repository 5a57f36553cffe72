/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "collector/config/event_config.h"
#include "common/buffer.h"

struct machine_fake machine_fake;

void machine_fake_say(const char *path, const char *text)
{
    struct machine_fake *fake = &machine_fake;
    unsigned i = 0;
    while (i < fake->file_count && strcmp(fake->files[i].path, path) != 0)
        i++;
    assert_true(i < FAKE_FILES && strlen(path) < sizeof(fake->files[i].path));
    fake->file_count += i == fake->file_count;
    strcpy(fake->files[i].path, path);
    if (!text)
        fake->files[i].path[0] = '\0';
    else
        assert_true(snprintf(fake->files[i].text, sizeof(fake->files[i].text), "%s", text) <
                    (int)sizeof(fake->files[i].text));
}

void machine_fake_sysctl(const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
    machine_fake_say(path, text);
}

void machine_fake_init(void)
{
    machine_fake = (struct machine_fake){.free_bytes = 100u << 20, .children_us = 5, .refusal = -EINVAL};
    for (unsigned i = 0; i < FAKE_LIMITS; i++)
        machine_fake.limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    machine_fake_sysctl("perf_event_paranoid", "2\n");
    machine_fake_sysctl("perf_event_max_sample_rate", "100000\n");
    machine_fake_sysctl("perf_cpu_time_max_percent", "25\n");
    machine_fake_sysctl("perf_event_mlock_kb", "516\n");
    machine_fake_sysctl("perf_event_max_stack", "127\n");
    machine_fake_sysctl("kptr_restrict", "0\n");
    machine_fake_sysctl("pid_max", "32768\n");
    machine_fake_sysctl("threads-max", "60000\n");
    machine_fake_sysctl("yama/ptrace_scope", "1\n");
    machine_fake_say("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
    machine_fake_say("/proc/self/schedstat", "1 2 3\n");
    machine_fake_say("/proc/kallsyms", "0000000000000000 A first\nffffffff81000000 T _text\n");
    machine_fake_say("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Abacus 3000\nflags\t\t: fpu\n");
    machine_fake_say("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    machine_fake_say("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet\n");
}

static bool is_faked(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

static const char *text_of(const char *path)
{
    for (unsigned i = 0; i < machine_fake.file_count; i++)
        if (strcmp(machine_fake.files[i].path, path) == 0)
            return machine_fake.files[i].text;
    return NULL;
}

/* ---- In the place of others ---- */

int __real_buffer_read_file(struct buffer *buffer, const char *path, size_t limit);
int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit);
int __wrap_buffer_read_file(struct buffer *buffer, const char *path, size_t limit)
{
    const char *text = text_of(path);
    if (!is_faked(path))
        return __real_buffer_read_file(buffer, path, limit);
    if (!text)
        return -ENOENT;
    assert_true(strlen(text) <= limit);
    buffer_append(buffer, text, strlen(text) + 1);
    buffer->size--;
    return 0;
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    const char *text = text_of(path);
    if (!is_faked(path))
        return __real_fopen(path, mode);
    if (!text)
        errno = ENOENT;
    return text ? fmemopen((void *)text, strlen(text), "r") : NULL;
}

int __real_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
    if (!machine_fake.tmpfile_error || (flags & O_TMPFILE) != O_TMPFILE)
        return __real_open(path, flags, mode);
    errno = machine_fake.tmpfile_error;
    return -1;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    if (is_faked(path))
        errno = text_of(path) ? 0 : ENOENT;
    else if (machine_fake.access_error)
        errno = machine_fake.access_error > 0 ? machine_fake.access_error : 0;
    else
        return __real_access(path, mode);
    return errno ? -1 : 0;
}

int __wrap_statvfs(const char *path, struct statvfs *ret);
int __wrap_statvfs(const char *path, struct statvfs *ret)
{
    (void)path;
    errno = EIO;
    *ret = (struct statvfs){
        .f_bsize = 1, .f_frsize = 4096, .f_bavail = machine_fake.free_bytes / 4096, .f_flag = machine_fake.mount_flags};
    return machine_fake.statvfs_fails ? -1 : 0;
}

int __wrap_getrlimit(int which, struct rlimit *ret);
int __wrap_getrlimit(int which, struct rlimit *ret)
{
    *ret = machine_fake.limits[which];
    return 0;
}

int __real_getrusage(int who, struct rusage *ret);
int __wrap_getrusage(int who, struct rusage *ret);
int __wrap_getrusage(int who, struct rusage *ret)
{
    if (who != RUSAGE_CHILDREN)
        return __real_getrusage(who, ret);
    *ret = (struct rusage){.ru_stime.tv_usec = (suseconds_t)machine_fake.children_us};
    return 0;
}

int __real_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size)
{
    unsigned call = machine_fake.fallocate_calls++;
    errno = call < 4 ? machine_fake.fallocate_errors[call] : 0;
    (void)fd, (void)mode, (void)from, (void)size;
    return errno ? -1 : 0;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return machine_fake.user;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE ? 4096 : name == _SC_NPROCESSORS_ONLN ? 2 : __real_sysconf(name);
}

int __wrap_uname(struct utsname *ret);
int __wrap_uname(struct utsname *ret)
{
    *ret = (struct utsname){.sysname = "Linux", .release = "6.18.5", .machine = "x86_64"};
    return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret)
{
    (void)pid;
    CPU_ZERO_S(size, ret);
    CPU_SET_S(1, size, ret);
    return 0;
}

int __wrap_stacks_try(const struct event_config *config);
int __wrap_stacks_try(const struct event_config *config)
{
    (void)config;
    return machine_fake.stacks_status;
}

bool __wrap_probe_inherits_values(void);
bool __wrap_probe_inherits_values(void)
{
    return !machine_fake.no_inherited_values;
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number != SYS_perf_event_open)
        return __real_syscall(number, a, b, c, d, e, f);
    const struct perf_event_attr *attr = (const void *)(uintptr_t)a;
    if (!attr) { /* to see who answers */
        assert_true((int)b == 0 && (int)c == -1 && (int)d == -1 && e == -1);
        errno = -machine_fake.refusal;
        return -1;
    }
    /* On the calling thread, on any CPU; it does not run yet, and no program gets it. */
    assert_true((int)b == 0 && (int)c == -1 && (int)d >= -1 && (int)e == PERF_FLAG_FD_CLOEXEC && attr->disabled);
    machine_fake.group = (int)d;
    int status = machine_fake.perf ? machine_fake.perf(attr) : 0;
    errno = -status;
    if (status < 0)
        return -1;
    int fd = memfd_create("event", MFD_CLOEXEC); /* can be mapped */
    assert_int_equal(ftruncate(fd, 16 << 20), 0);
    return fd;
}

/* ---- Golden files ---- */

char *check_replaced(char *text, const char *what, const char *word)
{
    struct buffer made = BUFFER_INIT;
    const char *at = text, *found;
    while ((found = strstr(at, what))) {
        buffer_printf(&made, "%.*s%s", (int)(found - at), at, word);
        at = found + strlen(what);
    }
    buffer_printf(&made, "%s", at);
    buffer_append(&made, "", 1);
    assert_false(buffer_failed(&made));
    free(text);
    return (char *)made.data;
}

static void show_difference(const char *name, const char *text, const char *wanted)
{
    size_t same = 0;
    while (text[same] && text[same] == wanted[same])
        same++;
    while (same && text[same - 1] != '\n')
        same--;
    fail_msg("%s.txt differs:\nwanted: %.*s\nis:     %.*s", name, (int)strcspn(wanted + same, "\n"), wanted + same,
             (int)strcspn(text + same, "\n"), text + same);
}

void check_golden(const char *name, const char *text)
{
    const char *wish = getenv("PINJECT_GOLDEN");
    struct buffer wanted = BUFFER_INIT;
    char path[512];
    snprintf(path, sizeof(path), "%s/golden/%s.txt", TEST_DATA, name);
    if (wish && strcmp(wish, "write") == 0) {
        FILE *to = __real_fopen(path, "w");
        assert_non_null(to);
        assert_true(fputs(text, to) >= 0);
        assert_int_equal(fclose(to), 0);
        return;
    }
    assert_int_equal(__real_buffer_read_file(&wanted, path, 16 << 20), 0);
    buffer_append(&wanted, "", 1);
    if (strcmp(text, (const char *)wanted.data) != 0)
        show_difference(name, text, (const char *)wanted.data);
    buffer_release(&wanted);
}
