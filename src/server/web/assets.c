#include "server/web/assets.h"

#include "base/embed.h"

EMBED_TEXT(web_page_html, "src/server/web/page/page.html");
EMBED_TEXT(web_page_css, "src/server/web/page/page.css");
EMBED_TEXT(web_app_js, "src/server/web/page/app.js");
EMBED_TEXT(web_charts_js, "src/server/web/page/charts.js");
EMBED_TEXT(web_list_js, "src/server/web/page/list.js");
EMBED_TEXT(web_runs_js, "src/server/web/page/runs.js");
EMBED_TEXT(web_traces_js, "src/server/web/page/traces.js");
EMBED_TEXT(web_trajectory_js, "src/server/web/page/trajectory.js");
EMBED_TEXT(web_service_js, "src/server/web/page/service.js");
#ifdef WEB_CHART_FILE
EMBED_TEXT(web_chart_min_js, WEB_CHART_FILE);
#else
const char web_chart_min_js[] = "";
#endif
