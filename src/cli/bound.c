/* surety bound: votes of any model in, risks and every guarantee out. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/shared.h"
#include "surety/risk.h"

extern const cli_command cli_bound;

/* ---- options with names ---- */

static surety_status read_bound(const char *text, void *target, surety_error *err) {
    const surety_bound_info *info;
    surety_status status = surety_bound_find(text, &info, err);
    if (status == SURETY_OK) *(surety_bound_id *)target = info->id;
    return status;
}

static const char *show_bound(const void *target, char *buffer, size_t size) {
    snprintf(buffer, size, "%s", surety_bound_list()[*(const surety_bound_id *)target].name);
    return buffer;
}

/* ---- the table ---- */

static void print_bounds(const surety_votes_result *r, surety_risk_kind risk, cli_letters *l) {
    const surety_bound_info *list = surety_bound_list();
    for (int event = 0; event < SURETY_BOUNDS; event++)
        for (int id = 0; id < SURETY_BOUNDS; id++) {
            const surety_bound_value *v = &r->bounds[id];
            if ((int)list[id].event != event || list[id].risk != risk || !v->available) continue;
            cli_print("  %c  %-25s %8.5f  %s\n", cli_letter(l, list[id].event), list[id].name,
                      cli_limit(v->vote, 5), v->vote < 1 ? list[id].way : "vacuous: 1 or more says nothing");
        }
}

/* Bounds that are of no use here: votes have no ball and no seed for coins, and few have a dictator. */
static int is_elsewhere(const surety_bound_info *row) {
    return row->risk == SURETY_RISK_WORST_CASE ||
           row->evidence & (SURETY_NEEDS_COINS | SURETY_NEEDS_PRIOR_COINS | SURETY_NEEDS_DICTATOR);
}

/* Bounds that could not be computed, gathered by what they miss. */
static void print_missing(const surety_votes_result *r) {
    const surety_bound_info *list = surety_bound_list();
    for (int id = 0; id < SURETY_BOUNDS; id++) {
        const char *missing = r->bounds[id].missing;
        int first = missing && !is_elsewhere(&list[id]);
        for (int k = 0; k < id && first; k++) first = r->bounds[k].missing != missing;
        if (!first) continue;
        cli_print("Not available without %s:\n ", missing);
        for (int k = id; k < SURETY_BOUNDS; k++)
            if (r->bounds[k].missing == missing && !is_elsewhere(&list[k])) cli_print(" %s", list[k].name);
        cli_print("\n");
    }
}

/* The first available bound on the averaged-max risk that is an event's own and lets Q be chosen so, or
 * SURETY_BOUNDS. */
static surety_bound_id first_of(const surety_votes_result *r, surety_q_choice q) {
    const surety_bound_info *list = surety_bound_list();
    int id = 0;
    for (; id < SURETY_BOUNDS; id++)
        if (list[id].q == q && list[id].risk == SURETY_RISK_AVERAGED_MAX && (int)list[id].event == id &&
            r->bounds[id].available)
            break;
    return (surety_bound_id)id;
}

/* The bound of the example sentence depends on what was asked, never on the values: to choose the smallest
 * after looking would not be what was paid for. */
static surety_bound_id example_of(const surety_votes_result *r) {
    surety_bound_id held_out = first_of(r, SURETY_Q_HELD_OUT), frozen = first_of(r, SURETY_Q_FROZEN);
    if (held_out < SURETY_BOUNDS) return held_out;
    if (r->learned) return r->learning.objective;
    return frozen < SURETY_BOUNDS ? frozen : first_of(r, SURETY_Q_ANY);
}

static void print_example(const surety_votes_result *r) {
    surety_bound_id id = example_of(r);
    if (id == SURETY_BOUNDS) return;
    double vote = r->bounds[id].vote;
    if (vote >= 1) {
        cli_print("\n%s is vacuous: there is nothing to quote from it.\n", surety_bound_list()[id].name);
        return;
    }
    cli_print("\nFor instance (%s):\n  with confidence %g %%, the vote is wrong on ",
              surety_bound_list()[id].name, 100 * (1 - r->input.delta));
    if (surety_bound_list()[id].risk == SURETY_RISK_AVERAGED)
        cli_print("a perturbation drawn\n  at random from a new example with probability at most %.3f %%.\n",
                  100 * cli_limit(vote, 5));
    else
        cli_print("one or more of %zu\n  perturbations of at most %.3f %% of new examples.\n", r->risks.n,
                  100 * cli_limit(vote, 5));
}

/* More than two classes: on how many examples of each the vote fails. */
static void print_classes(const surety_votes_result *r) {
    const surety_risks *risks = &r->risks;
    size_t width = 3;
    if (risks->classes == 2) return;
    for (size_t k = 0; k < risks->classes && r->class_names; k++)
        width = strlen(r->class_names[k]) > width ? strlen(r->class_names[k]) : width;
    if (width > 40) width = 40;
    cli_print("%zu classes; the vote fails, on one perturbation or more, on so many examples:\n",
              risks->classes);
    for (size_t k = 0; k < risks->classes; k++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", k);
        cli_print("  class %-*.40s  %llu of %llu\n", (int)width, r->class_names ? r->class_names[k] : number,
                  (unsigned long long)risks->class_failed[k], (unsigned long long)risks->class_examples[k]);
    }
}

