/* SPDX-License-Identifier: MIT */
/* A directory with freshly compiled programs, for the tests of the symbol resolver. */
#ifndef UNIT_TEST_SYMBOLS_TOOLS_H
#define UNIT_TEST_SYMBOLS_TOOLS_H

#include "check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "analyze/sym/symbols.h"

static char directory[] = "/tmp/pinject-symbol-files-XXXXXX";
static bool have_tools;

/* What a command prints, malloced; NULL when it failed. */
static __attribute__((unused, format(printf, 1, 2))) char *run(const char *format, ...)
{
    char command[4096], *text = NULL;
    size_t size = 0, got;
    va_list arguments;
    FILE *pipe;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    do {
        text = realloc(text, size + 65536);
        assert_non_null(text);
        got = fread(text + size, 1, 65535, pipe);
        size += got;
        text[size] = '\0';
    } while (got);
    if (pclose(pipe) == 0)
        return text;
    free(text);
    return NULL;
}

static __attribute__((unused, format(printf, 1, 2))) void must(const char *format, ...)
{
    char command[4096], *text;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    text = run("cd %s && (%s) 2>&1", directory, command);
    if (!text)
        fail_msg("failed: %s", command);
    free(text);
}

static __attribute__((unused)) const char *in_directory(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static __attribute__((unused)) void write_file(const char *name, const void *content, size_t size)
{
    int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size), (ssize_t)size);
    close(fd);
}

static const char c_source[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
    "static __attribute__((noinline)) int hidden_one(int a) { return a * 3 + rand(); }\n"
    "__attribute__((noinline)) int shown(int a) { return hidden_one(a) + (int)strlen(getenv(\"HOME\")); }\n"
    "__attribute__((weak, alias(\"shown\"))) int weak_shown(int);\n"
    "static int one(void) { return 1; }\n"
    "static int (*choose(void))(void) { return one; }\n"
    "int chosen(void) __attribute__((ifunc(\"choose\")));\n"
    "int main(int c, char **v) { int (*volatile f)(const char *) = puts; (void)v;\n"
    "  printf(\"%d %d %p %g\\n\", shown(c), chosen(), malloc(3), sin(c)); return f(\"x\") < 0; }\n";

static __attribute__((unused)) int tools_set_up(void **state)
{
    char *version;

    (void)state;
    if (!mkdtemp(directory))
        return -1;
    setenv("LC_ALL", "C", 1);
    unsetenv("DEBUGINFOD_URLS");
    version = run("(%s --version && nm -V && readelf -v && objcopy -V && objdump -v && addr2line -v) 2>&1", TEST_CC);
    have_tools = version != NULL;
    free(version);
    write_file("c.c", c_source, sizeof(c_source) - 1);
    if (have_tools) {
        must("%s -O1 -fno-builtin -Wl,--build-id=sha1 -o plain c.c -lm", TEST_CC);
        must("%s -O1 -fno-builtin -Wl,-z,now -o now c.c -lm", TEST_CC);
        must("objcopy --only-keep-debug plain plain.debug && cp plain stripped && strip stripped");
    }
    return 0;
}

static __attribute__((unused)) int tools_tear_down(void **state)
{
    char *text = run("rm -rf %s", directory);

    (void)state;
    free(text);
    return 0;
}

static __attribute__((unused)) struct symbols *new_symbols(const struct symbols_options *options)
{
    struct symbols *symbols;

    assert_int_equal(symbols_new(options, &symbols), 0);
    return symbols;
}

#endif
