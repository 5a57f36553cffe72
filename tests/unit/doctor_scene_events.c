/* SPDX-License-Identifier: MIT */
/* Events that are refused in one way or another, rates, clocks. */
#include "doctor_scene.h"

#include <errno.h>
#include <signal.h>

#define CLOCKS "/sys/devices/system/clocksource/clocksource0/"

static void refuse(int refusal, int error)
{
    shared.refusal = refusal;
    shared.user = shared.kernel = shared.cycles = error;
    facts.cost.tried = false;
    shared.config_status = error;
}

static void user(void)
{
    scene_be_user();
    shared.kernel = -EACCES;
    facts.status.bounding = 0;
}

static void user_who_may_be_allowed(void)
{
    scene_be_user();
    shared.kernel = -EACCES;
    machine_fake_sysctl("kptr_restrict", NULL);
}

static void user_without_new_rights(void)
{
    user_who_may_be_allowed();
    facts.status.no_new_privileges = true;
    facts.container = "podman";
}

static void user_in_a_container(void)
{
    user();
    facts.container = "docker";
}

static void user_in_a_container_on_a_strict_host(void)
{
    user_in_a_container();
    machine_fake_sysctl("kptr_restrict", "2\n");
}

static void root_in_a_container(void)
{
    user_in_a_container();
    facts.uid = 0;
}

static void root_of_a_namespace(void)
{
    shared.kernel = -EACCES;
    facts.user_namespace = true;
}

static void kernel_locked_down(void)
{
    shared.kernel = -EPERM;
    facts.status.capabilities = UINT64_C(1) << 38;
}

static void kernel_locked_down_for_all(void)
{
    scene_be_user();
    shared.kernel = -EPERM;
    facts.paranoid = 1;
}

static void paranoid(void)
{
    scene_be_user();
    refuse(-EINVAL, -EACCES);
    facts.paranoid = 3;
}

static void paranoid_in_a_container(void)
{
    paranoid();
    facts.container = "docker";
    facts.status.bounding = 0;
}

static void paranoid_with_timers(void)
{
    paranoid();
    shared.config_status = 0;
    shared.memory_read = -EPERM;
}

static void filtered(void)
{
    refuse(-EPERM, -EPERM);
    facts.status.seccomp = 2;
}

static void filtered_in_a_container(void)
{
    scene_be_user();
    filtered();
    facts.container = "docker";
    facts.paranoid = 4;
    facts.timer = (struct doctor_guarded){.signal = SIGSYS};
}

static void killed_by_a_filter(void)
{
    refuse(0, -ENOSYS);
    facts.perf = (struct doctor_guarded){.signal = SIGSYS};
    facts.injection = facts.config = (struct doctor_guarded){0};
    facts.paranoid = INT64_MIN;
}

static void sandboxed(void)
{
    refuse(-ENOSYS, -ENOSYS);
    shared.timer = -ENOSYS;
}

static void no_perf_events(void)
{
    refuse(-ENOSYS, -ENOSYS);
    facts.paranoid = INT64_MIN;
    shared.timer_fired = false;
}

static void no_descriptors(void)
{
    refuse(-EINVAL, -EMFILE);
    facts.config.tried = false;
    strcpy(facts.config.said, "too many open files; raise 'ulimit -n'");
}

static void another_refusal(void)
{
    refuse(-EINVAL, -ENODEV);
}

static void refused_by_a_module(void)
{
    refuse(-EINVAL, -EACCES);
    facts.status.seccomp = 2;
    machine_fake_say("/sys/kernel/security/lsm", "lockdown,selin\033ux\n");
}

static void refused_by_an_unknown_module(void)
{
    scene_be_user();
    refuse(-EINVAL, -EACCES);
    facts.status.seccomp = 1;
    facts.paranoid = INT64_MIN;
}

static void trials_that_fail(void)
{
    facts.perf = (struct doctor_guarded){.error = -EAGAIN};
    facts.config.tried = facts.timer.tried = facts.cost.tried = facts.injection.tried = false;
    facts.injection.error = -EAGAIN;
}

static void trials_that_are_killed(void)
{
    facts.perf = facts.injection = (struct doctor_guarded){.signal = SIGKILL};
    facts.config.tried = false;
    strcpy(facts.injection.said, "what it said");
}

static void no_cycles(void)
{
    shared.cycles = -ENOENT;
    shared.timer_fired = false;
}

static void busy_counters(void)
{
    shared.cycles = -EBUSY;
    shared.timer = -EAGAIN;
}

static void refused_counters(void)
{
    shared.cycles = -EIO;
    facts.timer.tried = false;
}

static void only_counting(void)
{
    shared.config.sampling = 0;
    shared.config.dummy = true;
    facts.cost.tried = false;
}

static void nothing_configured(void)
{
    shared.config.count = 0;
    shared.config.sampling = 0;
    shared.cost.status = -EACCES;
}

