/* SPDX-License-Identifier: MIT */

#include "analyze/view/document_file.h"
#include "analyze/view/flame.h"
#include "analyze/view/view.h"
#include "common/report.h"

int view_flame(struct view *view)
{
    struct flame flame;
    struct document_file file;
    const char *path = view->settings->file;
    if (!view->selection->total_samples) {
        report_error("no samples to draw; 'panalyze counts' shows what was counted, 'panalyze tree' what ran");
        return 1;
    }
    if (!path && view->output->terminal) {
        report_error("a picture is nothing for a terminal; name a file with -o FILE.svg, or redirect the output");
        return 1;
    }
    flame_init(&flame, view);
    if (!flame.calls.nodes[0].samples) {
        report_error("no sampled stack passes where --symbol and --object say; 'panalyze report' shows the names");
        flame_release(&flame);
        return 1;
    }
    int status = path && document_file_open(&file, path) < 0;
    if (!status)
        flame_svg(&flame, path ? file.to : view->output->to);
    if (!status && path)
        status = document_file_close(&file);
    flame_release(&flame);
    return status;
}
