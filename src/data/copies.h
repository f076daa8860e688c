/* Rows that occur twice: counted across the sets, and dropped before the split. */
#ifndef SURETY_DATA_COPIES_H
#define SURETY_DATA_COPIES_H

#include "data/table.h"
#include "io/json.h"

/* The rows of a set where they were read. */
typedef struct surety_given_rows {
    const surety_table *table;
    const uint32_t *rows; /* (m) of the table */
    size_t m;
} surety_given_rows;

/* Everything of out but `dropped`. Complete: no pair within the tolerance is missed. The processes of the run
 * share the work. */
surety_status surety_copies_count(surety_copies *out, const surety_given_rows sets[SURETY_SETS],
                                  const surety_run *run, surety_error *err);

/* Which of `rows`, whose digests (32 bytes for every row of the table) tell whether they are equal, stay: of
 * equal ones one drawn by seed, none that is in `known`, whose digests are known_digests. The first *count
 * rows are left in their order. */
typedef struct surety_known {
    const uint32_t *rows;
    size_t count;
    const uint8_t *digests;
} surety_known;

/* Classes and groups by row of the table (NULL: none), and how many rows went whose own is not that of the
 * equal row that stayed. */
typedef struct surety_kinds {
    const uint8_t *classes;
    const uint32_t *groups;
    uint64_t other_class, other_group;
} surety_kinds;

surety_status surety_copies_drop(uint32_t *rows, size_t *count, const uint8_t *digests,
                                 const surety_known *known, uint64_t seed, surety_kinds *kinds,
                                 surety_error *err);

/* {learn_in_prior, test_in_prior, ..}; NULL: no memory. */
json_t *surety_copies_json(const surety_copies *copies);

#endif
