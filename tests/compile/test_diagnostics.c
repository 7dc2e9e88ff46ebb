#include "compile/diagnostics.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/mem.h"
#include "compile/message.h"

static const char *const quoted[] = {"/usr/lib", "/usr/include", "/usr/local/cuda", NULL};

static const struct diagnostics_context context = {
    .source = "candidate.c",
    .scratch = "/var/tmp/warpgym-cc-aB3dE6",
    .root = "/opt/warpgym/toolchain",
    .quoted = quoted,
};

enum { ERROR = 1, SOURCE = 2, TOOLS = 4, MEMORY = 8, SIZE = 16, KILLED = 32 };

static int hints(const struct diagnostics *found)
{
    return (found->error ? ERROR : 0) | (found->blames_source ? SOURCE : 0) |
           (found->blames_tools ? TOOLS : 0) | (found->out_of_memory ? MEMORY : 0) |
           (found->too_large ? SIZE : 0) | (found->killed ? KILLED : 0);
}

/* What compilers really print, and what becomes of it. */
static const struct {
    const char *printed;
    const char *shown;
    int hints;
} golden[] = {
    {"", "", 0},
    {"\n\n", "", 0},
    /* gcc: place, source line, marker. */
    {"candidate.c: In function 'f':\n"
     "candidate.c:3:22: error: 'y' undeclared (first use in this function)\n"
     "    3 | int f(void) { return y\n"
     "      |                      ^\n"
     "candidate.c:3:22: note: each undeclared identifier is reported only once for each function "
     "it appears in\n",
     "softmax.c:3:22: error: 'y' undeclared (first use in this function)\n"
     "    3 | int f(void) { return y\n"
     "      |                      ^\n",
     ERROR | SOURCE},
    /* Errors first, each with its notes; warnings behind. */
    {"candidate.c:1:5: warning: unused variable 'a' [-Wunused-variable]\n"
     "    1 | int a;\n"
     "candidate.c:2:5: error: redefinition of 'x'\n"
     "    2 | int x = 2;\n"
     "candidate.c:1:5: note: previous definition of 'x' with type 'int'\n"
     "    1 | int x = 1;\n",
     "softmax.c:2:5: error: redefinition of 'x'\n"
     "    2 | int x = 2;\n"
     "softmax.c:1:5: note: previous definition of 'x' with type 'int'\n"
     "    1 | int x = 1;\n"
     "softmax.c:1:5: warning: unused variable 'a' [-Wunused-variable]\n"
     "    1 | int a;\n",
     ERROR | SOURCE},
    {"candidate.c:1:10: fatal error: nope.h: No such file or directory\n"
     "    1 | #include \"nope.h\"\n"
     "      |          ^~~~~~~~\n"
     "compilation terminated.\n",
     "softmax.c:1:10: error: nope.h: No such file or directory\n"
     "    1 | #include \"nope.h\"\n"
     "      |          ^~~~~~~~\n",
     ERROR | SOURCE | TOOLS},
    {"candidate.c:4: warning: control reaches end of non-void function [-Wreturn-type]\n",
     "softmax.c:4: warning: control reaches end of non-void function [-Wreturn-type]\n", 0},
    {"candidate.c:1:9: note: '#pragma message: hello'\n"
     "    1 | #pragma message \"hello\"\n",
     "softmax.c:1:9: note: '#pragma message: hello'\n"
     "    1 | #pragma message \"hello\"\n",
     0},
    {"candidate.c:3:1: internal compiler error: in foo, at bar.cc:12\n"
     "    3 | }\n"
     "0x7f00 ???\n"
     "\t../sysdeps/start.S:115\n"
     "Please submit a full bug report, with preprocessed source.\n"
     "See <file:///usr/share/doc/gcc-12/README.Bugs> for instructions.\n",
     "softmax.c:3:1: error: internal compiler error: in foo, at bar.cc:12\n"
     "    3 | }\n",
     ERROR | SOURCE},
    /* A header of the toolchain, reached from the source. */
    {"In file included from /usr/include/a.h:3,\n"
     "                 from candidate.c:7:\n"
     "/usr/include/b.h:250:1: error: wrong use\n"
     "  250 | foo (bar)\n"
     "candidate.c:9:30: note: called from here\n"
     "    9 | foo(0);\n",
     "/usr/include/b.h:250:1: error: wrong use\n"
     "  250 | foo (bar)\n"
     "softmax.c:9:30: note: called from here\n"
     "    9 | foo(0);\n"
     "softmax.c:7: note: included from here\n",
     ERROR | SOURCE},
    {"/opt/warpgym/toolchain/usr/include/b.h:2:1: error: wrong\n",
     "/usr/include/b.h:2:1: error: wrong\n", ERROR},
    /* C++: an error in a template of a header belongs to the use that led to it. */
    {"In file included from /usr/include/b.h:71,\n"
     "                 from candidate.c:1:\n"
     "/usr/include/b.h: In instantiation of 'bool less(T) [with T = A]':\n"
     "/usr/include/b.h:9:14:   required from 'void sort(T, T) [with T = A*]'\n"
     "/usr/include/b.h:19:25:   [ skipping 3 instantiation contexts, use more to see them ]\n"
     "candidate.c:6:14:   required from here\n"
     "/usr/include/b.h:45:23: error: no match for 'operator<'\n"
     "   45 | { return *a < *b; }\n"
     "/usr/include/b.h: In member function 'void g()':\n"
     "/usr/include/b.h:50:2: error: wrong by itself\n",
     "/usr/include/b.h:45:23: error: no match for 'operator<'\n"
     "   45 | { return *a < *b; }\n"
     "softmax.c:6:14: note: required from here\n"
     "/usr/include/b.h:50:2: error: wrong by itself\n"
     "softmax.c:1: note: included from here\n",
     ERROR | SOURCE},
    {"candidate.c:9:1: error: first\n"
     "candidate.c:5:20:   in 'constexpr' expansion of 'f(9)'\n"
     "candidate.c:2:40: error: too far\n",
     "softmax.c:9:1: error: first\nsoftmax.c:2:40: error: too far\n", ERROR | SOURCE},
    {"/etc/group: In instantiation of 'x':\n"
     "candidate.c secret:   required from here\n"
     "/etc/group:3:21:   required from 'secret'\n"
     "/etc/group:3:21: error: 'secret' undeclared\n",
     "softmax.c: error: about a file that is not part of the source\n", ERROR | SOURCE},
    /* Files of the machine are not quoted, however their names come in. */
    {"In file included from candidate.c:2:\n"
     "/etc/passwd:1:5: error: expected '=', ',', ';' before ':' token\n"
     "    1 | root:x:0:0:root:/root:/bin/sh\n"
     "      |     ^\n"
     "/etc/passwd:2:5: error: unknown type name 'daemon'\n"
     "    2 | daemon:x:1:1\n",
     "softmax.c:2: error: the file that is included here does not compile\n", ERROR | SOURCE},
    {"/etc/group: In function 'f':\n"
     "/etc/group:3:21: error: 'secret' undeclared\n"
     "    3 | secret:x:2:\n",
     "softmax.c: error: about a file that is not part of the source\n", ERROR | SOURCE},
    {"/usr/lib/../../etc/shadow:3:21: error: 'secret' undeclared\n"
     "    3 | secret:x:2:\n",
     "softmax.c: error: about a file that is not part of the source\n", ERROR | SOURCE},
    {"../../../etc/shadow:3:21: error: 'secret' undeclared\n"
     "    3 | secret:x:2:\n",
     "softmax.c: error: about a file that is not part of the source\n", ERROR | SOURCE},
    {"candidate.c:1:1: error: odd\n"
     "/etc/shadow:3:21: note: 'secret' is here\n"
     "    3 | secret:x:2:\n",
     "softmax.c:1:1: error: odd\n", ERROR | SOURCE},
    {"kernel.y:12:3: error: 'zz' undeclared\n", "kernel.y:12:3: error: 'zz' undeclared\n",
     ERROR | SOURCE},
    /* Our own places are not named. */
    {"/var/tmp/warpgym-cc-aB3dE6/candidate.c:1:2: error: #error x\n",
     "softmax.c:1:2: error: #error x\n", ERROR | SOURCE},
    {"candidate.c:1:2: error: in /var/tmp/warpgym-cc-aB3dE6/x.h\n",
     "softmax.c:1:2: error: in x.h\n", ERROR | SOURCE},
    /* GNU as: lines of the compiler's output, or of the source. */
    {"{standard input}: Assembler messages:\n"
     "{standard input}:4: Error: no such instruction: `bogus %rax'\n"
     "{standard input}:5: Error: file not found: /nope\n"
     "candidate.c:4: Error: no such instruction: `hoppla'\n"
     "candidate.c:5: Warning: odd\n",
     "softmax.c: error: assembler: no such instruction: `bogus %rax'\n"
     "softmax.c: error: assembler: file not found: /nope\n"
     "softmax.c:4: error: assembler: no such instruction: `hoppla'\n"
     "softmax.c:5: warning: assembler: odd\n",
     ERROR | SOURCE | TOOLS},
    /* gold, GNU ld. */
    {"./ccxDpdKR.o:candidate.c:function f: error: undefined reference to 'g'\n"
     "./ccxDpdKR.o:candidate.c:function f: error: undefined reference to 'g'\n"
     "./ccxDpdKR.o:candidate.c:function k: error: undefined reference to 'g'\n"
     "collect2: error: ld returned 1 exit status\n",
     "softmax.c: error: undefined reference to 'g' in function 'f'\n"
     "softmax.c: error: undefined reference to 'g' in function 'k'\n",
     ERROR | SOURCE},
    {"/usr/bin/ld: ./ccHe73do.o: in function `f':\n"
     "candidate.c:(.text+0x9): undefined reference to `g'\n"
     "/usr/bin/ld: candidate.c:(.text+0x12): undefined reference to `h2'\n"
     "/usr/bin/ld: ./ccHe73do.o: in function `k':\n"
     "candidate.c:(.text+0x28): undefined reference to `g'\n"
     "collect2: error: ld returned 1 exit status\n",
     "softmax.c: error: undefined reference to `g' in function 'f'\n"
     "softmax.c: error: undefined reference to `h2' in function 'f'\n"
     "softmax.c: error: undefined reference to `g' in function 'k'\n",
     ERROR | SOURCE},
    {"/usr/bin/ld.gold: error: ./ccZgTk1r.o: multiple definition of '_init'\n"
     "/usr/bin/ld.gold: /usr/lib/crti.o: previous definition here\n"
     "collect2: error: ld returned 1 exit status\n",
     "softmax.c: error: multiple definition of '_init'\n", ERROR | SOURCE},
    {"/usr/lib/gcc/x/12/crtbeginS.o(.text+0x3): error: relocation overflow: reference to local "
     "symbol 4 in /usr/lib/gcc/x/12/crtbeginS.o\n",
     "softmax.c: error: relocation overflow: reference to local symbol 4 in crtbeginS.o\n",
     ERROR | TOOLS},
    {"/usr/bin/ld: cannot find -lomp: No such file or directory\n"
     "clang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
     "softmax.c: error: cannot find -lomp: No such file or directory\n", ERROR | TOOLS},
    /* clang: no margin before the source line. */
    {"candidate.c:3:22: error: use of undeclared identifier 'y'\n"
     "int f(void) { return y\n"
     "                     ^\n"
     "3 warnings and 1 error generated.\n",
     "softmax.c:3:22: error: use of undeclared identifier 'y'\n"
     "int f(void) { return y\n"
     "                     ^\n",
     ERROR | SOURCE},
    /* nvcc, ptxas. */
    {"candidate.c(1): error: identifier \"undefd\" is undefined\n"
     "  __attribute__((global)) void k(float*x){ x[0]=undefd; }\n"
     "                                                ^\n"
     "\n"
     "candidate.c(2): warning #177-D: variable \"q\" was declared but never referenced\n"
     "  int q;\n"
     "      ^\n"
     "\n"
     "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
     "1 error detected in the compilation of \"candidate.c\".\n",
     "softmax.c:1: error: identifier \"undefd\" is undefined\n"
     "  __attribute__((global)) void k(float*x){ x[0]=undefd; }\n"
     "                                                ^\n"
     "softmax.c:2: warning: variable \"q\" was declared but never referenced\n"
     "  int q;\n"
     "      ^\n",
     ERROR | SOURCE},
    {"ptxas ./tmpxft_01-6_candidate.ptx, line 28; error   : Not a name of any known instruction: "
     "'bogus'\n"
     "ptxas fatal   : Ptx assembly aborted due to errors\n",
     "softmax.c: error: ptxas: Not a name of any known instruction: 'bogus'\n", ERROR | SOURCE},
    /* The tools about themselves. */
    {"\ncc1: out of memory allocating 65536 bytes after a total of 1 bytes\n",
     "softmax.c: note: the compiler said: cc1: out of memory allocating 65536 bytes after a total "
     "of 1 bytes\n",
     MEMORY},
    {"gcc: fatal error: Killed signal terminated program cc1\n"
     "compilation terminated.\n",
     "softmax.c: error: gcc: Killed signal terminated program cc1\n", ERROR | TOOLS | KILLED},
    {"gcc: fatal error: Killed signal terminated program collect2\n"
     "compilation terminated.\n"
     "/usr/bin/ld: error: cannot open candidate.o: No such file or directory\n",
     "softmax.c: error: gcc: Killed signal terminated program collect2\n"
     "softmax.c: error: cannot open candidate.o: No such file or directory\n",
     ERROR | TOOLS | KILLED},
    /* The driver has not ended with it: gas prints what a source says. */
    {"gcc: fatal error: Killed signal terminated program cc1\n"
     "/usr/bin/ld: error: candidate.c: undefined version V1\n"
     "collect2: error: ld returned 1 exit status\n",
     "softmax.c: error: gcc: Killed signal terminated program cc1\n"
     "softmax.c: error: candidate.c: undefined version V1\n",
     ERROR | TOOLS},
    {"gcc: fatal error: Killed signal terminated program cc1\na\nb\nc\nd\ne\n",
     "softmax.c: error: gcc: Killed signal terminated program cc1\na\nb\nc\nd\ne\n", ERROR | TOOLS},
    {"collect2: fatal error: ld terminated with signal 9 [Killed]\n"
     "compilation terminated.\n",
     "softmax.c: error: collect2: ld terminated with signal 9 [Killed]\n", ERROR | TOOLS | KILLED},
    {"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
     "softmax.c: note: the compiler said: nvcc error   : 'cicc' died due to signal 9 (Kill "
     "signal)\n",
     KILLED},
    {"collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]\n"
     "compilation terminated.\n",
     "softmax.c: error: collect2: ld terminated with signal 25 [File size limit exceeded]\n",
     ERROR | TOOLS | SIZE},
    {"/usr/bin/gcc: fatal error: cannot execute '/usr/lib/gcc/cc1': execvp: No such file\n",
     "softmax.c: error: cannot execute 'cc1': execvp: No such file\n", ERROR | TOOLS},
    {"Segmentation fault\nand more\n", "softmax.c: note: the compiler said: Segmentation fault\n",
     0},
    /* A source can print what it likes about itself, and forge no hint by it. */
    {"candidate.c:1:2: error: #error cc1: out of memory, File too large\n"
     "    1 | #error cc1: out of memory, File too large\n",
     "softmax.c:1:2: error: #error cc1: out of memory, File too large\n"
     "    1 | #error cc1: out of memory, File too large\n",
     ERROR | SOURCE},
    /* The assembler's output may come behind its errors. */
    {"/tmp/cc1.s: Assembler messages:\n/tmp/cc1.s:1: Error: no such instruction: `x'\n"
     "File too large\nvirtual memory exhausted\n",
     "softmax.c: error: assembler: no such instruction: `x'\nFile too large\n"
     "virtual memory exhausted\n",
     ERROR | SOURCE},
    {"/usr/bin/ld: final link failed: File too large\n/usr/bin/ld: x.o: undefined reference to "
     "`g'\n"
     "collect2: error: ld returned 1 exit status\n",
     "softmax.c: error: final link failed: File too large\n"
     "softmax.c: error: undefined reference to `g'\n",
     ERROR | SOURCE | TOOLS},
    /* Genuine: nothing but the driver's end behind it. */
    {"/usr/bin/ld: final link failed: File too large\ncollect2: error: ld returned 1 exit status\n",
     "softmax.c: error: final link failed: File too large\n", ERROR | TOOLS | SIZE},
    /* What is no printable UTF-8, and the mark that stands for the name. */
    {"candidate.c:1:2: error: \x1b[31m\001 caf\xc3\xa9 \xff\xc3(\xed\xa0\x80\n",
     "softmax.c:1:2: error: ?[31m? caf\xc3\xa9 ?"
     "?(???\n",
     ERROR | SOURCE},
};

