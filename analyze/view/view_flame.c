/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "analyze/view/document_file.h"
#include "analyze/view/flame.h"
#include "analyze/view/view.h"
#include "common/report.h"

int view_flame(struct view *view)
{
    struct flame flame;
    FILE *to = view->output->to;
    if (!view->selection->total_samples) {
        report_error("no samples to draw; 'panalyze counts' shows what was counted, 'panalyze tree' what ran");
        return 1;
    }
    if (!view->settings->file && view->output->terminal) {
        report_error("a picture is nothing for a terminal; name a file with -o FILE.svg, or redirect the output");
        return 1;
    }
    flame_init(&flame, view);
    if (!flame.calls.nodes[0].samples) {
        report_error("no sampled stack passes where --symbol and --object say; 'panalyze report' shows the names");
        flame_release(&flame);
        return 1;
    }
    if (view->settings->file)
        to = document_file_open(view->settings->file);
    if (!to) {
        flame_release(&flame);
        return 1;
    }
    flame_svg(&flame, to);
    flame_release(&flame);
    return view->settings->file ? document_file_close(to, view->settings->file) : 0;
}
