/* Settings as the text that models and checkpoints keep. */
#ifndef SURETY_TRAIN_SETTINGS_H
#define SURETY_TRAIN_SETTINGS_H

#include "surety/train.h"

/* Everything that decides the result, as canonical JSON (free with free()); NULL: no memory. */
char *surety_train_settings_text(const surety_train_settings *settings, const surety_data_info *info);

/* T_p: the epochs of step 1 among which S chooses. */
uint64_t surety_train_priors(const surety_train_settings *settings);

/* The facts that a model trained with these settings states. */
void surety_train_facts(const surety_train_settings *settings, surety_model_facts *facts);

#endif
