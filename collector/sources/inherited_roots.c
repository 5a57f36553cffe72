/* SPDX-License-Identifier: MIT */
#include "collector/sources/inherited_roots.h"

#include <stdlib.h>

enum { ENDED_MAX = 512 };

void inherited_roots_init(struct inherited_roots *roots)
{
    *roots = (struct inherited_roots){.place = &roots->ended};
}

static void free_list(struct root_ids *ids)
{
    while (ids) {
        struct root_ids *next = ids->next;
        free(ids);
        ids = next;
    }
}

void inherited_roots_release(struct inherited_roots *roots)
{
    free_list(roots->live);
    free_list(roots->ended);
    inherited_roots_init(roots);
}

struct root_ids *inherited_roots_add(struct inherited_roots *roots, pid_t root, size_t count)
{
    struct root_ids *ids = calloc(1, sizeof(*ids) + count * sizeof(ids->ids[0]));
    if (!ids)
        return NULL;
    ids->root = root;
    ids->count = count;
    ids->next = roots->live;
    roots->live = ids;
    return ids;
}

static void drop_oldest(struct inherited_roots *roots)
{
    struct root_ids *oldest = roots->ended;
    roots->ended = oldest->next;
    if (!roots->ended)
        roots->place = &roots->ended;
    roots->ended_count--;
    free(oldest);
}

void inherited_roots_end(struct inherited_roots *roots, struct root_ids *ids)
{
    struct root_ids **at = &roots->live;
    while (*at != ids)
        at = &(*at)->next;
    *at = ids->next;
    ids->next = NULL;
    *roots->place = ids;
    roots->place = &ids->next;
    if (++roots->ended_count > ENDED_MAX)
        drop_oldest(roots);
}

static int find_in(const struct root_ids *list, pid_t root, uint64_t id)
{
    for (; list; list = list->next)
        for (size_t i = 0; (list->root == root || !root) && i < list->count; i++)
            if (list->ids[i] == id)
                return (int)i;
    return -1;
}

int inherited_roots_find(const struct inherited_roots *roots, pid_t root, uint64_t id)
{
    const int place = find_in(roots->live, root, id);
    return place >= 0 ? place : find_in(roots->ended, root, id);
}
