"""Wrong flags, names and files: one line that says what was wrong, exit status 2."""

import gzip
import json
import struct
import unittest

from cli import CliTest, SMALL_RUN


class Arguments(CliTest):
    def check(self, arguments, *words):
        with self.subTest(" ".join(arguments)):
            self.assert_bad_input(self.run_program(*arguments), *words)

    def test_unknown_words(self):
        self.check([], "subcommand")
        self.check(["runn"], "runn", "run")
        self.check(["baseline", "sav", "run.json"], "sav", "save")
        self.check(["run", "quick", "extra"], "extra")
        self.check(["info", "extra"], "extra")

    def test_misspelt_flags_suggest_the_nearest(self):
        for arguments, wrong, right in ((["run", "quick", "--repetition", "3"], "--repetition", "--repetitions"),
                                        (["run", "--bacth=32"], "--bacth", "--batch"),
                                        (["list", "--jsn"], "--jsn", "--json"),
                                        (["verify", "--devise", "cpu"], "--devise", "--device"),
                                        (["baseline", "check", "new.json", "--lats", "3"], "--lats", "--last"),
                                        (["export", "run.json", "--frmat", "csv"], "--frmat", "--format"),
                                        (["--versoin"], "--versoin", "--version")):
            self.check(arguments, f'unknown flag "{wrong}": did you mean "{right}"?')
        self.check(["info", "--nothing-like-it"], "--nothing-like-it", "--json")

    def test_missing_arguments(self):
        self.check(["compare", "base.json"], "new", "trainbench compare --help")
        self.check(["baseline", "check"], "files", "trainbench baseline check --help")

    def test_wrong_values(self):
        self.check(["run", "quick", "--repetitions", "0"], "--repetitions")
        self.check(["run", "quick", "--repetitions", "ten"], "--repetitions", "ten")
        self.check(["run", "quick", "--min-time", "-1"], "--min-time")
        self.check(["run", "quick", "--batch", "64,none"], "--batch", "none")
        self.check(["run", "quick", "--format", "xml"], "--format", "xml")
        for command in (["run", "quick"], ["verify"]):
            self.check([*command, "--cpu-provider", "mkl"], "--cpu-provider", "mkl")
            self.check([*command, "--gpu-provider", "cublas"], "--gpu-provider", "cublas", "vendor")

    def test_numbers_out_of_range(self):
        for flag, values, most in (("--repetitions", ("-1", "2.5", "1001", "99999999999999999999"), "1000"),
                                   ("--min-time", ("0", "nan", "inf", "1e18", "1s"), "600"),
                                   ("--seed", ("-1", "18446744073709551616", "0x10"), "18446744073709551615"),
                                   ("--gpu", ("-1", "1.5"), "1023"),
                                   ("--batch", ("0", "-1", "9999999999"), "1048576"),
                                   ("--threads", ("0", "4097"), "4096")):
            for value in values:
                self.check(["run", "quick", flag, value], flag, value, most)
        self.check(["info", "--seconds", "nan"], "--seconds", "nan")
        self.check(["verify", "--seed", "-1"], "--seed", "-1")

    def test_environment(self):
        info = json.loads(self.run_program("info", "--json", "--seconds", "0.001").stdout)
        if info["cpu"]["units"] < 2:
            self.skipTest("one core: there is no limit below it")
        # libomp, clang's, would warn in lines of its own.
        limited = self.run_program(*SMALL_RUN, "synthetic", OMP_THREAD_LIMIT="1", KMP_WARNINGS="0")
        self.assert_bad_input(limited, "OMP_THREAD_LIMIT")

    def test_names_suggest_the_nearest(self):
        self.check(["run", "quick", "--device", "gpx"], "gpx", "gpu")
        self.check(["run", "quick", "--device", "cpu,tpu"], "tpu", "cpu")
        self.check(["run", "quick", "--precision", "fp31"], "fp31", "fp32")
        self.check(["run", "quik"], "quik", "quick")
        self.check(["verify", "--filter", "mlpp"], "mlpp", "mlp separate")
        self.check(["list", "quik"], "quik", "quick")

    def test_filters(self):
        self.check(["run", "quick", "--filter", "("], "--filter")
        self.check(["run", "quick", "--filter", "no such case"], "no such case")
        # The library's parser recurses once a bracket.
        self.check(["list", "quick", "--filter", "(" * 60000 + ")" * 60000], "--filter", "longer")

    def test_flags_for_google_benchmark(self):
        self.check(["run", "quick", "--", "--benchmark_nonsense=1"], "--benchmark_nonsense")
        self.check(["list", "--", "--benchmark_min_time=1"], "run")

    def test_no_gpu(self):
        result = self.run_program("run", "quick", "--device", "gpu", "--data", "synthetic", CUDA_VISIBLE_DEVICES="-1")
        self.assert_bad_input(result, "--device gpu")


