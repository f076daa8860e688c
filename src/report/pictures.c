#include "report/pictures.h"

#include <math.h>
#include <string.h>

enum { SIDE = SURETY_STRIP_SIDE, GAP = 2 /* pixels between two images */ };

static void lay_strip(const uint8_t *original, const uint8_t *attacked, size_t height, size_t width,
                      uint8_t *strip) {
    size_t across = 3 * width + 2 * GAP;
    memset(strip, 255, height * across);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int was = original[y * width + x], is = attacked[y * width + x], change = 128 + 4 * (is - was);
            strip[y * across + x] = (uint8_t)was;
            strip[y * across + width + GAP + x] = (uint8_t)(change < 0 ? 0 : change > 255 ? 255 : change);
            strip[y * across + 2 * (width + GAP) + x] = (uint8_t)is;
        }
}

surety_status surety_print_pixels(surety_growing *page, const uint8_t *original, const uint8_t *attacked,
                                  size_t height, size_t width, const char *words, surety_error *err) {
    uint8_t strip[SIDE * (3 * SIDE + 2 * GAP)];
    surety_growing png = {0};
    lay_strip(original, attacked, height, width, strip);
    surety_status status = surety_grey_png(strip, height, 3 * width + 2 * GAP, &png, err);
    if (status == SURETY_OK) {
        surety_print(page, "<img alt=\"");
        surety_print_html(page, words);
        surety_print(page, "\" src=\"data:image/png;base64,");
        surety_grow_base64(page, (const uint8_t *)png.bytes, png.used);
        surety_print(page, "\">");
    }
    surety_growing_free(&png);
    return status;
}

static uint8_t grey(float value, double lo, double hi) {
    return (uint8_t)lrint(255 * fmin(fmax(((double)value - lo) / (hi - lo), 0), 1));
}

surety_status surety_print_strip(surety_growing *page, const float *original, const float *attacked,
                                 const surety_data_info *info, surety_error *err) {
    uint8_t was[SIDE * SIDE], is[SIDE * SIDE];
    size_t count = info->height * info->width;
    double lo = info->boxed ? info->box_lo : 0, hi = info->boxed ? info->box_hi : 1;
    if (info->height > SIDE || info->width > SIDE || count != info->d) {
        surety_print(page, "<p>Images of this size are not shown.</p>");
        return SURETY_OK;
    }
    for (size_t j = 0; j < count; j++) was[j] = grey(original[j], lo, hi), is[j] = grey(attacked[j], lo, hi);
    return surety_print_pixels(page, was, is, info->height, info->width, "original, change, attacked", err);
}
