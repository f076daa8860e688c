/* 01: data in three sets that share no row: S' for the voters, S for the guarantee, T for estimates. */
#include <stdio.h>
#include <surety/data.h>

int main(void) {
    surety_data_settings settings = surety_data_defaults();
    surety_error err = SURETY_ERROR_NONE;
    surety_data *data;
    settings.task = "fashion-sandal-v-boot";
    if (surety_data_open(&settings, &data, &err)) {
        fprintf(stderr, "%s %s\n", err.what, err.expected);
        return surety_status_exit(err.code);
    }
    for (int which = 0; which < SURETY_SETS; which++) {
        const surety_set *set = surety_data_set(data, (surety_set_name)which);
        printf("%-5s %5zu examples of %zu features; the first is row %u, class %d\n",
               surety_set_text(set->which), set->m, set->d, set->row[0], set->y[0]);
    }
    surety_data_free(data);
    return 0;
}
