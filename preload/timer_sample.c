/* SPDX-License-Identifier: MIT */
/*
 * What the handler does: it writes perf records as the kernel writes them. Only system calls and our own memory; the
 * program's memory is read by process_vm_readv(2), which fails where a load would fault.
 */
#include "sys.h"
#include "timer.h"

#include <sys/resource.h>
#include <sys/uio.h>
#include <ucontext.h>

enum {
    FRAMES = 127,     /* as many as the kernel gives (perf_event_max_stack), besides the mark PERF_CONTEXT_USER */
    SAMPLE_WORDS = 6, /* header, IDENTIFIER, IP, TID, TIME, PERIOD */
    LOST_WORDS = 6,   /* header, id, lost, TID, TIME, IDENTIFIER */
    WINDOW = 512,     /* bytes of stack that are read at once */
};

/* A record that is being written. */
struct writer {
    struct pinject_sampler *sampler;
    uint64_t at;
};

static void put_word(struct writer *writer, uint64_t word)
{
    /* Whole words: the ring's size is a multiple of 8, and so is every record's. */
    *(uint64_t *)(void *)(writer->sampler->data + (writer->at & (PINJECT_RING_DATA - 1))) = word;
    writer->at += sizeof(word);
}

static void put_header(struct pinject_sampler *sampler, uint32_t type, uint16_t misc, uint64_t size)
{
    struct perf_event_header *header = (struct perf_event_header *)(void *)(sampler->data +
                                                                            (sampler->at & (PINJECT_RING_DATA - 1)));
    *header = (struct perf_event_header){.type = type, .misc = misc, .size = (uint16_t)size};
}

static void publish_record(struct pinject_sampler *sampler, uint64_t at)
{
    sampler->at = at;
    /* Pairs with the acquire in pinject_ring_begin(): the record is complete. */
    __atomic_store_n(&sampler->page->data_head, at, __ATOMIC_RELEASE);
}

static bool has_room(const struct pinject_sampler *sampler, uint64_t words)
{
    /* Pairs with the release in pinject_ring_end(): the reader is done with everything before it. */
    uint64_t used = sampler->at - __atomic_load_n(&sampler->page->data_tail, __ATOMIC_ACQUIRE);
    return used <= PINJECT_RING_DATA && PINJECT_RING_DATA - used >= words * sizeof(uint64_t);
}

static uint64_t pair_words(uint32_t low, uint32_t high)
{
    uint32_t words[2] = {low, high};
    uint64_t word;
    __builtin_memcpy(&word, words, sizeof(word));
    return word;
}

/* ---- Stacks ---- */

struct registers {
    uint64_t ip, frame;
};

static struct registers registers_of(const void *context)
{
    const ucontext_t *user = context;
#if defined(__x86_64__)
    return (struct registers){(uint64_t)user->uc_mcontext.gregs[REG_RIP], (uint64_t)user->uc_mcontext.gregs[REG_RBP]};
#elif defined(__aarch64__)
    return (struct registers){user->uc_mcontext.pc, user->uc_mcontext.regs[29]};
#else
    (void)user;
    return (struct registers){0, 0};
#endif
}

/* The part of the stack that was read last. */
struct window {
    uint64_t start, size;
    uint64_t words[WINDOW / 8];
};

static bool read_window(const struct pinject_sampler *sampler, struct window *window, uint64_t at)
{
    /* At most up to the end of its page: the next one may not be mapped. */
    uint64_t rest = 4096 - at % 4096;
    struct iovec to = {window->words, rest < WINDOW ? rest : WINDOW};
    struct iovec from = {(void *)(uintptr_t)at, to.iov_len};
    long got = SYS_6(SYS_process_vm_readv, sampler->tid, &to, 1, &from, 1, 0);
    window->start = at;
    window->size = got > 0 ? (uint64_t)got : 0;
    return got > 0;
}

static bool read_word(const struct pinject_sampler *sampler, struct window *window, uint64_t at, uint64_t *ret)
{
    bool inside = at >= window->start && at - window->start < window->size && window->size - (at - window->start) >= 8;
    if (!inside && (!read_window(sampler, window, at) || window->size < 8))
        return false;
    *ret = window->words[(at - window->start) / 8];
    return true;
}

