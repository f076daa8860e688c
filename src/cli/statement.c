#include "cli/statement.h"

#include "cli/classes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

/* NAME=NUMBER: *name ends at the '='. as: an example. */
static surety_status read_pair(const char *text, const char *as, char name[32], double *number,
                               surety_error *err) {
    const char *equals = strchr(text, '=');
    char *end = NULL;
    if (equals && equals - text < 32) {
        snprintf(name, 32, "%.*s", (int)(equals - text), text);
        *number = surety_number(equals + 1, &end);
        if (end != equals + 1 && !*end) return SURETY_OK;
    }
    err->code = SURETY_E_USAGE;
    snprintf(err->what, sizeof err->what, "'%s' is not NAME=NUMBER, as in %s", text, as);
    return SURETY_E_USAGE;
}

static surety_status read_shift(const char *text, void *target, surety_error *err) {
    cli_statement *s = target;
    char name[32];
    surety_status status = read_pair(text, "tv=0.02", name, &s->shift_budget, err);
    return status == SURETY_OK ? surety_shift_parse(name, &s->shift, err) : status;
}

static surety_status read_noise(const char *text, void *target, surety_error *err) {
    cli_statement *s = target;
    char name[32];
    surety_status status = read_pair(text, "flips=0.02", name, &s->noise_share, err);
    return status == SURETY_OK ? surety_label_noise_parse(name, &s->noise, err) : status;
}

static const struct {
    const char *option;
    surety_statement statement;
} forms[] = {{"per-class", SURETY_SAY_CLASSES},
             {"groups", SURETY_SAY_GROUPS},
             {"promise-risk", SURETY_SAY_RADIUS},
             {"curve", SURETY_SAY_CURVE},
             {"promises", SURETY_SAY_PROMISES}};

enum { FORMS = sizeof forms / sizeof *forms };

void cli_statement_options(cli *c, cli_statement *s) {
    s->promise = (double)NAN;
    cli_flag(
        c, "per-class", &s->per_class,
        "a limit for each class, all at once, delta split evenly over them; for votes that S did not choose "
        "(vote_frozen_max, worst_case_frozen), as are the next four");
    cli_text(
        c, "groups", "COLUMN", &s->groups,
        "a limit for each value of this column in S (a site, a sex), all at once, delta split evenly; it "
        "may be a feature, a column that is left out, or the label");
    cli_real(c, "promise-risk", "R", &s->promise,
             "the largest radius at which at most a share R fails (0.05: 5 %), instead of a limit at --eps; "
             "worst-case");
    cli_other(c, "curve", "A:B:STEP", &s->curve, cli_read_grid, NULL,
              "a limit at each of these radii (at most 64), all at once, delta split evenly; worst-case");
    cli_input(c, "promises", "FILE", &s->promises,
              "lines 'radius,limit', tested in this order at full delta up to the first that S does not "
              "keep; worst-case");
    cli_other(c, "shift", "NAME=B", s, read_shift, NULL,
              "what remains of the limit if new inputs with their labels come from another distribution, at "
              "most so far from that of S: tv=0.02 (total variation), kl=0.01, chi2=0.01, ratio=1.5 (of "
              "densities)");
    cli_other(c, "label-noise", "NAME=E", s, read_noise, NULL,
              "what remains of the limit, judged by right labels, if some labels are wrong. "
              "flips=0.02: every label was replaced with the same probability, this or more (of two "
              "classes at most a half), all others being as likely. pairs=0.02: at most this share "
              "where S was drawn from. rows=0.02: at most this share of S");
}

/* ---- settings ---- */

