/* SPDX-License-Identifier: MIT */
/* What the command may be. */
#include "doctor_scene.h"

#include <elf.h>
#include <errno.h>
#include <pinject/wire.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static void set_missing(int error, const char *path)
{
    facts.executable = (struct doctor_executable){.kind = DOCTOR_EXECUTABLE_MISSING, .error = error};
    strcpy(facts.executable.path, path);
    strcpy(facts.executable.chain, path);
}

static void command_not_found(void)
{
    set_missing(ENOENT, "prog");
}

static void command_missing(void)
{
    set_missing(ENOENT, "./prog");
}

static void command_closed(void)
{
    set_missing(EACCES, "./my prog");
}

static void command_noexec(void)
{
    set_missing(EACCES, "/mnt/prog");
    machine_fake.mount_flags = ST_NOEXEC;
}

static void interpreter_missing(void)
{
    set_missing(ENOENT, "python9");
    strcpy(facts.executable.chain, "./a.py > python9");
}

static void interpreters_without_end(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_LOOP;
    strcpy(facts.executable.chain, "./a > ./b > ./a");
}

static void behind_env(void)
{
    facts.executable.env = true;
    settings.follow &= ~(unsigned)PINJECT_SESSION_EXEC;
    strcpy(facts.executable.chain, "./a.py -> /usr/bin/env -> /usr/bin/python3");
}

static void behind_env_followed(void)
{
    behind_env();
    settings.follow |= PINJECT_SESSION_EXEC;
}

static void of_machine(unsigned machine, unsigned class)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_OTHER;
    facts.executable.machine = machine;
    facts.executable.elf_class = class;
}

static void x86_of_32_bits(void)
{
    of_machine(EM_386, ELFCLASS32);
}

static void x32(void)
{
    of_machine(EM_X86_64, ELFCLASS32);
    shared.inherited = -EMFILE;
}

static void x86_of_64_bits(void)
{
    of_machine(EM_X86_64, ELFCLASS64);
}

static void arm_of_32_bits(void)
{
    of_machine(EM_ARM, ELFCLASS32);
}

static void arm_of_64_bits(void)
{
    of_machine(EM_AARCH64, ELFCLASS64);
}

static void another_of_32_bits(void)
{
    of_machine(8, ELFCLASS32);
}

static void another_of_64_bits(void)
{
    of_machine(EM_RISCV, ELFCLASS64);
}

static void damaged(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_BROKEN;
}

static void static_program(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_STATIC;
}

static void static_pie_of_go(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_STATIC_PIE;
    facts.executable.go = true;
}

static void another_libc(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_FOREIGN;
    strcpy(facts.executable.loader, "/lib/ld-musl-x86_64.so.1");
}

static void no_loader(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_NO_LOADER;
}

static void setuid_program(void)
{
    scene_be_user();
    facts.executable.mode = S_ISUID | 0755;
}

static void own_setuid_program(void)
{
    setuid_program();
    facts.executable.uid = 1000;
}

static void setuid_program_of_root(void)
{
    setuid_program();
    facts.uid = 0;
}

static void setuid_without_new_rights(void)
{
    setuid_program();
    facts.status.no_new_privileges = true;
}

static void setuid_on_nosuid(void)
{
    setuid_program();
    machine_fake.mount_flags = ST_NOSUID;
}

static void setgid_program(void)
{
    scene_be_user();
    facts.executable.mode = S_ISGID | 0755;
}

static void mandatory_locks(void)
{
    scene_be_user();
    facts.executable.mode = S_ISGID | 0644;
}

static void program_with_capabilities(void)
{
    scene_be_user();
    facts.executable.capabilities = true;
}

static void unreadable_program(void)
{
    scene_be_user();
    facts.executable.kind = DOCTOR_EXECUTABLE_UNREADABLE;
}

static void unreadable_program_of_root(void)
{
    facts.executable.kind = DOCTOR_EXECUTABLE_UNREADABLE;
}

static void preload_not_loaded(void)
{
    listed = "libc.so.6";
    complained = "ERROR: ld.so: object '/dev/null' cannot be preloaded";
}

static void preload_not_loaded_in_silence(void)
{
    listed = "libc.so.6";
    strcpy(facts.executable.loader, "ld-2.31.so");
}

static void another_loader(void)
{
    strcpy(facts.executable.loader, "/lib/ld64.so.1");
    listed = "nothing";
}

static void unknown_loader(void)
{
    strcpy(facts.executable.loader, "/lib/ld-other.so.1");
}

const struct situation scene_commands[] = {
    SITUATION(command_not_found),
    SITUATION(command_missing),
    SITUATION(command_closed),
    SITUATION(command_noexec),
    SITUATION(interpreter_missing),
    SITUATION(interpreters_without_end),
    SITUATION(behind_env),
    SITUATION(behind_env_followed),
    SITUATION(x86_of_32_bits),
    SITUATION(x32),
    SITUATION(x86_of_64_bits),
    SITUATION(arm_of_32_bits),
    SITUATION(arm_of_64_bits),
    SITUATION(another_of_32_bits),
    SITUATION(another_of_64_bits),
    SITUATION(damaged),
    SITUATION(static_program),
    SITUATION(static_pie_of_go),
    SITUATION(another_libc),
    SITUATION(no_loader),
    SITUATION(setuid_program),
    SITUATION(own_setuid_program),
    SITUATION(setuid_program_of_root),
    SITUATION(setuid_without_new_rights),
    SITUATION(setuid_on_nosuid),
    SITUATION(setgid_program),
    SITUATION(mandatory_locks),
    SITUATION(program_with_capabilities),
    SITUATION(unreadable_program),
    SITUATION(unreadable_program_of_root),
    SITUATION(preload_not_loaded),
    SITUATION(preload_not_loaded_in_silence),
    SITUATION(another_loader),
    SITUATION(unknown_loader),
    {0},
};
