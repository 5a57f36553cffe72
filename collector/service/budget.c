/* SPDX-License-Identifier: MIT */
#include "collector/service/budget.h"

/* At the border of a window two threads may lose a request's cost: it is a limit, not an account. */
static void begin_window(struct budget *budget, uint64_t now_ns)
{
    uint64_t window = __atomic_load_n(&budget->window_ns, __ATOMIC_RELAXED);
    if (now_ns < window + BUDGET_WINDOW_NS && now_ns >= window)
        return;
    if (!__atomic_compare_exchange_n(&budget->window_ns, &window, now_ns, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    uint64_t windows = now_ns >= window ? (now_ns - window) / BUDGET_WINDOW_NS : 1;
    uint64_t wasted = __atomic_load_n(&budget->wasted_ns, __ATOMIC_RELAXED);
    uint64_t forgotten = windows > wasted / BUDGET_REFILL_NS ? wasted : windows * BUDGET_REFILL_NS;
    __atomic_store_n(&budget->wasted_ns, wasted - forgotten, __ATOMIC_RELAXED);
    __atomic_store_n(&budget->told, 0, __ATOMIC_RELAXED);
}

void budget_waste(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
    begin_window(budget, now_ns);
    __atomic_fetch_add(&budget->wasted_ns, cpu_ns, __ATOMIC_RELAXED);
}

void budget_tell(struct budget *budget, uint64_t now_ns)
{
    begin_window(budget, now_ns);
    __atomic_fetch_add(&budget->told, 1, __ATOMIC_RELAXED);
}

uint64_t budget_wait_ns(struct budget *budget, uint64_t now_ns, unsigned cpus)
{
    uint64_t window = __atomic_load_n(&budget->window_ns, __ATOMIC_RELAXED);
    if (now_ns >= window + BUDGET_WINDOW_NS || now_ns < window)
        return 0;
    if (__atomic_load_n(&budget->wasted_ns, __ATOMIC_RELAXED) <= BUDGET_WASTED_NS &&
        __atomic_load_n(&budget->told, __ATOMIC_RELAXED) <= (uint64_t)BUDGET_TOLD_PER_CPU * cpus)
        return 0;
    __atomic_fetch_add(&budget->held, 1, __ATOMIC_RELAXED);
    return window + BUDGET_WINDOW_NS - now_ns;
}
