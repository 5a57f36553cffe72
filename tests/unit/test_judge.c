/* SPDX-License-Identifier: MIT */
/* Which functions a comparison says have changed: runs of programs of which the truth is known, drawn at random. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/view/compare.h"

enum { ROWS = 24, SIDE = 5, RUNS = 2 * SIDE, SAMPLES = 5000, TRIALS = 400, SLOWER = 1 };

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(2 * M_PI * uniform());
}

/* How the runs of a trial differ. */
struct machine {
    double drift;  /* of the speed of whole runs */
    double waits;  /* of the time of the first function alone: it waits for memory */
    double grows;  /* the first function of the second side */
    double shift;  /* of the speed of all runs of the second side */
    double slower; /* function SLOWER of the second side */
    bool apart;
};

static void add(struct compare *compare, size_t row, size_t run, double samples)
{
    struct compare_table *table = &compare->tables[COMPARE_FUNCTION];
    uint64_t count = samples > 0 ? (uint64_t)(samples + 0.5) : 0, weight = count * 1000000;
    int side = run >= SIDE;
    table->weights[row * RUNS + run] = weight;
    table->rows[row].sums[side].samples += count;
    table->rows[row].sums[side].weight += weight;
    compare->run_weights[run] += weight;
    noise_add(&compare->sides[side], count, weight);
}

/* The only row that is asked for, as by --symbol; -1: all are. */
static int asked_for = -1;

static void begin(struct compare *compare, size_t rows)
{
    compare_init(compare, (const size_t[]){SIDE, SIDE}, false);
    struct compare_table *table = &compare->tables[COMPARE_FUNCTION];
    table->count = rows;
    table->rows = calloc(rows, sizeof(*table->rows));
    table->weights = calloc(rows * RUNS, sizeof(*table->weights));
    assert_true(table->rows && table->weights);
    for (size_t row = 0; row < rows; row++)
        table->rows[row] = (struct compare_row){
            .wanted = asked_for < 0 || (size_t)asked_for == row, .weight_limit = INFINITY, .points_limit = INFINITY};
}

/* Function 0 has 30 % of the program, each has 0.8 of the one before. */
static void draw(struct compare *compare, const struct machine *machine)
{
    begin(compare, ROWS);
    for (size_t run = 0; run < RUNS; run++) {
        double speed = exp(machine->drift * normal()) * (run >= SIDE ? 1 + machine->shift : 1);
        double waits = exp(machine->waits * normal());
        for (size_t row = 0; row < ROWS; row++) {
            double mean = SAMPLES * 0.2 * pow(0.8, (double)row) * speed * (row ? 1 : 1.5 * waits);
            mean *= run >= SIDE && row == SLOWER ? 1 + machine->slower : 1;
            mean *= run >= SIDE && row == 0 ? 1 + machine->grows : 1;
            add(compare, row, run, mean + (0.5 * sqrt(mean) + 0.005 * mean) * normal());
        }
    }
    compare->apart = machine->apart;
    compare_finish(compare);
}

struct outcome {
    size_t found, first;
    size_t claims, wrong; /* of any function; of another than SLOWER and the one that grows */
};

static struct outcome try(const struct machine *machine)
{
    struct outcome outcome = {0};
    for (seed = 1; seed <= TRIALS; seed++) {
        struct compare compare;
        uint64_t kept = seed;
        size_t count, changed = 0;
        draw(&compare, machine);
        const struct compare_row *rows = compare.tables[COMPARE_FUNCTION].rows;
        for (size_t row = 0; row < ROWS; row++)
            changed += rows[row].changed;
        uint32_t *order = compare_order(&compare, COMPARE_FUNCTION, false, &count);
        outcome.found += rows[SLOWER].changed;
        outcome.first += rows[order[0]].changed && order[0] == SLOWER;
        outcome.claims += changed > 0;
        outcome.wrong += changed > rows[SLOWER].changed + (size_t)(machine->grows > 0 && rows[0].changed);
        free(order);
        compare_release(&compare);
        seed = kept;
    }
    print_message("drift %g, waits %g, grows %g, shift %g, slower %g: of %d %zu found, %zu first, %zu claim, "
                  "%zu wrong\n",
                  machine->drift, machine->waits, machine->grows, machine->shift, machine->slower, TRIALS,
                  outcome.found, outcome.first, outcome.claims, outcome.wrong);
    return outcome;
}