/* Follows frame pointers as the kernel does for perf, but only upwards. Returns the number of entries written. */
static uint64_t put_chain(struct writer *writer, struct registers registers)
{
    struct window window = {.start = 0, .size = 0};
    uint64_t count = 1, frame = registers.frame;
    put_word(writer, registers.ip);
    while (count < FRAMES && frame && frame % 8 == 0) {
        uint64_t next, back;
        if (!read_word(writer->sampler, &window, frame, &next) ||
            !read_word(writer->sampler, &window, frame + 8, &back))
            break;
        put_word(writer, back);
        count++;
        if (next <= frame)
            break;
        frame = next;
    }
    return count;
}

/* ---- Records ---- */

/* Reports the samples lost since the last report. Written as soon as there is room, with a sample after it. */
static void put_lost(struct pinject_sampler *sampler, uint64_t now_ns)
{
    struct writer writer = {sampler, sampler->at + sizeof(struct perf_event_header)};
    if (sampler->lost == sampler->told)
        return;
    put_header(sampler, PERF_RECORD_LOST, 0, LOST_WORDS * sizeof(uint64_t));
    put_word(&writer, sampler->id);
    put_word(&writer, sampler->lost - sampler->told);
    put_word(&writer, pair_words((uint32_t)sampler->pid, (uint32_t)sampler->tid));
    put_word(&writer, now_ns);
    put_word(&writer, sampler->id);
    sampler->told = sampler->lost;
    publish_record(sampler, writer.at);
}

static void put_sample(struct pinject_sampler *sampler, uint64_t now_ns, uint64_t period_ns, struct registers registers)
{
    struct writer writer = {sampler, sampler->at + sizeof(struct perf_event_header)};
    put_word(&writer, sampler->id);
    put_word(&writer, registers.ip);
    put_word(&writer, pair_words((uint32_t)sampler->pid, (uint32_t)sampler->tid));
    put_word(&writer, now_ns);
    put_word(&writer, period_ns);
    if (sampler->flags & PINJECT_TIMER_CHAINS) {
        struct writer count = writer;
        put_word(&writer, 0);
        put_word(&writer, (uint64_t)PERF_CONTEXT_USER);
        put_word(&count, 1 + put_chain(&writer, registers));
    }
    put_header(sampler, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, writer.at - sampler->at);
    publish_record(sampler, writer.at);
}

uint64_t pinject_sampler_count(struct pinject_sampler *sampler)
{
    struct pinject_timer_head *head = sampler->head;
    struct rusage usage;
    __atomic_store_n(&head->cpu_ns, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
    if (SYS_2(SYS_getrusage, RUSAGE_THREAD, &usage) < 0)
        return 0;
    __atomic_store_n(&head->faults, (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt, __ATOMIC_RELAXED);
    __atomic_store_n(&head->switches, (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw, __ATOMIC_RELAXED);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000000u + (uint64_t)usage.ru_utime.tv_usec * 1000u;
}

static uint64_t weigh_sample(struct pinject_sampler *sampler, uint64_t overrun, uint64_t user_ns)
{
    uint64_t last = sampler->user_ns;
    /* The clock may step back a little: no time is weighed twice. */
    sampler->user_ns = user_ns > last ? user_ns : last;
    if (!last || !user_ns || sampler->by_overrun)
        return (1 + overrun) * sampler->interval_ns;
    return user_ns > last ? user_ns - last : 1;
}

void pinject_sampler_take(struct pinject_sampler *sampler, uint64_t overrun, const void *context)
{
    uint64_t user_ns = pinject_sampler_count(sampler);
    if (!(sampler->flags & PINJECT_TIMER_SAMPLES))
        return;
    if (!has_room(sampler, LOST_WORDS + SAMPLE_WORDS + 2 + FRAMES)) {
        __atomic_store_n(&sampler->head->lost, ++sampler->lost, __ATOMIC_RELAXED);
        return;
    }
    uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);
    put_lost(sampler, now_ns);
    put_sample(sampler, now_ns, weigh_sample(sampler, overrun, user_ns), registers_of(context));
}
