/* surety/surety.h - all of the library's manual at once: one header per stage.
 *
 * Stability. Before 1.0 every minor version may change names, structs and behaviour, without old spellings; a
 * patch version does not. The soname carries the minor version (libsurety.so.0.3), so a program never loads a
 * library that it was not compiled for. SURETY_VERSION_MAJOR, _MINOR, _PATCH and SURETY_VERSION (a text) are
 * those of the headers, surety_version() that of the library. Files outlive versions: what an older version
 * wrote is read, or refused with a sentence that says what to do.
 *
 * Threads. Different threads may use different objects at the same time, and may share one that none of them
 * changes: a model, data, voters, a vote, settings, a certificate may be read, predicted with, evaluated and
 * certified by several threads at once. An accumulator (surety_risk), a ledger, a monitor and a prover belong
 * to one thread at a time; so does whatever is passed as `out` or `err`. surety_voters_changed and
 * surety_model_set_* change their object. surety_reading is of the calling thread, surety_writing of the
 * whole process. Long calls start threads of their own (surety_run.threads); results never depend on their
 * number. fork() is allowed between calls.
 *
 * How calls look.
 *   surety_<noun>_<verb>(inputs, outputs, run, err): outputs stand behind the inputs; an object that is used
 *   or changed comes first. A status is returned by whatever can fail.
 *   surety_<noun>_defaults() returns settings; change what should differ.
 *   Texts that are returned as char * are the caller's: surety_text_free. const char * stays the library's.
 *   Handles (surety_model *, ..) are freed by surety_<type>_free, which takes NULL. Structs of results that
 * own memory are freed in the same way: surety_row by surety_row_free, which takes one that is all zero and
 *   leaves it so. Structs without such a function own nothing.
 *   After a failure nothing is left to free: a handle is NULL, a struct that has a free all zero, and freeing
 *   them is fine. All other outputs mean nothing then, unless their header says what they hold. A handle that
 *   was to be changed is as it was; of a model, keys may be set already (surety_model_set_*).
 *
 * Words, each for one thing:
 *   S', S, T     the three sets of rows: prior set (in_prior, rows.prior in files), learn, test
 *   prior        the weights P of the voters before S had a say; posterior: Q
 *   voter, h     one function of the input, numbered h = 0 .. H-1; voter_count: how many
 *   voters       the object that holds them (surety_voters); its kind says what they are
 *   voter_set    how they are asked: signed or real (option --voters)
 *   votes        answers of single voters, (m, n, H); vote: the weighted answer of all, (m) or (m, n)
 *   radius, b    of the ball (option --eps, key eps)
 *   epoch        one pass of a training over its set; it addresses random numbers
 *   attack       perturbs examples; worst case: every point of the ball; threat: either of them
 */
#ifndef SURETY_SURETY_H
#define SURETY_SURETY_H

#include "surety/attack.h"
#include "surety/base.h"
#include "surety/bound.h"
#include "surety/certify.h"
#include "surety/data.h"
#include "surety/evaluate.h"
#include "surety/model.h"
#include "surety/risk.h"
#include "surety/train.h"
#include "surety/version.h"
#include "surety/voters.h"

#endif
