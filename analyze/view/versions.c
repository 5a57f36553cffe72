/* SPDX-License-Identifier: MIT */
#include "analyze/view/versions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* ---- Name normalization ---- */

static void drop_end(char *text, const char *end)
{
    size_t size = strlen(text), less = strlen(end);
    if (size > less && strcmp(text + size - less, end) == 0)
        text[size - less] = '\0';
}

char *normalize_dso(const char *path)
{
    char *name = memory_text(text_base(path));
    drop_end(name, " (deleted)");
    /* The version after ".so": digits and dots up to the end. */
    char *so = strstr(name, ".so.");
    if (so && so > name && so[4 + strspn(so + 4, "0123456789.")] == '\0')
        so[3] = '\0';
    return name;
}

/* Whether TEXT[SIZE] is a compiler's word for a piece or a variant of a function. */
static bool is_variant(const char *text, size_t size)
{
    static const char *const words[] = {"isra",  "constprop", "part",       "cold", "hot",
                                        "clone", "lto_priv",  "localalias", "llvm", "unlikely"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == size && strncmp(text, words[i], size) == 0)
            return true;
    return false;
}

/* Cuts off the last ".WORD" or ".WORD.NUMBER" that the compiler added. */
static bool drop_variant(char *name)
{
    char *dot = strrchr(name, '.');
    if (!dot || dot == name || !dot[1])
        return false;
    if (dot[1 + strspn(dot + 1, "0123456789")] == '\0') {
        *dot = '\0';
        char *word = strrchr(name, '.');
        if (word && word > name && is_variant(word + 1, strlen(word + 1))) {
            *word = '\0';
            return true;
        }
        *dot = '.';
        return false;
    }
    if (!is_variant(dot + 1, strlen(dot + 1)))
        return false;
    *dot = '\0';
    return true;
}

/* " [clone .part.0]" and " (.llvm.123)", as the demangler shows them. */
static bool drop_note(char *name, const char *begin, char last)
{
    size_t size = strlen(name);
    char *found = NULL;
    if (!size || name[size - 1] != last)
        return false;
    for (char *at = strstr(name, begin); at; at = strstr(at + 1, begin))
        found = at;
    if (!found || found == name || strchr(found + 1, last) != name + size - 1)
        return false;
    *found = '\0';
    return true;
}

char *normalize_symbol(const char *symbol)
{
    char *name = memory_text(symbol);
    while (drop_note(name, " [clone .", ']') || drop_note(name, " (.", ')') || drop_variant(name))
        ;
    return name;
}

const char *normalize_executable(const struct profile_task *task, const char *comm)
{
    for (uint32_t i = task->generation_count; i-- > 0;)
        if (strcmp(task->generations[i].comm, comm) == 0)
            return task->generations[i].exec;
    return task->exec;
}

/* ---- Programs of one side ---- */

#define LEAST_SHARE 1.0 /* percent of its side: a short helper is no version of a program */
#define COMM_LENGTH 15  /* the kernel cuts names of commands at this length */

static void release_set(struct versions_set *set)
{
    map_strings_release(&set->names);
    free(set->list);
    free(set->pair);
}

void versions_release(struct versions *versions)
{
    release_set(&versions->programs);
    release_set(&versions->scripts);
    *versions = (struct versions){0};
}

/* Adds WEIGHT to NAME, which ran on SIDE. Returns its number. */
static uint32_t add_name(struct versions_set *set, int side, const char *name, uint64_t weight)
{
    size_t known = set->names.count;
    uint32_t number = map_strings_add(&set->names, name);
    set->list = memory_grow(set->list, &set->capacity, set->names.count, sizeof(*set->list));
    if (number == known)
        set->list[number] = (struct versions_program){0};
    set->list[number].ran[side] = true;
    set->list[number].weights[side] += weight;
    return number;
}

/* Whether COMM is the kernel's name for a process of EXECUTABLE. */
static bool is_called(const char *executable, const char *comm)
{
    bool cut = strlen(comm) == COMM_LENGTH && strncmp(comm, executable, COMM_LENGTH) == 0;
    return cut || strcmp(comm, executable) == 0;
}

