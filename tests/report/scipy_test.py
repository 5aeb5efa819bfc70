"""The signed-rank test and its interval against scipy's. Usage: scipy_test.py RANK_VALUES. Exit code 77: no scipy."""

import random
import subprocess
import sys
import unittest

try:
    from scipy import stats
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RANK_VALUES = sys.argv[1]


def exact_p(differences):
    """scipy 1.9 renamed the argument from mode to method."""
    try:
        return stats.wilcoxon(differences, method="exact").pvalue
    except TypeError:
        return stats.wilcoxon(differences, mode="exact").pvalue


class SignedRank(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        numbers = random.Random(1)
        cls.samples = [[numbers.gauss(numbers.choice((0, 0.5)), 1) for _ in range(numbers.randint(1, 40))]
                       for _ in range(200)]
        text = "".join(" ".join(map(repr, sample)) + "\n" for sample in cls.samples)
        answer = subprocess.run([RANK_VALUES], input=text, capture_output=True, text=True, check=True)
        cls.answers = [tuple(map(float, line.split())) for line in answer.stdout.splitlines()]

    def test_p_values(self):
        self.assertEqual(len(self.answers), len(self.samples))
        for sample, (p, _, _, _) in zip(self.samples, self.answers):
            self.assertAlmostEqual(p, exact_p(sample), 12)

    def test_intervals_are_the_centres_that_scipy_does_not_reject(self):
        bounded = 0
        for sample, (_, estimate, low, high) in zip(self.samples, self.answers):
            if len(sample) < 6:
                self.assertEqual((low, high), (float("-inf"), float("inf")))
                continue
            bounded += 1
            self.assertTrue(low <= estimate <= high)
            step = 1e-9
            for centre, inside in ((low - step, False), (low + step, True), (high - step, True), (high + step, False)):
                p = exact_p([value - centre for value in sample])
                self.assertEqual(p > 0.05, inside, (sample, centre))
        self.assertGreater(bounded, 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
