/* The state of a training in a file: what it was started with, all that has changed since, and a SHA-256 over
 * both. */
#ifndef SURETY_TRAIN_CHECKPOINT_H
#define SURETY_TRAIN_CHECKPOINT_H

#include "train/phase.h"

/* Writes the state safely. settings: the canonical JSON of everything that decides the result. */
surety_status surety_checkpoint_save(const char *path, const char *settings, const surety_train_state *state,
                                     surety_error *err);

/* Reads it back into a fresh state of the same shape. A damaged file is SURETY_E_INPUT; one that was made
 * with other settings is SURETY_E_USAGE and names the first that differs. */
surety_status surety_checkpoint_load(const char *path, const char *settings, surety_train_state *state,
                                     surety_error *err);

#endif
