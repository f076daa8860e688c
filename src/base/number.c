#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The C locale, made once and kept. glibc needs no memory for it; where there is none, uselocale(0) changes
 * nothing. */
static locale_t point;
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void) {
    point = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Gives this thread the C locale and returns the one it had. */
static locale_t enter(void) {
    pthread_once(&made, make);
    return uselocale(point);
}

int surety_vformat(char *text, size_t size, const char *format, va_list args) {
    locale_t before = enter();
    int length = vsnprintf(text, size, format, args);
    uselocale(before);
    return length;
}

int surety_format(char *text, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = surety_vformat(text, size, format, args);
    va_end(args);
    return length;
}

double surety_number(const char *text, char **end) {
    locale_t before = enter();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

int surety_numbers(const char *text, char separator, double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *end;
        numbers[i] = surety_number(text, &end);
        if (end == text || !isfinite(numbers[i]) || *end != (i + 1 < count ? separator : 0)) return 0;
        text = end + 1;
    }
    return 1;
}

const char *surety_shortest(double x, char text[32]) {
    for (int digits = 1; digits <= 17; digits++) {
        surety_format(text, 32, "%.*g", digits, x);
        if (surety_number(text, NULL) == x) break;
    }
    return text;
}