static void print_table(const surety_votes_result *r) {
    const surety_risks *risks = &r->risks;
    cli_letters l = {.count = 0};
    cli_print("%llu examples, %zu perturbation%s each, %zu voters (%s votes)\n", (unsigned long long)risks->m,
              risks->n, risks->n == 1 ? "" : "s", risks->voter_count,
              risks->signed_votes ? "signed" : "real");
    print_classes(r);
    if (r->input.averaged_max.held_out_m != SURETY_ABSENT)
        cli_print("%llu more examples held out, the vote is wrong on %llu of them\n",
                  (unsigned long long)r->input.averaged_max.held_out_m,
                  (unsigned long long)r->input.averaged_max.held_out_wrong);
    if (r->learned)
        cli_print("posterior learned: %s %.5f -> %.5f\n(%llu steps, largest derivative left %.1e)\n",
                  surety_bound_list()[r->learning.objective].name, cli_limit(r->learning.start, 5),
                  cli_limit(r->learning.value, 5), (unsigned long long)r->learning.iterations,
                  r->learning.gradient_norm);
    cli_print("KL(Q||P) = %.6g, delta = %g, priors compared: %llu, looks: %llu\n", r->input.kl,
              r->input.delta, (unsigned long long)r->input.priors_compared,
              (unsigned long long)r->input.looks);
    cli_print("\nLimits on the risk of the vote on new examples, with confidence %g %%:\n",
              100 * (1 - r->input.delta));
    cli_print("\nHow often is the vote wrong on a perturbation drawn at random?  Here: %.5f\n",
              risks->averaged);
    print_bounds(r, SURETY_RISK_AVERAGED, &l);
    cli_print("\nFor which share is it wrong on one or more of %zu perturbations?  Here: %.5f\n", risks->n,
              risks->averaged_max);
    print_bounds(r, SURETY_RISK_AVERAGED_MAX, &l);
    cli_print(
        "\nLimits with the same letter hold together: quote the smallest. Limits with\n"
        "different letters each hold alone: to quote k letters at once, choose them\n"
        "before looking and run with --delta %g/k.\n",
        r->input.delta);
    print_example(r);
    cli_print("\n");
    print_missing(r);
}

/* ---- the command ---- */

static surety_status answer(cli *c, const surety_votes_settings *settings, const char *out) {
    surety_votes_result result;
    surety_status status = surety_bound_votes(settings, &result, &c->run, &c->error);
    cli_progress_end(c);
    if (status == SURETY_OK && out)
        status = surety_posterior_write(result.posterior, result.risks.voter_count, out, &c->error);
    if (status == SURETY_OK && c->json)
        status = cli_print_json(c, surety_votes_result_json(&result));
    else if (status == SURETY_OK)
        print_table(&result);
    surety_votes_result_free(&result);
    return status;
}

static surety_status run(cli *c) {
    surety_votes_settings s = surety_votes_defaults();
    surety_voter_set set = s.signed_votes ? SURETY_SIGNED : SURETY_REAL;
    const char *out = NULL;
    cli_input(c, "votes", "V.npy", &s.votes,
              "votes in [-1, 1] or class numbers, of shape (m, n, H) or (m, H), or scores (m, n, H, K)");
    cli_input(c, "labels", "Y.npy|Y.txt", &s.labels,
              "class numbers of shape (m), or -1 and +1; or a text with a number or name per line");
    cli_size(c, "classes", "K", &s.classes, "number of classes; 0: found in votes and labels");
    cli_input(c, "prior", "P.npy", &s.prior,
              "weights of the voters fixed before these examples were seen, of shape (H); else uniform");
    cli_input(c, "posterior", "Q.npy|learn", &s.posterior,
              "weights of the vote to be judged; learn: those that minimise --objective; else the prior");
    cli_other(c, "objective", "NAME", &s.objective, read_bound, show_bound,
              "the bound that learning minimises");
    cli_voter_set_option(c, "voters", &set, "whether a voter only names a class, or its value counts");
    cli_u64(c, "hold-out", "K", &s.hold_out,
            "the last K examples chose nothing: they give vote_holdout, the others all else");
    cli_real(c, "delta", "D", &s.delta, "chance that a guarantee fails, above 0 and below 1");
    cli_u64(c, "priors-compared", "T", &s.priors_compared,
            "candidate priors among which these examples chose");
    cli_u64(c, "looks", "N", &s.looks,
            "runs you might have reported after seeing these examples, this one included");
    cli_output(c, "out", "Q.npy", &out, "write the posterior there");
    surety_status status = cli_parse(c, 0, 0);
    if (status != SURETY_OK || c->helped) return status;
    if (!s.votes || !s.labels) return cli_wrong(c, "--votes and --labels are needed");
    s.signed_votes = set == SURETY_SIGNED;
    s.learn = s.posterior && !strcmp(s.posterior, "learn");
    if (s.learn) s.posterior = NULL;
    if (!s.learn && cli_given(c, "objective")) return cli_wrong(c, "--objective goes with --posterior learn");
    return answer(c, &s, out);
}

const cli_command cli_bound = {
    .name = "bound",
    .usage = "--votes V.npy --labels Y.npy|Y.txt [options]",
    .summary = "from the votes of any ensemble to guarantees",
    .text =
        "Risks of a weighted majority vote and every guarantee that follows from them, from the votes of its "
        "voters alone, whatever made them. Votes are those of m examples that trained none of the voters, "
        "with n perturbations each; docs/votes.md tells the whole way.",
    .example = "surety bound --votes votes.npy --labels labels.npy --posterior learn",
    .run = run,
};
