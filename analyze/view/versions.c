/* SPDX-License-Identifier: MIT */
#include "analyze/view/versions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/identity.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define LEAST_SHARE 1.0 /* percent of its side: a helper that runs for a moment is no version of a program */
#define COMM_LENGTH 15  /* the kernel cuts a command's name off there */

void versions_release(struct versions *versions)
{
    map_strings_release(&versions->names);
    free(versions->list);
    free(versions->pair);
    *versions = (struct versions){0};
}

/* EXEC ran on SIDE, and had WEIGHT. */
static void add_program(struct versions *versions, int side, const char *exec, uint64_t weight)
{
    size_t known = versions->names.count;
    if (!*exec)
        return;
    char *name = identity_object(exec);
    uint32_t number = map_strings_add(&versions->names, name);
    free(name);
    versions->list =
        memory_grow(versions->list, &versions->capacity, versions->names.count, sizeof(*versions->list));
    if (number == known)
        versions->list[number] = (struct versions_program){0};
    versions->list[number].ran[side] = true;
    versions->list[number].weights[side] += weight;
}

/* Entries of other files than ours do not tell whose they are: there a task's weight is its last executable's. */
static void add_weights(struct versions *versions, const struct view *view, int side)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    bool exact = profile->session.ours && !profile->document;
    for (uint32_t i = 0; exact && i < selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[selection->entries[i]];
        add_program(versions, side, identity_executable(&profile->tasks[entry->task], entry->comm), entry->weight);
    }
    for (uint32_t i = 0; !exact && i < profile->task_count; i++)
        add_program(versions, side, profile->tasks[i].exec, selection->weights[i]);
}

void versions_add(struct versions *versions, struct view *view, int side)
{
    const struct profile *profile = view->profile;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        add_program(versions, side, task->exec, 0);
        for (uint32_t j = 0; j < task->image_count; j++)
            add_program(versions, side, task->images[j].exec, 0);
    }
    add_weights(versions, view, side);
    versions->all[side] += view->selection->total_weight;
}

bool versions_alone(const struct versions *versions, uint32_t number, int side)
{
    const struct versions_program *program = &versions->list[number];
    return program->ran[side] && !program->ran[!side] &&
           text_share(program->weights[side], versions->all[side]) >= LEAST_SHARE;
}

/* How many SIDE alone has, and the last of them. */
static size_t count_alone(const struct versions *versions, int side, uint32_t *ret_last)
{
    size_t count = 0;
    for (uint32_t i = 0; i < versions->names.count; i++)
        if (versions_alone(versions, i, side)) {
            *ret_last = i;
            count++;
        }
    return count;
}

void versions_finish(struct versions *versions)
{
    if (count_alone(versions, 0, &versions->of_pair[0]) == 1 && count_alone(versions, 1, &versions->of_pair[1]) == 1)
        versions->pair = memory_print("%s -> %s", versions->names.texts[versions->of_pair[0]],
                                      versions->names.texts[versions->of_pair[1]]);
}

bool versions_unclear(const struct versions *versions)
{
    uint32_t last;
    return !versions->pair && count_alone(versions, 0, &last) && count_alone(versions, 1, &last);
}

const char *versions_object(const struct versions *versions, int side, const char *name)
{
    if (!versions->pair || strcmp(name, versions->names.texts[versions->of_pair[side]]) != 0)
        return name;
    return versions->pair;
}

const char *versions_command(const struct versions *versions, int side, const char *name)
{
    const char *executable = versions->pair ? versions->names.texts[versions->of_pair[side]] : "";
    bool cut = strlen(name) == COMM_LENGTH && strncmp(name, executable, COMM_LENGTH) == 0;
    return versions->pair && (cut || strcmp(name, executable) == 0) ? versions->pair : name;
}
