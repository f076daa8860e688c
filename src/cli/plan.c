/* surety plan: how many examples a promise needs. */
#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/bound.h"

typedef struct options {
    surety_plan plan;
    size_t classes, curve, looks, rows;
} options;

/* What came out. */
typedef struct planned {
    surety_plan part;  /* of one of the statements that share the confidence */
    uint64_t part_m;   /* examples that it needs */
    uint64_t examples; /* that all need */
    uint64_t learn;    /* of --rows: S, at most six tenths of them */
    double promise;    /* what the learn examples can promise */
    double without;    /* what they can promise if none fails */
} planned;

/* Statements that hold together share delta; all of them shall be printed with the chance. */
static surety_status compute(cli *c, const options *o, planned *p) {
    size_t parts = o->classes * o->curve * o->looks;
    p->part = o->plan;
    p->part.delta = o->plan.delta / (double)parts;
    p->part.chance = 1 - (1 - o->plan.chance) / (double)o->classes;
    surety_status status = surety_plan_examples(&p->part, &p->part_m, &c->error);
    p->examples = p->part_m * o->classes;
    if (status != SURETY_OK || !o->rows) return status;
    uint64_t most = o->rows - o->rows * 2 / 5;
    p->learn = p->examples < most ? p->examples : most;
    surety_plan none = p->part;
    none.expected = 0;
    status = surety_plan_promise(&p->part, p->learn / o->classes, &p->promise, &c->error);
    if (status == SURETY_OK)
        status = surety_plan_promise(&none, p->learn / o->classes, &p->without, &c->error);
    return status;
}

static void print_rows(const options *o, const planned *p) {
    uint64_t rest = o->rows - p->learn;
    if (p->examples <= p->learn) {
        cli_print("\nOf %zu rows: --learn-size %llu (%.0f %%); %llu rows are left for S' and T.\n", o->rows,
                  (unsigned long long)p->learn, 100 * (double)p->learn / (double)o->rows,
                  (unsigned long long)rest);
        return;
    }
    cli_print(
        "\n%zu rows are too few: training needs some of them too. With --learn-size %llu, six\n"
        "tenths of them, the smallest promise with that chance is %.4f, and with no failure\n"
        "at all %.4f.\n",
        o->rows, (unsigned long long)p->learn, cli_limit(p->promise, 4), cli_limit(p->without, 4));
}

static void print_plan(const options *o, const planned *p) {
    static const double chances[] = {0.5, 0.8, 0.9, 0.95, 0.99};
    surety_plan at = p->part;
    cli_print("Promise: at most %g %% of inputs fail, with confidence %g %%", 100 * o->plan.promise,
              100 * (1 - o->plan.delta));
    if (o->classes > 1) cli_print(", for each of %zu classes", o->classes);
    if (o->curve > 1) cli_print(", at %zu radii", o->curve);
    if (o->looks > 1) cli_print(", %zu looks", o->looks);
    cli_print(".\nIf in truth %g %% fail, S needs %llu examples", 100 * o->plan.expected,
              (unsigned long long)p->examples);
    if (o->classes > 1) cli_print(", %llu of each class", (unsigned long long)p->part_m);
    cli_print(": then the promise can be\nprinted with a chance of %g %% or more.\n", 100 * o->plan.chance);
    cli_print("\n   chance   examples\n");
    for (size_t i = 0; i < sizeof chances / sizeof *chances; i++) {
        uint64_t m;
        at.chance = 1 - (1 - chances[i]) / (double)o->classes;
        if (surety_plan_examples(&at, &m, NULL) == SURETY_OK)
            cli_print("   %4g %%  %9llu\n", 100 * chances[i], (unsigned long long)(m * o->classes));
    }
    if (o->rows) print_rows(o, p);
}

static void print_json(const options *o, const planned *p) {
    cli_print(
        "{\"examples\": %llu, \"promise\": %.17g, \"expected\": %.17g, \"chance\": %.17g, "
        "\"delta\": %.17g, \"classes\": %zu, \"curve\": %zu, \"looks\": %zu",
        (unsigned long long)p->examples, o->plan.promise, o->plan.expected, o->plan.chance, o->plan.delta,
        o->classes, o->curve, o->looks);
    if (o->rows)
        cli_print(
            ", \"rows\": %zu, \"learn_size\": %llu, \"enough\": %s, \"reachable\": %.17g, "
            "\"without_failure\": %.17g",
            o->rows, (unsigned long long)p->learn, p->examples <= p->learn ? "true" : "false", p->promise,
            p->without);
    cli_print("}\n");
}

static surety_status run(cli *c) {
    options o = {.classes = 1, .curve = 1, .looks = 1};
    planned p = {.examples = 0};
    o.plan = surety_plan_defaults();
    cli_real(c, "promise", "R", &o.plan.promise, "the limit that shall be printed: at most this share fails");
    cli_real(c, "expected", "E", &o.plan.expected,
             "the share that fails in truth, as far as one knows: from a hold-out of S', or from T");
    cli_real(c, "chance", "C", &o.plan.chance, "how likely the promise shall be kept that low");
    cli_real(c, "delta", "D", &o.plan.delta, "1 - confidence");
    cli_size(c, "classes", "K", &o.classes, "a promise for each of K classes, equally frequent");
    cli_size(c, "curve", "G", &o.curve, "a promise at each of G radii");
    cli_size(c, "looks", "N", &o.looks, "certificates that share the confidence (certify --looks)");
    cli_size(c, "rows", "N", &o.rows, "the rows there are: which split does that mean?");
    surety_status status = cli_parse(c, 0, 0);
    if (status != SURETY_OK || c->helped) return status;
    const struct {
        const char *name;
        size_t value, most;
    } counts[] = {{"classes", o.classes, 255}, {"curve", o.curve, 10000}, {"looks", o.looks, 1000000}};
    for (size_t i = 0; i < 3; i++)
        if (counts[i].value < 1 || counts[i].value > counts[i].most)
            return cli_wrong(c, "--%s is from 1 to %zu, not %zu", counts[i].name, counts[i].most,
                             counts[i].value);
    if (cli_given(c, "rows") && (o.rows < 3 * o.classes || o.rows > SURETY_M_LIMIT))
        return cli_wrong(c, "--rows is from %zu, three per class, to 2^32, not %zu", 3 * o.classes, o.rows);
    status = compute(c, &o, &p);
    if (status != SURETY_OK) return status;
    if (c->json)
        print_json(&o, &p);
    else
        print_plan(&o, &p);
    return SURETY_OK;
}

const cli_command cli_plan = {
    .name = "plan",
    .usage = "--promise R --expected E [options]",
    .summary = "how many examples a promise needs",
    .text =
        "How large S must be so that a vote which in truth fails on a share E of inputs can be promised to "
        "fail on at most R, with the given confidence. Holds for votes that do not depend on S: trained "
        "without step 2 and with a hold-out or the last epoch (T_p = 1), or made elsewhere. The chance "
        "of printing the promise goes up and down with single examples: from the number given on it never "
        "falls below the one wanted.",
    .example = "surety plan --promise 0.05 --expected 0.02 --rows 3000",
    .run = run,
};
