/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyze/view/flame.h"
#include "analyze/view/missing.h"
#include "analyze/view/output_file.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

#define USUAL_FILE "flame.svg"

static int write_file(struct flame *flame, const char *path, uint64_t *ret_bytes)
{
    struct output_file out;
    if (output_file_holds_samples(path)) {
        report_error("'%s' holds samples and is not overwritten; -o needs a file name", path);
        return 1;
    }
    if (output_file_open(&out, path, 0, OUTPUT_FILE_SHARED) < 0)
        return 1;
    flame_svg(flame, out.to);
    fflush(out.to);
    *ret_bytes = out.bytes;
    return output_file_close(&out, true);
}

static void tell(const struct flame *flame, uint64_t bytes)
{
    const struct profile *profile = flame->view->profile;
    const struct calls_node *whole = &flame->calls.nodes[0];
    char size[TEXT_AMOUNT], total[TEXT_AMOUNT], samples[TEXT_AMOUNT];
    fprintf(flame->view->output->to, "%s: %s in %s, %s; open it in a browser\n", USUAL_FILE,
            text_weight(total, whole->weight, profile->events[profile->event].nanoseconds),
            text_plural(samples, whole->samples, "sample", "samples"), text_bytes(size, bytes));
}

int view_flame(struct view *view)
{
    struct flame flame;
    const char *path = view->settings->file;
    uint64_t bytes = 0;
    int status = 0;
    if (!view->selection->total_samples) {
        report_error("no samples to draw; 'panalyze counts' shows what was counted, 'panalyze tree' what ran");
        return 1;
    }
    const bool out = path && strcmp(path, "-") == 0;
    if (out && view->output->terminal) {
        report_error("refusing to write SVG to a terminal; use -o FILE");
        return 1;
    }
    flame_init(&flame, view);
    if (!flame.calls.nodes[0].samples) {
        report_error("no sampled stack passes where --symbol and --object say; 'panalyze report' shows the names");
        status = 1;
    } else if (out) {
        flame_svg(&flame, view->output->to);
    } else {
        status = write_file(&flame, path ? path : USUAL_FILE, &bytes);
        if (!path && status == 0)
            tell(&flame, bytes);
    }
    if (status == 0 && view->settings->by != BY_DSO)
        missing_tell(view);
    flame_release(&flame);
    return status;
}