static void a_rate_too_high(void)
{
    settings.frequency = 100001;
    shared.cost.status = -EOPNOTSUPP;
}

static void the_highest_rate(void)
{
    settings.frequency = 100000;
    shared.cost.ns = 9999;
    machine_fake_sysctl("perf_cpu_time_max_percent", "0\n");
}

static void a_limit_of_none(void)
{
    machine_fake_sysctl("perf_event_max_sample_rate", "0\n");
    machine_fake_sysctl("perf_cpu_time_max_percent", "100\n");
    shared.cost.ns = 10000;
    settings.frequency = 1;
}

static void no_limit_of_the_rate(void)
{
    machine_fake_sysctl("perf_event_max_sample_rate", NULL);
    settings.period = 1000;
    shared.cost.ns = 99999;
}

static void dear_samples(void)
{
    shared.cost.ns = 45000;
}

static void few_samples(void)
{
    shared.cost.samples = 3;
}

static void samples_of_no_time(void)
{
    shared.cost.ns = 0;
}

static void dear_but_rare(void)
{
    shared.cost.ns = 45000;
    settings.frequency = 10;
}

static void hidden_names(void)
{
    machine_fake_say("/proc/kallsyms", "0000000000000000 A first\n0000000000000000 T _text\n");
    machine_fake_sysctl("kptr_restrict", "2\n");
}

static void hidden_names_for_users(void)
{
    scene_be_user();
    machine_fake_say("/proc/kallsyms", "0000000000000000 A first\n0000000000000000 T _text\n");
    facts.container = "docker";
}

static void hidden_names_in_a_container(void)
{
    hidden_names_for_users();
    facts.status.bounding = 0;
}

static void hidden_names_with_a_level(void)
{
    hidden_names_for_users();
    machine_fake_sysctl("kptr_restrict", "1\n");
}

static void no_names(void)
{
    machine_fake_say("/proc/kallsyms", NULL);
    machine_fake_sysctl("kptr_restrict", "1\n");
    facts.user_namespace = true;
}

static void a_slow_clock(void)
{
    machine_fake_say(CLOCKS "current_clocksource", "hpet\n");
    machine_fake.children_us = 0;
}

static void a_slower_clock(void)
{
    machine_fake_say(CLOCKS "current_clocksource", "acpi_pm\n");
    machine_fake_say(CLOCKS "available_clocksource", "hpet acpi_pm\n");
    machine_fake_say("/proc/self/schedstat", NULL);
}

static void the_slowest_clock(void)
{
    machine_fake_say(CLOCKS "current_clocksource", "jiffies\n");
    machine_fake_say(CLOCKS "available_clocksource", NULL);
    machine_fake.children_us = 0;
    machine_fake_say("/proc/self/schedstat", NULL);
}

static void no_clock(void)
{
    machine_fake_say(CLOCKS "current_clocksource", NULL);
}

const struct situation scene_events[] = {
    SITUATION(user),
    SITUATION(user_who_may_be_allowed),
    SITUATION(user_without_new_rights),
    SITUATION(user_in_a_container),
    SITUATION(user_in_a_container_on_a_strict_host),
    SITUATION(root_in_a_container),
    SITUATION(root_of_a_namespace),
    SITUATION(kernel_locked_down),
    SITUATION(kernel_locked_down_for_all),
    SITUATION(paranoid),
    SITUATION(paranoid_in_a_container),
    SITUATION(paranoid_with_timers),
    SITUATION(filtered),
    SITUATION(filtered_in_a_container),
    SITUATION(killed_by_a_filter),
    SITUATION(sandboxed),
    SITUATION(no_perf_events),
    SITUATION(no_descriptors),
    SITUATION(another_refusal),
    SITUATION(refused_by_a_module),
    SITUATION(refused_by_an_unknown_module),
    SITUATION(trials_that_fail),
    SITUATION(trials_that_are_killed),
    SITUATION(no_cycles),
    SITUATION(busy_counters),
    SITUATION(refused_counters),
    SITUATION(only_counting),
    SITUATION(nothing_configured),
    SITUATION(a_rate_too_high),
    SITUATION(the_highest_rate),
    SITUATION(a_limit_of_none),
    SITUATION(no_limit_of_the_rate),
    SITUATION(dear_samples),
    SITUATION(few_samples),
    SITUATION(samples_of_no_time),
    SITUATION(dear_but_rare),
    SITUATION(hidden_names),
    SITUATION(hidden_names_for_users),
    SITUATION(hidden_names_in_a_container),
    SITUATION(hidden_names_with_a_level),
    SITUATION(no_names),
    SITUATION(a_slow_clock),
    SITUATION(a_slower_clock),
    SITUATION(the_slowest_clock),
    SITUATION(no_clock),
    {0},
};
