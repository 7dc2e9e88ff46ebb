/* assets: the page's files, as they are in the source tree; read by page.c alone. */
#pragma once

extern const char web_page_html[], web_page_css[], web_app_js[], web_charts_js[], web_list_js[],
    web_runs_js[], web_traces_js[], web_trajectory_js[], web_service_js[];
/* Chart.js, from the file that the Makefile found; "" if it found none. */
extern const char web_chart_min_js[];