static char *distill(const char *printed, size_t bytes, bool cut, int *found_hints)
{
    struct diagnostics found;
    struct diagnostics_context with_cut = context;
    with_cut.cut = cut;
    diagnostics_init(&found, &with_cut, printed, bytes);
    if (found_hints)
        *found_hints = hints(&found);
    assert_true(strlen(found.text) <= DIAGNOSTICS_TEXT_BYTES);
    char *shown = diagnostics_named(found.text, "softmax.c");
    diagnostics_deinit(&found);
    return shown;
}

TEST(golden)
{
    for (size_t i = 0; i < COUNT(golden); i++) {
        int found = 0;
        char *shown = distill(golden[i].printed, strlen(golden[i].printed), false, &found);
        if (strcmp(shown, golden[i].shown) != 0 || found != golden[i].hints)
            fail_msg("%s\nbecame (hints %d)\n%s\ninstead of (hints %d)\n%s", golden[i].printed,
                     found, shown, golden[i].hints, golden[i].shown);
        mem_free(shown);
    }
}

TEST(flood_is_bounded_and_keeps_errors)
{
    struct buf flood;
    buf_init(&flood, 4 << 20);
    for (int i = 1; flood.len < 2 << 20; i++)
        buf_printf(&flood, "candidate.c:%d:1: warning: number %d\n", i, i);
    buf_puts(&flood, "candidate.c:9:9: error: at last\n");
    char *shown = distill(flood.data, flood.len, false, NULL);
    assert_memory_equal(shown, "softmax.c:9:9: error: at last\n", 30);
    assert_non_null(strstr(shown, "softmax.c:1:1: warning: number 1\n"));
    assert_non_null(strstr(shown, "softmax.c: note: messages left out here: "));
    mem_free(shown);
    buf_deinit(&flood);
}

