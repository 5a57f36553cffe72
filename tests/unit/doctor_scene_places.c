/* SPDX-License-Identifier: MIT */
/* Limits, places for files, the preload object. */
#include "doctor_scene.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

static void little_locked_memory(void)
{
    scene_be_user();
    machine_fake_say("/proc/self/status", "Name:\tx\nCapEff:\t0\n");
    machine_fake.limits[RLIMIT_MEMLOCK] = (struct rlimit){64 << 10, 64 << 10};
}

static void enough_locked_memory(void)
{
    little_locked_memory();
    machine_fake.limits[RLIMIT_MEMLOCK] = (struct rlimit){64 << 10, 64 << 20};
    machine_fake.limits[RLIMIT_NPROC] = (struct rlimit){500, 1000};
}

static void no_locked_memory(void)
{
    facts.container = "docker";
    shared.ring = -EPERM;
    machine_fake.limits[RLIMIT_NPROC] = (struct rlimit){500, 1000};
}

static void no_ring(void)
{
    shared.ring = -ENOMEM;
    machine_fake_sysctl("pid_max", NULL);
}

static void few_descriptors(void)
{
    machine_fake.limits[RLIMIT_NOFILE] = (struct rlimit){64, 256};
    facts.container = "docker";
    machine_fake_sysctl("threads-max", NULL);
}

static void no_limit_of_descriptors(void)
{
    machine_fake.limits[RLIMIT_NOFILE] = (struct rlimit){1024, RLIM_INFINITY};
}

static void full_shared_memory(void)
{
    machine_fake.fallocate_errors[0] = ENOSPC;
    facts.container = "docker";
}

static void full_everywhere(void)
{
    for (unsigned i = 0; i < 3; i++)
        machine_fake.fallocate_errors[i] = ENOSPC;
    unsetenv("TMPDIR");
    machine_fake.tmpfile_error = EOPNOTSUPP;
}

static void files_too_large(void)
{
    for (unsigned i = 0; i < 3; i++)
        machine_fake.fallocate_errors[i] = EFBIG;
    facts.container = "docker";
}

static void no_fallocate(void)
{
    machine_fake.fallocate_errors[0] = EOPNOTSUPP;
    machine_fake.tmpfile_error = EOPNOTSUPP;
}

static void no_directory(void)
{
    settings.outfile = "missing/out";
}

static void no_file_name(void)
{
    settings.outfile = "..";
}

static void closed_directory(void)
{
    machine_fake.access_error = EACCES;
    settings.outfile = "/out";
}

static void full_disk(void)
{
    machine_fake.free_bytes = (64 << 20) - 4096;
}

static void nearly_full_disk(void)
{
    machine_fake.free_bytes = 64 << 20;
    machine_fake.access_error = -1;
    settings.outfile = "/out";
}

static void unknown_disk(void)
{
    machine_fake.statvfs_fails = true;
}

static void no_preload(void)
{
    args.preload = "";
    args.preload_error = "libpinject.so is not where it should be";
    machine_fake_say("/proc/self/exe", "");
    facts.injection.tried = false;
}

static void no_preload_without_proc(void)
{
    no_preload();
    machine_fake_say("/proc/self/exe", NULL);
    shared.notified = false;
}

static void closed_preload(void)
{
    args.preload = "";
    args.preload_error = "it cannot be read";
    args.unreadable = "/opt/lib pinject.so";
    shared.notified = false;
    facts.injection.tried = false;
}

static void preload_that_others_cannot_read(void)
{
    snprintf(scene_preload, sizeof(scene_preload), "%s/object.so", directory);
    args.preload = listed = scene_preload;
    FILE *file = fopen(scene_preload, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chmod(scene_preload, 0640) | chmod(directory, 0755), 0);
}

static void preload_that_others_cannot_reach(void)
{
    preload_that_others_cannot_read();
    assert_int_equal(chmod(scene_preload, 0644) | chmod(directory, 0750), 0);
}

static void preload_that_all_can_reach(void)
{
    preload_that_others_cannot_read();
    assert_int_equal(chmod(scene_preload, 0644) | chmod(directory, 0755), 0);
}

static void a_shell_that_hangs(void)
{
    facts.injection = (struct doctor_guarded){.signal = SIGKILL, .late = true};
}

static void no_session(void)
{
    shared.injection = -ENOSPC;
    shared.notified = false;
}

static void no_effect(void)
{
    shared.notified = false;
    strcpy(facts.injection.said, "ld.so: no");
}

static void closed_processes(void)
{
    shared.attached = -EACCES;
    machine_fake_sysctl("yama/ptrace_scope", NULL);
}

static void hidden_mappings(void)
{
    shared.maps = false;
    machine_fake_sysctl("yama/ptrace_scope", "junk\n");
}

const struct situation scene_places[] = {
    SITUATION(little_locked_memory),
    SITUATION(enough_locked_memory),
    SITUATION(no_locked_memory),
    SITUATION(no_ring),
    SITUATION(few_descriptors),
    SITUATION(no_limit_of_descriptors),
    SITUATION(full_shared_memory),
    SITUATION(full_everywhere),
    SITUATION(files_too_large),
    SITUATION(no_fallocate),
    SITUATION(no_directory),
    SITUATION(no_file_name),
    SITUATION(closed_directory),
    SITUATION(full_disk),
    SITUATION(nearly_full_disk),
    SITUATION(unknown_disk),
    SITUATION(no_preload),
    SITUATION(no_preload_without_proc),
    SITUATION(closed_preload),
    SITUATION(preload_that_others_cannot_read),
    SITUATION(preload_that_others_cannot_reach),
    SITUATION(preload_that_all_can_reach),
    SITUATION(a_shell_that_hangs),
    SITUATION(no_session),
    SITUATION(no_effect),
    SITUATION(closed_processes),
    SITUATION(hidden_mappings),
    {0},
};