static surety_status curve_points(cli *c, const cli_statement *s, surety_certify_settings *out) {
    double first = s->curve.first, last = s->curve.last, step = s->curve.step,
           count = floor((last - first) / step + 1e-9) + 1;
    if (!(first >= 0 && last >= first && step > 0))
        return cli_wrong(c, "--curve FIRST:LAST:STEP: 0 <= FIRST <= LAST and STEP above 0");
    if (!(count <= SURETY_POINTS))
        return cli_wrong(c, "--curve: at most %d radii, not %g; each costs a part of delta",
                         (int)SURETY_POINTS, count);
    out->point_count = (size_t)count;
    for (size_t i = 0; i < out->point_count; i++) {
        char text[32]; /* 0.3, not 3 x 0.1 */
        snprintf(text, sizeof text, "%.12g", first + (double)i * step);
        out->points[i].radius = surety_number(text, NULL);
    }
    return SURETY_OK;
}

static surety_status bad_promise(cli *c, const char *file, size_t line, const char *text) {
    char shown[40];
    c->error.code = SURETY_E_INPUT;
    snprintf(c->error.what, sizeof c->error.what, "'%s' is not a promise",
             cli_line(text, shown, sizeof shown));
    snprintf(c->error.place, sizeof c->error.place, "line %zu", line);
    snprintf(c->error.expected, sizeof c->error.expected,
             "a radius from 0 and a limit above 0 and below 1, as in '0.1,0.05'");
    snprintf(c->error.file, sizeof c->error.file, "%s", file);
    return SURETY_E_INPUT;
}

static surety_status read_promises(cli *c, const char *file, FILE *in, surety_certify_settings *out) {
    char text[128];
    for (size_t line = 1; fgets(text, sizeof text, in); line++) {
        char *end = text, *second;
        text[strcspn(text, "\r\n")] = 0;
        if (!*text || (line == 1 && !strcmp(text, "radius,limit"))) continue;
        surety_promise p = {.radius = surety_number(text, &end)};
        if (*end != ',') return bad_promise(c, file, line, text);
        p.limit = surety_number(second = end + 1, &end);
        if (*end || end == second || !(p.radius >= 0) || !(p.limit > 0 && p.limit < 1))
            return bad_promise(c, file, line, text);
        if (out->point_count == SURETY_POINTS)
            return cli_wrong(c, "%s: at most %d promises", file, (int)SURETY_POINTS);
        out->points[out->point_count++] = p;
    }
    return out->point_count ? SURETY_OK : bad_promise(c, file, 1, "");
}

/* Processes count at the radii that each has read. */
static surety_status agree_on_promises(cli *c, const surety_certify_settings *s) {
    char text[64 * SURETY_POINTS] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->point_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%a %a\n", s->points[i].radius,
                                 s->points[i].limit);
    return surety_agree("list of promises", text, &c->run, &c->error);
}

static surety_status promise_points(cli *c, const char *file, surety_certify_settings *out) {
    FILE *in = fopen(file, "r");
    if (!in) return cli_unreadable(c, file);
    surety_status status = read_promises(c, file, in, out);
    fclose(in);
    return status == SURETY_OK ? agree_on_promises(c, out) : status;
}

bool cli_statement_has_radii(const surety_certify_settings *settings) {
    return settings->statement == SURETY_SAY_RADIUS || settings->statement == SURETY_SAY_CURVE ||
           settings->statement == SURETY_SAY_PROMISES;
}

surety_status cli_statement_settle(cli *c, const cli_statement *s, surety_certify_settings *out) {
    const char *asked = NULL;
    for (size_t i = 0; i < FORMS; i++) {
        if (!cli_given(c, forms[i].option)) continue;
        if (asked)
            return cli_wrong(c, "--%s and --%s: a certificate makes one statement", asked, forms[i].option);
        asked = forms[i].option;
        out->statement = forms[i].statement;
    }
    if (cli_statement_has_radii(out) && cli_given(c, "eps"))
        return cli_wrong(c, "--%s says at which radii: leave out --eps", asked);
    out->promise = s->promise;
    out->shift = s->shift, out->shift_budget = s->shift_budget;
    out->noise = s->noise, out->noise_share = s->noise_share;
    if (out->statement == SURETY_SAY_CURVE) return curve_points(c, s, out);
    if (out->statement == SURETY_SAY_PROMISES) return promise_points(c, s->promises, out);
    return SURETY_OK;
}