/* Adds EXEC, and COMM, which may be a script that it runs. */
static void add_program(struct versions *versions, int side, const char *exec, const char *comm, uint64_t weight)
{
    if (!*exec)
        return;
    char *name = normalize_dso(exec);
    uint32_t number = add_name(&versions->programs, side, name, weight);
    if (*comm && !is_called(name, comm)) {
        uint32_t script = add_name(&versions->scripts, side, comm, weight);
        versions->scripts.list[script].executable = number;
    }
    free(name);
}

/* COMM if TASK executed something of that name, else "": a thread may have set any name. */
static const char *script_of(const struct profile_task *task, const char *comm)
{
    for (uint32_t i = 0; i < task->generation_count; i++)
        if (strcmp(task->generations[i].comm, comm) == 0)
            return comm;
    return "";
}

/* In files that are not ours, entries do not have their task: the weight of a task counts for its last executable. */
static void add_weights(struct versions *versions, const struct view *view, int side, bool ours)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    for (uint32_t i = 0; ours && i < selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[selection->entries[i]];
        const struct profile_task *task = &profile->tasks[entry->task];
        add_program(versions, side, normalize_executable(task, entry->comm), script_of(task, entry->comm),
                    entry->weight);
    }
    for (uint32_t i = 0; !ours && i < profile->task_count; i++)
        add_program(versions, side, profile->tasks[i].exec, "", selection->weights[i]);
}

void versions_add(struct versions *versions, struct view *view, int side)
{
    const struct profile *profile = view->profile;
    bool ours = profile->session.ours && !profile->document;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        add_program(versions, side, task->exec, "", 0);
        for (uint32_t j = 0; j < task->generation_count; j++)
            add_program(versions, side, task->generations[j].exec, ours ? task->generations[j].comm : "", 0);
    }
    add_weights(versions, view, side, ours);
    versions->all[side] += view->selection->total_weight;
}

bool versions_alone(const struct versions *versions, const struct versions_set *set, uint32_t number, int side)
{
    const struct versions_program *program = &set->list[number];
    return program->ran[side] && !program->ran[!side] &&
           text_share(program->weights[side], versions->all[side]) >= LEAST_SHARE;
}

/* The number of programs that only SIDE has, and the last of them. */
static size_t count_alone(const struct versions *versions, const struct versions_set *set, int side, uint32_t *ret_last)
{
    size_t count = 0;
    for (uint32_t i = 0; i < set->names.count; i++)
        if (versions_alone(versions, set, i, side)) {
            *ret_last = i;
            count++;
        }
    return count;
}

/* Scripts are a pair if the same interpreter runs both, or two versions of one. */
static bool have_one_executable(const struct versions *versions, const uint32_t of_pair[2])
{
    const char *names[2];
    for (int side = 0; side < 2; side++) {
        uint32_t executable = versions->scripts.list[of_pair[side]].executable;
        names[side] = versions_dso(versions, side, versions->programs.names.texts[executable]);
    }
    return strcmp(names[0], names[1]) == 0;
}

static void find_pair(const struct versions *versions, struct versions_set *set)
{
    uint32_t *of_pair = set->of_pair;
    if (count_alone(versions, set, 0, &of_pair[0]) != 1 || count_alone(versions, set, 1, &of_pair[1]) != 1)
        return;
    if (set == &versions->programs || have_one_executable(versions, of_pair))
        set->pair = memory_print("%s -> %s", set->names.texts[of_pair[0]], set->names.texts[of_pair[1]]);
}

void versions_finish(struct versions *versions)
{
    find_pair(versions, &versions->programs);
    find_pair(versions, &versions->scripts);
}

const char *versions_of_pair(const struct versions_set *set, int side)
{
    return set->pair ? set->names.texts[set->of_pair[side]] : NULL;
}

bool versions_unclear(const struct versions *versions)
{
    const struct versions_set *programs = &versions->programs;
    uint32_t last;
    return !programs->pair && count_alone(versions, programs, 0, &last) && count_alone(versions, programs, 1, &last);
}

const char *versions_dso(const struct versions *versions, int side, const char *name)
{
    const char *member = versions_of_pair(&versions->programs, side);
    return member && strcmp(name, member) == 0 ? versions->programs.pair : name;
}

const char *versions_command(const struct versions *versions, int side, const char *name)
{
    const char *program = versions_of_pair(&versions->programs, side);
    const char *script = versions_of_pair(&versions->scripts, side);
    if (program && is_called(program, name))
        return versions->programs.pair;
    return script && strcmp(name, script) == 0 ? versions->scripts.pair : name;
}
