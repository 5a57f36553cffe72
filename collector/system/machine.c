/* SPDX-License-Identifier: MIT */
#include "collector/system/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The start of a procfs file: with hundreds of processors it is slow to read to its end. */
static size_t read_start(const char *path, char *to, size_t size)
{
    size_t done = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) {
        while (done < size - 1) {
            ssize_t got = read(fd, to + done, size - 1 - done);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                break;
            done += (size_t)got;
        }
        close(fd);
    }
    to[done] = '\0';
    return done;
}

/* The value of the first line "KEY : value" of TEXT into RET. */
static bool find_value(const char *text, const char *key, char *ret, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, length) != 0)
            continue;
        const char *value = line + length + strspn(line + length, " \t");
        if (*value != ':')
            continue;
        value++;
        value += strspn(value, " \t");
        snprintf(ret, size, "%.*s", (int)strcspn(value, "\n"), value);
        return true;
    }
    ret[0] = '\0';
    return false;
}

void machine_parse_cpuinfo(const char *text, struct machine *machine)
{
    /* What architectures call it: x86; arm; mips; s390 and powerpc; riscv. */
    static const char *const models[] = {"model name", "Processor", "cpu model", "cpu", "uarch"};
    machine->cpu[0] = machine->cpuid[0] = '\0';
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (find_value(text, models[i], machine->cpu, sizeof(machine->cpu)))
            break;
    char vendor[32], family[16], model[16], stepping[16];
    bool known = find_value(text, "vendor_id", vendor, sizeof(vendor));
    known &= find_value(text, "cpu family", family, sizeof(family));
    known &= find_value(text, "model", model, sizeof(model));
    known &= find_value(text, "stepping", stepping, sizeof(stepping));
    if (known)
        snprintf(machine->cpuid, sizeof(machine->cpuid), "%s,%s,%s,%s", vendor, family, model, stepping);
}

static uint32_t count_cpus(int name)
{
    long count = sysconf(name);
    return count > 0 ? (uint32_t)count : 1;
}

void machine_read(struct machine *machine)
{
    memset(machine, 0, sizeof(*machine));
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(machine->hostname, sizeof(machine->hostname), "%s", name.nodename);
        snprintf(machine->release, sizeof(machine->release), "%s", name.release);
        snprintf(machine->arch, sizeof(machine->arch), "%s", name.machine);
    }
    char text[4096];
    read_start("/proc/cpuinfo", text, sizeof(text));
    machine_parse_cpuinfo(text, machine);
    if (!machine->cpuid[0]) {
        /* arm64: the register that names the core. */
        read_start("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text, sizeof(text));
        snprintf(machine->cpuid, sizeof(machine->cpuid), "%.*s", (int)strcspn(text, "\n"), text);
    }
    machine->cpus_configured = count_cpus(_SC_NPROCESSORS_CONF);
    machine->cpus_online = count_cpus(_SC_NPROCESSORS_ONLN);
    struct sysinfo info;
    if (sysinfo(&info) == 0)
        machine->memory_kb = (uint64_t)info.totalram * info.mem_unit / 1024;
}
