/* All of the library's manual at once: one header per stage. Before 1.0 names may change with every minor
 * version; surety_version() says which one this is. */
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
#include "surety/voters.h"

#endif