TEST(errors_beyond_the_bound_are_counted)
{
    struct buf flood;
    buf_init(&flood, 1 << 16);
    for (int i = 1; i <= 200; i++)
        buf_printf(&flood, "candidate.c:%d:1: error: number %d\n", i, i);
    char *shown = distill(flood.data, flood.len, false, NULL);
    assert_memory_equal(shown, "softmax.c:1:1: error: number 1\n", 31);
    assert_non_null(strstr(shown, "softmax.c: note: messages left out here: 136\n"));
    mem_free(shown);
    buf_deinit(&flood);
}

TEST(long_lines_are_cut_between_characters)
{
    for (int shift = 0; shift < 4; shift++) {
        struct buf line;
        buf_init(&line, 4096);
        buf_printf(&line, "candidate.c:1:1: error: %.*s", shift, "xxxx");
        while (line.len < 4000)
            buf_puts(&line, "\xe2\x82\xac");
        char *shown = distill(line.data, line.len, false, NULL);
        size_t length = strlen(shown);
        assert_true(length < MESSAGE_LINE_BYTES + 8);
        assert_memory_equal(shown + length - 7, "\xe2\x82\xac\xe2\x80\xa6\n", 7);
        mem_free(shown);
        buf_deinit(&line);
    }
}

TEST(cut_output)
{
    static const char text[] = "candidate.c:1:1: warning: whole\ncandidate.c:2:1: err";
    char *shown = distill(text, strlen(text), true, NULL);
    assert_string_equal(shown, "softmax.c:1:1: warning: whole\n"
                               "softmax.c: note: the compiler printed more than is kept\n");
    mem_free(shown);
}

