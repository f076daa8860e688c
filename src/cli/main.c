#include <stdio.h>

#include "surety/base.h"

int main(void) {
    printf("surety %s\n", surety_version());
    return 0;
}
