/* What the certified defense lowers (docs/theory.md 8.3): the voters' worst outputs over ball-and-box, by a
 * range of every argument that is differentiable and costs two products more than a forward. It steers a
 * training and proves nothing; limits that do are in range.h.
 *
 * With a room u_j up and v_j down for every feature, an argument z = c + <w, x> can rise by s(+) and fall by
 * s(-), where
 *
 *   s(+-) = F( <E, (u + v)/2> +- <O, (u - v)/2> ),   O_j = sign(w_j) E_j,
 *
 *   linf   E_j = |w_j|,            F(a) = a,          rooms cut at b: exact
 *   l2     E_j = w_j^2,            F(a) = b sqrt(a),  rooms cut at rho = b/16 and divided by it: the length
 * of w restricted to features that can move that way l1     E_j = (|w_j| - tau)+,   F(a) = tau b + a,  tau
 * the |w_j| of rank ceil(b / half the box): the dual value of an example with half the room everywhere
 *
 * and with a tolerance w_j r_j for w_j, rooms in units of r_j and at most b, half the mean range for half the
 * box; so that the products of a whole block are three of the house's shape. The gradient in w follows from
 * the chain rule through the end that the worst output uses.
 */
#ifndef SURETY_VOTERS_ROBUST_H
#define SURETY_VOTERS_ROBUST_H

#include "voters/voters.h"

/* E and O of some voters, shared by all threads. The voters are borrowed. */
typedef struct surety_robust surety_robust;

surety_status surety_robust_new(surety_robust **out, surety_voters *voters, const surety_ball *ball,
                                surety_error *err);
void surety_robust_free(surety_robust *robust);

/* Sets the radius and packs E and O; again after every change of the voters. */
void surety_robust_prepare(surety_robust *robust, double radius);

/* N, the arguments of all voters, and the floats of a row of their weights. */
size_t surety_robust_arguments(const surety_robust *robust);
size_t surety_robust_stride(const surety_robust *robust);

/* Floats of scratch for one block. */
size_t surety_robust_scratch(const surety_robust *robust);

/* Of a block, in arrays of the caller. */
typedef struct surety_robust_out {
    float *const *even, *const *odd; /* even[r], odd[r] (padded d floats each): (u + v)/2 and (u - v)/2 */
    float *low; /* (H, SURETY_LANES) the smallest v of every voter: y h_t of two classes, else h_ty - h_tk
                   against k = rival[r] */
    double *margins; /* (width, SURETY_LANES) sum_t q_t v_t at its smallest: of two classes one, else one per
                        class k; that of y is 0 */
    uint8_t *rival;  /* (SURETY_LANES) the class with the smallest */
} surety_robust_out;

/* The rooms of one row alone: even and odd as above. */
void surety_robust_rooms(const surety_robust *robust, const float *x, float *even, float *odd);

/* The worst of rows x of classes y (lanes) for the vote with weights q. */
void surety_robust_forward(const surety_robust *robust, const float *const *x, size_t rows, const double *q,
                           const uint8_t *y, const surety_robust_out *out, float *scratch);

/* Contributions of the rows of the last forward into this scratch: g (rows, terms) as kind.h has them for
 * a (H, width, SURETY_LANES), and g_even, g_odd (rows, padded N) beside them. */
void surety_robust_terms(const surety_robust *robust, const float *a, size_t rows, float *g, float *g_even,
                         float *g_odd, float *scratch);

/* What the rows of a batch contribute through their rooms. */
typedef struct surety_robust_rows {
    const float *g_even, *g_odd;           /* (rows, padded N), of surety_robust_terms */
    const float *const *even, *const *odd; /* (rows), of surety_robust_forward */
    size_t rows;
} surety_robust_rows;

/* Adds to the weights' gradient of voters [first, end), which gradient_sum made from g, what comes through
 * the rooms: E' sum_r g_even even + O' sum_r g_odd odd. room (2, N, stride) is scratch, of which threads use
 * disjoint rows. */
void surety_robust_sum(const surety_robust *robust, const surety_robust_rows *rows, size_t first, size_t end,
                       float *const *gradients, float *room);

#endif