TEST(any_prefix_is_harmless)
{
    for (size_t i = 0; i < COUNT(golden); i++)
        for (size_t length = 0; length <= strlen(golden[i].printed); length++) {
            char *copy = mem_alloc(length); /* exact, for the address sanitizer */
            memcpy(copy, golden[i].printed, length);
            char *shown = distill(copy, length, false, NULL);
            assert_null(strchr(shown, '\001'));
            assert_null(strstr(shown, "warpgym-cc-aB3dE6/"));
            assert_null(strstr(shown, "root:x"));
            mem_free(shown);
            mem_free(copy);
        }
}

TEST(name_is_filled_in)
{
    static const struct {
        const char *text, *name, *expected;
    } rows[] = {
        {"", "a.c", ""},
        {"no name\n", "a.c", "no name\n"},
        {"\001:1\n", "a.c", "a.c:1\n"},
        {"\001\001", "", ""},
        {"x\001y\001", "long/name.c", "xlong/name.cylong/name.c"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *named = diagnostics_named(rows[i].text, rows[i].name);
        assert_string_equal(named, rows[i].expected);
        mem_free(named);
    }
}

TEST(normalise)
{
    static const struct {
        const char *path, *expected;
    } rows[] = {
        {"/", ""},
        {"/usr/lib", "/usr/lib"},
        {"/usr//lib/./x", "/usr/lib/x"},
        {"/usr/local/cuda/bin/../include/a.h", "/usr/local/cuda/include/a.h"},
        {"/usr/lib/../../etc/shadow", "/etc/shadow"},
        {"/../../etc/shadow", "/etc/shadow"},
        {"/usr/lib/..hidden/...", "/usr/lib/..hidden/..."},
        {"/usr/lib/..", "/usr"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[64];
        message_normalise(rows[i].path, strlen(rows[i].path), out, sizeof out);
        assert_string_equal(out, rows[i].expected);
    }
    char small[8];
    message_normalise("/abc/defghijk/l", 15, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
}

TEST(message_parse)
{
    static const struct {
        const char *line;
        bool message;
        long number, column;
        int file_length;
    } rows[] = {
        {"a.c:1:2: error: x", true, 1, 2, 3},
        {"a.c:1: error: x", true, 1, 0, 3},
        {"a.c(7): warning #1-D: x", true, 7, 0, 3},
        {"a:b.c:1:2: note: x", true, 1, 2, 5},
        {"a.c:1:2:3: error: x", true, 2, 3, 5},
        {"a.c:1:2: misc: x", false, 0, 0, 0},
        {"a.c:1:2:", false, 0, 0, 0},
        {":1:2: error: x", true, 2, 0, 2},
        {"a.c:99999999999:2: error: x", true, 2, 0, 15},
        {"a.c(): error: x", false, 0, 0, 0},
        {"", false, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct message message;
        bool parsed = message_parse(rows[i].line, &message);
        if (parsed != rows[i].message)
            fail_msg("'%s': parsed %d", rows[i].line, parsed);
        if (!parsed)
            continue;
        assert_int_equal(message.line, rows[i].number);
        assert_int_equal(message.column, rows[i].column);
        assert_int_equal(message.file_length, rows[i].file_length);
        assert_string_equal(message.text, "x");
    }
}