class Files(CliTest):
    def check_suite(self, text, *words):
        path = self.write("suite.json", text)
        with self.subTest(text):
            self.assert_bad_input(self.run_program("run", path), path, *words)

    def test_broken_suites(self):
        case = {"family": "train", "case": "mlp", "device": "cpu", "precision": "fp32", "batch": 32}
        self.check_suite("")
        self.check_suite('{"name": "x", "cases": [', "suite.json")
        self.check_suite(json.dumps({"name": "x", "cases": [{**case, "presicion": "fp32"}]}), "presicion", "precision")
        self.check_suite(json.dumps({"name": "x", "casez": [case]}), "casez", "cases")
        self.check_suite(json.dumps({"name": "x", "cases": [{**case, "precision": "fp31"}]}), "fp31", "fp32")
        self.check_suite(json.dumps({"name": "x", "cases": [{**case, "device": "gpx"}]}), "gpx", "gpu")
        self.check_suite(json.dumps({"name": "x", "cases": [{**case, "batch": "many"}]}), "batch")

    def test_missing_suite(self):
        self.assert_bad_input(self.run_program("run", self.path("none.json")), "none.json")

    def test_unwritable_output(self):
        # A file cannot be a folder, for root either.
        output = self.write("file", "") + "/result.json"
        self.assert_bad_input(self.run_program(*SMALL_RUN, "synthetic", "--out", output), output)

    def test_unwritable_default_output(self):
        self.write("results", "")  # where the folder would be
        self.assert_bad_input(self.run_program(*SMALL_RUN, "synthetic"), "results/", "--out FILE")

    def test_data(self):
        self.assert_bad_input(self.run_program(*SMALL_RUN, self.path("none")), "none")

    def test_data_of_a_kind(self):
        self.assert_bad_input(self.run_program(*SMALL_RUN, "imagse28=synthetic"), "imagse28", "images28")
        text = self.write("text.txt", "x" * 9000)
        with open(text, "ab") as file:
            file.write(b"caf\xe9" + 90000 * b" ")
        suite = self.write("suite.json", json.dumps({"name": "x", "cases": [
            {"family": "loader", "case": "text", "device": "cpu"}]}))
        run = ("run", suite, "--repetitions", "1", "--min-time", "0.001", "--data")
        for data in (text, "text=" + text, self.folder):
            self.assert_bad_input(self.run_program(*run, data), text, "0xe9", "9003")
        self.assert_bad_input(self.run_program(*run, self.write("short.txt", "short")), "short.txt")

    def test_broken_images(self):
        names = {"train-images-idx3-ubyte": 0x803, "train-labels-idx1-ubyte": 0x801,
                 "t10k-images-idx3-ubyte": 0x803, "t10k-labels-idx1-ubyte": 0x801}
        for problem in ("truncated", "magic"):
            for name, magic in names.items():
                dimensions = (300, 28, 28) if magic == 0x803 else (300,)
                size = 300 * (784 if magic == 0x803 else 1)
                if problem == "truncated":
                    size -= 1
                else:
                    magic += 0x500
                content = struct.pack(">I", magic) + struct.pack(f">{len(dimensions)}I", *dimensions) + bytes(size)
                with gzip.open(self.path(name + ".gz"), "wb") as file:
                    file.write(content)
            with self.subTest(problem):
                self.assert_bad_input(self.run_program(*SMALL_RUN, self.folder), "ubyte")


if __name__ == "__main__":
    unittest.main()