/* Of 100 comparisons of a program with itself at most 5 claim something; a table's part of that is 2. */
static void test_same_program(void **state)
{
    (void)state;
    static const struct machine machines[] = {
        {0}, {.drift = 0.03}, {.drift = 0.2}, {.waits = 0.3}, {.drift = 0.1, .waits = 0.3}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        assert_in_range(try(&machines[i]).claims, 0, TRIALS / 40);
}

/* 10 % of a function of 16 %: by its time on a quiet machine and where another one waits for memory, else by points. */
static void test_slower_function(void **state)
{
    (void)state;
    static const struct machine machines[] = {
        {.slower = 0.1}, {.drift = 0.2, .slower = 0.1}, {.waits = 0.1, .slower = 0.1}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct outcome outcome = try(&machines[i]);
        assert_in_range(outcome.first, TRIALS * 95 / 100, TRIALS);
        assert_in_range(outcome.wrong, 0, TRIALS / 40);
    }
}

/* Shares of all others shrink where one function grows to twice its time: they have not changed. */
static void test_shares_of_the_others(void **state)
{
    (void)state;
    static const struct machine machines[] = {{.slower = 1}, {.drift = 0.2, .slower = 1}, {.waits = 0.1, .slower = 1}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        struct outcome outcome = try(&machines[i]);
        assert_int_equal(outcome.first, TRIALS);
        assert_in_range(outcome.wrong, 0, TRIALS / 40);
    }
}

/* Nor where it grows but waits for memory, so that its own change is not certain: it is still in what the others are
 * compared with. */
static void test_shares_beside_an_uncertain_change(void **state)
{
    (void)state;
    static const struct machine machines[] = {{.waits = 0.3, .grows = 0.5},
                                              {.drift = 0.2, .waits = 0.3, .grows = 0.5},
                                              {.drift = 0.2, .waits = 0.3, .grows = 1},
                                              {.drift = 0.2, .waits = 0.5, .grows = 1}};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        assert_in_range(try(&machines[i]).wrong, 0, TRIALS / 40);
}

/* What is said of a function does not depend on what else is asked for. */
static void test_one_is_asked_for(void **state)
{
    (void)state;
    const struct machine machine = {.drift = 0.2, .waits = 0.3, .grows = 1};
    size_t most = 0;
    for (asked_for = 1; asked_for < 6; asked_for++)
        most = try(&machine).claims > most ? try(&machine).claims : most;
    asked_for = -1;
    assert_in_range(most, 0, TRIALS / 40);
}

/* Of two rows one grows: what the other one loses in points it has not lost. */
static void test_two_rows(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        const size_t large = way & 1, small = !large;
        struct compare compare;
        seed = 1;
        begin(&compare, 2);
        for (size_t run = 0; run < RUNS; run++) {
            const double speed = exp(0.2 * normal());
            add(&compare, large, run, 4000 * speed + 20 * normal());
            add(&compare, small, run, (run < SIDE ? 1000 : 2000) * speed + 10 * normal());
        }
        compare.apart = way & 2;
        compare_finish(&compare);
        const struct compare_row *rows = compare.tables[COMPARE_FUNCTION].rows;
        assert_true(rows[small].changed && rows[small].points > 15);
        assert_false(rows[large].changed);
        compare_release(&compare);
    }
}

/* A function that is most of its program is what the others are compared with. */
static void test_most_is_one_function(void **state)
{
    (void)state;
    size_t found = 0, wrong = 0;
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        struct compare compare;
        seed = trial;
        begin(&compare, ROWS);
        for (size_t run = 0; run < RUNS; run++) {
            const double speed = exp(0.2 * normal());
            for (size_t row = 0; row < ROWS; row++) {
                double share = row == 0 ? 0.85 : row == 1 ? 0.1 : 0.05 / (ROWS - 2);
                double mean = SAMPLES * share * speed * (row == 1 && run >= SIDE ? 1.1 : 1);
                add(&compare, row, run, mean + (0.5 * sqrt(mean) + 0.005 * mean) * normal());
            }
        }
        compare_finish(&compare);
        const struct compare_row *rows = compare.tables[COMPARE_FUNCTION].rows;
        found += rows[1].changed;
        for (size_t row = 0; row < ROWS; row++)
            if (row != 1 && rows[row].changed) {
                wrong++;
                break;
            }
        compare_release(&compare);
    }
    print_message("of %d %zu found, %zu wrong\n", TRIALS, found, wrong);
    assert_in_range(found, TRIALS * 75 / 100, TRIALS);
    assert_in_range(wrong, 0, TRIALS / 40);
}

/* All functions do a half more: none of their shares changes, but all have changed. */
static void test_all_slower(void **state)
{
    (void)state;
    struct compare compare;
    seed = 1;
    draw(&compare, &(struct machine){.drift = 0.02, .shift = 0.5});
    const struct compare_row *rows = compare.tables[COMPARE_FUNCTION].rows;
    for (size_t row = 0; row < 10; row++)
        assert_true(rows[row].changed && !rows[row].by_points);
    assert_int_equal(compare_verdict(&compare), COMPARE_CHANGED);
    compare_release(&compare);
}

/* Where the sides ran at different times on a loaded machine, all times differ: points alone are judged. */
static void test_apart(void **state)
{
    (void)state;
    struct machine machine = {.drift = 0.02, .shift = 0.2, .slower = 0.1, .apart = true};
    struct outcome outcome = try(&machine);
    assert_in_range(outcome.first, TRIALS * 95 / 100, TRIALS);
    assert_in_range(outcome.wrong, 0, TRIALS / 40);
    struct compare compare;
    draw(&compare, &machine);
    assert_int_equal(compare_verdict(&compare), COMPARE_NOISE);
    assert_int_equal(compare_weight_verdict(&compare, &compare.tables[COMPARE_FUNCTION].rows[0]), COMPARE_NOISE);
    compare_release(&compare);
}

/* The spread of the worst function tells how many runs are too few. */
static void test_runs_wanted(void **state)
{
    (void)state;
    struct compare compare;
    seed = 1;
    draw(&compare, &(struct machine){0});
    assert_in_range((unsigned)compare.tables[COMPARE_FUNCTION].runs_wanted, 2, SIDE);
    compare_release(&compare);
    draw(&compare, &(struct machine){.waits = 0.5});
    assert_in_range((unsigned)compare.tables[COMPARE_FUNCTION].runs_wanted, SIDE + 1, 300);
    compare_release(&compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_program),
        cmocka_unit_test(test_slower_function),
        cmocka_unit_test(test_shares_of_the_others),
        cmocka_unit_test(test_shares_beside_an_uncertain_change),
        cmocka_unit_test(test_one_is_asked_for),
        cmocka_unit_test(test_two_rows),
        cmocka_unit_test(test_most_is_one_function),
        cmocka_unit_test(test_all_slower),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_runs_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
