/* SPDX-License-Identifier: MIT */
#include "analyze/view/runtime.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* The first version of Java that can write a perf map, and the first in which that is no diagnostic option. */
#define JAVA_MAPS 17
#define JAVA_PLAIN 19

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* From JAVA_VERSION="17.0.15" in the file "release", in the directory above the program's; 1.8 is 8. 0: not known. */
static unsigned long java_version(const char *exec, const char *symfs)
{
    char text[4096];
    const char *slash = strrchr(exec, '/');
    char *path = memory_print("%s%.*s../release", symfs ? symfs : "", slash ? (int)(slash + 1 - exec) : 0, exec);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t size = regular ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    free(path);
    text[size > 0 ? size : 0] = '\0';
    const char *found = strstr(text, "JAVA_VERSION=\"");
    if (!found)
        return 0;
    found += strlen("JAVA_VERSION=\"");
    return strtoul(begins_with(found, "1.") ? found + 2 : found, NULL, 10);
}

static char *java_advice(const struct profile_task *task, const char *symfs)
{
    const unsigned long version = java_version(task->exec, symfs);
    if (version && version < JAVA_MAPS)
        return memory_print("Java %lu has no option for that: Java 17 and later do (-XX:+DumpPerfMapAtExit)", version);
    return memory_print("next time start it with java%s -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer",
                        version >= JAVA_PLAIN ? "" : " -XX:+UnlockDiagnosticVMOptions");
}

char *runtime_advice(const struct profile_task *task, const char *symfs)
{
    static const struct {
        const char *name, *advice;
    } known[] = {
        {"node", "next time start it with NODE_OPTIONS=--perf-basic-prof"},
        {"electron", "next time start it with --js-flags=--perf-basic-prof"},
        {"chrom", "next time start it with --js-flags=--perf-basic-prof --no-sandbox"},
        {"deno", "next time start it with deno run --v8-flags=--perf-basic-prof"},
        {"dotnet", "next time start it with DOTNET_PerfMapEnabled=1"},
        {"ruby", "next time start it with RUBYOPT='--yjit --yjit-perf' (Ruby 3.3 and later)"},
        {"php", "next time start it with php -d opcache.jit_debug=0x10"},
        {"julia", "next time start it with ENABLE_JITPROFILING=1"},
        {"wasmtime", "next time start it with wasmtime run --profile=perfmap"},
        {"python", "next time start it with PYTHONPERFSUPPORT=1 (Python 3.12 and later)"},
        {"pypy", "PyPy leaves no names of what it generates"},
    };
    const char *name = *task->exec ? text_base(task->exec) : task->comm;
    if (begins_with(name, "java"))
        return java_advice(task, symfs);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (begins_with(name, known[i].name))
            return memory_text(known[i].advice);
    return NULL;
}
