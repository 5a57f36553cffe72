/* SPDX-License-Identifier: MIT */
#include "analyze/sym/code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bound.h"

enum {
    TEXT_MAX = 400,                 /* per instruction: objdump adds names of functions, which can be long */
    INSTRUCTIONS_MAX = 1000 * 1000, /* a file with more in one function is damaged */
};

extern char **environ;

/* We parse objdump's messages, so they must be in English. */
static char **make_environment(void)
{
    static char locale[] = "LC_ALL=C";
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **list = calloc(count + 2, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            list[kept++] = environ[i];
    if (list)
        list[kept] = locale;
    return list;
}

static int spawn_objdump(const struct code_request *request, int to, pid_t *ret_pid)
{
    char start[48], stop[48], name[] = "objdump", show[] = "-dwz", raw[] = "--no-show-raw-insn", demangle[] = "-C",
                              end[] = "--";
    snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, request->start);
    snprintf(stop, sizeof(stop), "--stop-address=0x%" PRIx64, request->end);
    char *words[] = {name, show, raw, start, stop, request->no_demangle ? show : demangle, end, (char *)request->file,
                     NULL};
    char **list = make_environment();
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t defaults;
    if (!list)
        return -ENOMEM;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, 1);
    posix_spawn_file_actions_adddup2(&actions, to, 2);
    int status = posix_spawnp(ret_pid, request->objdump ? request->objdump : name, &actions, &attr, words, list);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    free(list);
    return -status;
}

/* "    1223:\tpush   %rbp"; false: LINE is no instruction. */
static bool parse_line(char *line, uint64_t *ret_address, char **ret_text)
{
    char *end, *at = line + strspn(line, " ");
    if (!strchr("0123456789abcdef", *at) || !*at)
        return false;
    uint64_t address = strtoull(at, &end, 16);
    if (end[0] != ':' || end[1] != '\t')
        return false;
    *ret_address = address;
    *ret_text = end + 2 + strspn(end + 2, " \t");
    return true;
}

static int add_instruction(struct code *code, uint64_t address, const char *text)
{
    if (code->count == INSTRUCTIONS_MAX)
        return -EFBIG;
    if (code->count == code->capacity) {
        size_t capacity = code->capacity ? code->capacity * 2 : 256;
        struct code_instruction *list = realloc(code->list, capacity * sizeof(*list));
        if (!list)
            return -ENOMEM;
        code->list = list;
        code->capacity = capacity;
    }
    char *copy = strndup(text, TEXT_MAX);
    if (!copy)
        return -ENOMEM;
    for (char *at = copy; *at; at++)
        if (*at == '\t')
            *at = ' ';
    for (size_t size = strlen(copy); size && copy[size - 1] == ' ';)
        copy[--size] = '\0';
    code->list[code->count++] = (struct code_instruction){address, copy};
    return 0;
}

/* Keeps an error message of objdump, without the program's name. The last one counts. */
static void note_error(const char *line, char *reason, size_t size)
{
    const char *text = strstr(line, ": ");
    if (strncmp(line, "objdump", 7) == 0 || (text && strstr(line, "objdump")))
        snprintf(reason, size, "%s", text ? text + 2 : line);
}

static int read_output(struct code *code, FILE *from, const struct code_request *request, char *reason, size_t size)
{
    char *line = NULL, *text;
    size_t room = 0;
    ssize_t length;
    int status = 0;
    while (status == 0 && (length = getline(&line, &room, from)) >= 0) {
        uint64_t address;
        if (length && line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (!parse_line(line, &address, &text))
            note_error(line, reason, size);
        else if (address >= request->start && address < request->end &&
                 (!code->count || address > code->list[code->count - 1].address))
            status = add_instruction(code, address, text);
    }
    free(line);
    if (status)
        snprintf(reason, size, "%s", strerror(-status));
    return status;
}

static int wait_for_objdump(pid_t pid, char *reason, size_t size)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return -ENOENT;
    if (WIFSIGNALED(status))
        snprintf(reason, size, "objdump was ended by signal %d", WTERMSIG(status));
    else if (!*reason)
        snprintf(reason, size, "objdump ended with status %d", WEXITSTATUS(status));
    return -EIO;
}

int code_init(struct code *code, const struct code_request *request, char *reason, size_t size)
{
    int ends[2];
    pid_t pid = 0;
    *code = (struct code){0};
    reason[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0) {
        int error = errno;
        snprintf(reason, size, "%s", strerror(error));
        return -error;
    }
    int status = spawn_objdump(request, ends[1], &pid);
    close(ends[1]);
    FILE *from = status == 0 ? fdopen(ends[0], "r") : NULL;
    if (!from) {
        close(ends[0]);
        if (status == 0)
            snprintf(reason, size, "%s", strerror(-(status = -ENOMEM)));
    } else {
        status = read_output(code, from, request, reason, size);
        fclose(from); /* before waiting: objdump may still write */
    }
    if (pid) {
        char ending[32] = ""; /* ignored: we did not let objdump finish */
        int ended = status ? wait_for_objdump(pid, ending, sizeof(ending)) : wait_for_objdump(pid, reason, size);
        status = status ? status : ended;
    } else if (status != -ENOENT) {
        snprintf(reason, size, "%s", strerror(-status));
    }
    if (status == 0 && !code->count) {
        snprintf(reason, size, "objdump finds no code at these addresses");
        status = -ENODATA;
    }
    if (status)
        code_release(code);
    return status;
}

void code_release(struct code *code)
{
    for (size_t i = 0; i < code->count; i++)
        free(code->list[i].text);
    free(code->list);
    *code = (struct code){0};
}

const struct code_instruction *code_at(const struct code *code, uint64_t address, uint64_t end)
{
    size_t after = UPPER_BOUND(code->list, code->count, .address, address);
    return after && address < end ? &code->list[after - 1] : NULL;
}
