#ifndef SURETY_TESTS_CONSTANT_H
#define SURETY_TESTS_CONSTANT_H

#include "voters/kind.h"

extern const surety_voter_kind surety_kind_constant;

#endif