/* ---- tables ---- */

static void print_each(const surety_class_limit *limits, size_t count, const char *what) {
    char name[CLI_NAME_BYTES];
    cli_print("\n%s", cli_fit(what, -22, name));
    cli_print(" %10s %10s %10s\n", "examples", "failed", "limit");
    for (size_t k = 0; k < count; k++)
        cli_print("%s %10" PRIu64 " %10" PRIu64 " %10.6f\n", cli_fit(limits[k].label, -22, name), limits[k].m,
                  limits[k].failed, cli_limit(limits[k].value, 6));
}

/* Each radius with its limit as a bar. */
static void print_curve(const surety_certificate *c) {
    enum { WIDTH = 40 };
    cli_print("\n%12s %10s %10s\n", "radius", "failed", "limit");
    for (size_t i = 0; i < c->curve_count; i++) {
        const surety_curve_limit *p = &c->curve[i];
        char bar[WIDTH + 1];
        int length = (int)ceil(p->value * WIDTH);
        memset(bar, '#', (size_t)length);
        bar[length] = 0;
        cli_print("%12.12g %10" PRIu64 " %10.6f  %s\n", p->radius, p->failed, cli_limit(p->value, 6), bar);
    }
}

static void print_promises(const surety_certificate *c) {
    cli_print("\n%12s %10s %10s\n", "radius", "limit", "failed");
    for (size_t i = 0; i < c->promise_count; i++) {
        const surety_promise_tested *p = &c->promises[i];
        if (p->failed == SURETY_ABSENT)
            cli_print("%12.12g %10.12g %10s  not tested\n", p->radius, p->limit, "-");
        else
            cli_print("%12.12g %10.12g %10" PRIu64 "  %s\n", p->radius, p->limit, p->failed,
                      p->kept ? "promised" : "not kept");
    }
}

static void print_radius(const surety_certificate *c) {
    if (isnan(c->radius))
        cli_print("\n%-22s none\n", "radius");
    else
        cli_print("\n%-22s %.9g: %" PRIu64 " of %" PRIu64 " are not proved right that far\n", "radius",
                  c->radius, c->below_radius, c->inputs.m);
}

static void print_assumed(const surety_certificate *c) {
    char noise[48] = "", shift[48] = "", text[200];
    if (isnan(c->assumed.value)) return;
    if (c->assumed.noise[0])
        snprintf(noise, sizeof noise, "label noise %s=%g", c->assumed.noise, c->assumed.noise_share);
    if (c->assumed.shift[0])
        snprintf(shift, sizeof shift, "shift %s=%g", c->assumed.shift, c->assumed.shift_budget);
    snprintf(text, sizeof text, "%.6f if %s%s%s: assumed, not measured", cli_limit(c->assumed.value, 6),
             noise, *noise && *shift ? " and " : "", shift);
    cli_print("\n%-22s ", "under a condition");
    cli_print_wrapped(text, 23, 23);
}

void cli_statement_print(const surety_certificate *c) {
    print_assumed(c);
    if (!strcmp(c->statement, surety_statement_name(SURETY_SAY_CLASSES)))
        print_each(c->limits, c->limit_count, "class");
    if (!strcmp(c->statement, surety_statement_name(SURETY_SAY_GROUPS)))
        print_each(c->groups, c->group_count, c->group_column);
    if (!strcmp(c->statement, surety_statement_name(SURETY_SAY_RADIUS))) print_radius(c);
    if (!strcmp(c->statement, surety_statement_name(SURETY_SAY_CURVE))) print_curve(c);
    if (!strcmp(c->statement, surety_statement_name(SURETY_SAY_PROMISES))) print_promises(c);
}
