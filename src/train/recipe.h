/* How the kinds are trained that do not train as soft trees do: one row of the table in recipe.c each. No
 * other file of this room, and none of the rooms below it, reads a kind's name for that. */
#ifndef SURETY_TRAIN_RECIPE_H
#define SURETY_TRAIN_RECIPE_H

#include "surety/train.h"

/* What the kind asks of settings; SURETY_E_USAGE with a sentence. */
surety_status surety_recipe_validate(const surety_train_settings *s, surety_error *err);

#endif
