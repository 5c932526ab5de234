/* The application of application.py in C, on top of the library of a package that was built with --native:

       polytune build kernels.py -o heat_kernels --native
       cc application.c -Iheat_kernels -Lheat_kernels -lheat_kernels -Wl,-rpath,'$ORIGIN/heat_kernels' -o application
       ./application
*/
#include "heat_kernels.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 64, STEPS = 100 };

static double plate[SIZE][SIZE], scratch[SIZE][SIZE];

static int failed(void)
{
    fprintf(stderr, "%s\n", heat_kernels_message());
    return 1;
}

int main(void)
{
    int taken = 0;
    double heat = 0.0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) plate[i][j] = i == 0 ? 100.0 : 20.0;
    memcpy(scratch, plate, sizeof plate);
    while (plate[SIZE / 2][SIZE / 2] < 30.0) {
        if (heat_kernels_diffuse(STEPS, 0.2, plate[0], SIZE, SIZE, scratch[0], SIZE, SIZE) != HEAT_KERNELS_OK)
            return failed();
        taken += 2 * STEPS;
    }
    if (heat_kernels_total(plate[0], SIZE, SIZE, &heat) != HEAT_KERNELS_OK) return failed();
    printf("warm after %d steps, mean temperature %.6f\n", taken, heat / (SIZE * SIZE));
    return 0;
}
