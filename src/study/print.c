/* Print's recipe (docs/theory.md 7). */
#include "study/study.h"

surety_status surety_print_cell(json_t **found, const surety_study_settings *settings,
                                const surety_cell *cell, const surety_data *data, const surety_run *run,
                                surety_error *err) {
    (void)found, (void)settings, (void)cell, (void)data, (void)run;
    return surety_fail(err, SURETY_E_USAGE, "print's recipe is not built yet");
}
