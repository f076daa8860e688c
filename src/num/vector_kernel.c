#include "num/level.h"
typedef int surety_kernel_placeholder;
