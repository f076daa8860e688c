/* All that the command prints goes through cli_put: texts from files, arguments and paths cannot steer the
 * terminal. Only the progress line has escapes of its own. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void cli_put(FILE *to, const char *text) {
    while (*text) {
        char shown[SURETY_PRINTABLE];
        size_t plain = 0;
        while (text[plain] == '\n' || (text[plain] >= ' ' && text[plain] <= '~')) plain++;
        fwrite(text, 1, plain, to);
        text += plain;
        if (!*text) return;
        text += surety_printable(text, shown);
        fputs(shown, to);
    }
}

__attribute__((format(printf, 2, 0))) static void put_all(FILE *to, const char *format, va_list args) {
    char few[1024], *text = few;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(few, sizeof few, format, args);
    if (length >= (int)sizeof few && (text = malloc((size_t)length + 1)))
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    cli_put(to, text ? text : few); /* without memory: the beginning */
    if (text != few) free(text);
}

void cli_print(const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_all(stdout, format, args);
    va_end(args);
}

void cli_print_to(FILE *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_all(to, format, args);
    va_end(args);
}

void cli_say(const cli *c, const char *format, ...) {
    if (c->quiet) return;
    va_list args;
    va_start(args, format);
    put_all(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void cli_warn(const cli *c, const char *format, ...) {
    (void)c;
    fprintf(stderr, "surety: warning: ");
    va_list args;
    va_start(args, format);
    put_all(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

const char *cli_line(const char *text, char *buffer, size_t size) {
    static const char cut[] = " ..";
    size_t used = 0, fits = 0; /* behind what the sign of a cut still fits */
    while (*text) {
        char shown[SURETY_PRINTABLE];
        size_t taken = surety_printable(text, shown), length = strlen(shown);
        if (used + length + 1 > size) {
            strcpy(buffer + fits, cut);
            return buffer;
        }
        memcpy(buffer + used, shown, length);
        used += length;
        if (used + sizeof cut <= size) fits = used;
        text += taken;
    }
    buffer[used] = 0;
    return buffer;
}
