/* Grey images in the page. */
#ifndef SURETY_REPORT_PICTURES_H
#define SURETY_REPORT_PICTURES_H

#include "report/draw.h"
#include "surety/data.h"

enum { SURETY_STRIP_SIDE = 64 }; /* largest image of a strip */

/* original | perturbation (grey is none, four times as strong) | attacked, in one picture: an <img> whose
 * data is in the page. Pixels (height, width); at most SURETY_STRIP_SIDE of each. */
surety_status surety_print_pixels(surety_growing *page, const uint8_t *original, const uint8_t *attacked,
                                  size_t height, size_t width, const char *words, surety_error *err);

/* The same of features (d) in the user's units; an image that is too large becomes words. */
surety_status surety_print_strip(surety_growing *page, const float *original, const float *attacked,
                                 const surety_data_info *info, surety_error *err);

#endif
