/* SPDX-License-Identifier: MIT */
#include "analyze/model/raw.h"

#include <errno.h>

#include "analyze/model/loader.h"

struct visit {
    const struct raw_visitor *visitor;
    void *context;
    const struct file *file;
};

static int visit_record(void *context, const struct record *record)
{
    struct visit *visit = context;
    return visit->visitor->each(visit->context, visit->file, record);
}

/* Our files of another session have no tasks here; each perf.data file of perf is a session of its own. */
static bool is_taken(const struct loader *loader, const struct input *input)
{
    return input->session != LOOKUP_NONE && input->limit != UINT64_MAX &&
           (input->task_count || input->lost || !loader->profile.session.ours);
}

uint32_t raw_count(const struct profile *profile)
{
    const struct loader *loader = profile->loader;
    uint32_t count = 0;
    for (uint32_t i = 0; i < loader->input_count; i++)
        count += is_taken(loader, &loader->inputs[i]);
    return count;
}

static int visit_file(struct visit *visit, const struct input *input, struct file *file)
{
    visit->file = file;
    int status = visit->visitor->begin(visit->context, input->path, file);
    if (status == 0)
        status = file_records(file, input->limit, visit_record, visit);
    return status == 0 ? visit->visitor->end(visit->context, file) : status;
}

int raw_records(struct profile *profile, const struct raw_visitor *visitor, void *context)
{
    struct loader *loader = profile->loader;
    struct visit visit = {visitor, context, NULL};
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < loader->input_count; i++) {
        const struct input *input = &loader->inputs[i];
        struct file file;
        if (!is_taken(loader, input))
            continue;
        status = loader_open_again(loader, input, &file);
        if (status == 0) {
            status = visit_file(&visit, input, &file);
            file_release(&file);
        } else if (status == -ESTALE) {
            status = 0;
        }
    }
    return status;
}
