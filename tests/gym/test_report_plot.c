#include "../support/test.h"
#include "gym/report/plot.h"

#include <math.h>

TEST(text_of_strangers)
{
    static const struct {
        const char *text, *html;
    } rows[] = {
        {"", ""},
        {"a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"},
        {"\"' onload=x", "&quot;&#39; onload=x"},
        {"</script><img src=x onerror=alert(1)>",
         "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"},
        {"{{title}}", "{{title}}"}, /* what is put in is not looked at for slots again */
        {"1\n2\t3", "1\n2\t3"},
        {"\033[2J\x7f\r", "\uFFFD[2J\uFFFD\uFFFD"},
        {"\xff\xfe", "\uFFFD\uFFFD"},
        {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"}, /* a surrogate */
        {"\xe2\x80", "\uFFFD\uFFFD"},           /* the end came too early */
        {"\xc2\x85", "\uFFFD"},
        {"a\u202eb\u2066c\u200fd", "a\uFFFDb\uFFFDc\uFFFDd"},
        {"é 中 \U0001F600", "é 中 \U0001F600"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf out;
        buf_init(&out, 1000);
        html_text(&out, rows[i].text);
        assert_string_equal(out.data, rows[i].html);
        buf_deinit(&out);
    }
}

TEST(places)
{
    struct plot plot = {.x = {0.1, 10, true}, .y = {0, 1, false}};
    struct buf out;
    buf_init(&out, 10000);
    plot_open(&plot, &out, 560, 300, "a", "A < B", "what it shows");
    assert_non_null(strstr(out.data, "<title id=\"a-title\">A &lt; B</title>"));
    assert_true(plot_x(&plot, 0.1) == plot.left && plot_x(&plot, 10) == plot.right);
    assert_float_equal(plot_x(&plot, 1), (plot.left + plot.right) / 2, 1e-9);
    assert_true(plot_y(&plot, 0) == plot.bottom && plot_y(&plot, 1) == plot.top);
    /* Beyond the field is its edge. */
    assert_true(plot_x(&plot, 0) == plot.left && plot_x(&plot, 1e9) == plot.right);
    assert_true(plot_y(&plot, -3) == plot.bottom && plot_y(&plot, 7) == plot.top);
    buf_deinit(&out);
}

TEST(gaps)
{
    struct plot plot = {.x = {0, 4, false}, .y = {0, 1, false}};
    const struct plot_point points[] = {{0, 0}, {1, 1}, {2, NAN}, {3, 1}, {4, 0}};
    struct buf out;
    buf_init(&out, 10000);
    plot_open(&plot, &out, 560, 300, "a", "", "");
    buf_reset(&out);
    plot_line(&plot, "l", points, 5);
    assert_string_equal(out.data, "<path class=\"l\" d=\"M46.0 260.0L171.0 10.0M421.0 10.0L546.0 "
                                  "260.0\"/>");
    buf_reset(&out);
    plot_ribbon(&plot, "b", points, points, 5);
    assert_string_equal(out.data, "<path class=\"b\" d=\"M46.0 260.0L171.0 10.0L171.0 10.0L46.0 "
                                  "260.0ZM421.0 10.0L546.0 260.0L546.0 260.0L421.0 10.0Z\"/>");
    buf_reset(&out);
    plot_dot(&plot, "d", 2, NAN, "nowhere");
    assert_string_equal(out.data, "");
    buf_deinit(&out);
}

TEST(round_numbers)
{
    static const struct {
        double low, high, least;
        size_t count;
        double first, last;
    } rows[] = {
        {0, 1, 0, 6, 0, 1},        {0, 30, 1, 7, 0, 30},
        {-0.05, 1.05, 0, 6, 0, 1}, {1e-6, 7e-6, 0, 7, 1e-6, 7e-6},
        {0, 2, 1, 3, 0, 2},        {-3.2, -1.1, 0, 4, -3, -1.5},
        {5, 5, 0, 1, 5, 5},        {120, 1234, 1, 6, 200, 1200},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct plot_axis axis = {rows[i].low, rows[i].high, false};
        double values[7];
        size_t count = plot_round_numbers(&axis, rows[i].least, 6, values);
        if (count != rows[i].count || fabs(values[0] - rows[i].first) > 1e-9 ||
            fabs(values[count - 1] - rows[i].last) > 1e-9 ||
            signbit(values[0] + 0) != (values[0] < 0))
            fail_msg("row %zu: %zu, %g to %g", i, count, values[0], values[count - 1]);
    }
}
