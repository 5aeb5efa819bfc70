#include "common/report/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "common/report/json.h"

namespace trainbench {
namespace {

constexpr double kFlops = 8.5e9;
constexpr double kCacheBytes = 32 << 20;

/// A measured case: ten repetitions around `seconds`, at a share of the peak that can be.
CaseResult measured(const std::string& name, double seconds) {
  CaseResult result;
  result.id = CaseId::parse(name);
  result.counters = {
      {"flops_per_iteration", kFlops}, {"checked_outputs", 4096}, {"error_of_tolerance", 0.75}};
  result.served = {{"conv 3x3", "onednn"}};
  for (int i = 0; i < 10; ++i) {
    Sample sample;
    sample.real_time = seconds * (1 + 0.01 * i);
    sample.cpu_time = sample.real_time;
    sample.iterations = 12;
    sample.counters = {{"wall_time", sample.real_time},
                       {"flops_per_second", kFlops / sample.real_time},
                       {"fraction_of_peak_flops", 0.8 / (1 + 0.01 * i)},
                       {"fraction_of_peak_bandwidth", 0.9}};
    result.samples.push_back(std::move(sample));
  }
  return result;
}

CaseResult stream(const std::string& name, double bytes, double cache_level) {
  CaseResult result = measured(name, 0.001);
  result.counters["working_set_bytes"] = bytes;
  result.counters["cache_level"] = cache_level;
  return result;
}

/// What both devices have: each precision, with and without transfers, at one batch.
Report honest() {
  Report report;
  report.google_context = {{"date", "2026-01-31T12:00:00+01:00"}, {"host_name", "host"}};
  report.context = Json::parse(R"({
    "build": {"build_type": "Release", "sanitizers": ""},
    "machine": {"host_id": "one",
                "cpu": {"cores": 8, "usable_cores": 8,
                        "caches": [{"level": 1, "bytes": 32768, "instances": 8},
                                   {"level": 3, "bytes": 16777216, "instances": 2}]}},
    "devices": [{"kind": "cpu", "name": "Some CPU", "simulated": false, "units": 8, "threads": 8},
                {"kind": "gpu", "name": "Some GPU", "simulated": false, "units": 132}],
    "settings": {"repetitions": 10}})");
  for (const char* precision : {"fp32", "bf16"}) {
    for (const char* boundary : {"", "/boundary:end-to-end"}) {
      const std::string rest = std::string(precision) + "/batch:256" + boundary;
      report.results.push_back(measured("train/mlp/cpu/" + rest, 0.040));
      report.results.push_back(measured("train/mlp/gpu/" + rest, 0.001));
    }
  }
  report.results.push_back(measured("train/mlp/cpu/fp32/batch:256/threads:1", 0.160));
  report.results.push_back(measured("train/mlp/gpu/fp16/batch:256", 0.001));
  report.results.push_back(stream("stream/triad/cpu/fp32", 12 * kCacheBytes, 0));
  report.results.push_back(stream("stream/triad/cpu/fp32/kib:16", 16384, 1));
  // One core reaches one of the two last-level caches.
  CaseResult latency = stream("latency/load/cpu/fp32/kib:24576", 24 << 20, 0);
  latency.details["working_set"]["caches"]["L3"] = 16 << 20;
  report.results.push_back(std::move(latency));
  CaseResult filtered = measured("train/resnet20/cpu/fp32/batch:32", 0.030);
  filtered.served.push_back({"conv 3x3 s1", "winograd"});
  for (Sample& sample : filtered.samples) sample.counters["fraction_of_peak_flops"] = 1.26;
  report.results.push_back(std::move(filtered));
  CaseResult failed;
  failed.id = CaseId::parse("train/mlp/gpu/tf32/batch:256");
  failed.status = Status::failed;
  failed.reason = "output check failed: C[3, 7] is 1.5, reference 1.25";
  report.results.push_back(std::move(failed));
  return report;
}

CaseResult& row(Report& report, const std::string& name) {
  for (CaseResult& result : report.results) {
    if (result.id.full_name() == name) return result;
  }
  throw std::logic_error(name);
}

void keep(Report& report, const std::function<bool(const CaseId&)>& wanted) {
  std::erase_if(report.results, [&](const CaseResult& each) { return !wanted(each.id); });
}

void rename(Report& report, const std::function<void(CaseId&)>& change) {
  for (CaseResult& result : report.results) change(result.id);
}

/// What a reader of the file that holds this report is told.
std::vector<Finding> found_in(const Report& report) {
  const Report read = read_report(to_json(report), "planted.json");
  return lint({&read});
}

std::set<std::string> rules_of(const std::vector<Finding>& findings) {
  std::set<std::string> rules;
  for (const Finding& finding : findings) rules.emplace(finding.rule.id);
  return rules;
}

struct Plant {
  const char* rule;
  const char* what;
  void (*in)(Report& report);
};

const Plant kPlants[] = {
    {"mixed-precision", "fp16 and bf16 on the GPU, fp32 on the CPU",
     [](Report& report) {
       keep(report,
            [](const CaseId& id) { return (id.device == "cpu") == (id.precision == "fp32"); });
     }},
    {"mixed-precision", "tf32 for fp32",
     [](Report& report) {
       keep(report, [](const CaseId& id) { return id.precision == "fp32"; });
       rename(report, [](CaseId& id) {
         if (id.device == "gpu") id.precision = "tf32";
       });
     }},
    {"different-batch", "the GPU at batches of its own",
     [](Report& report) {
       rename(report, [](CaseId& id) {
         if (id.device == "gpu" && !id.keys.empty()) id.keys.front().second = "4096";
       });
     }},
    {"different-batch", "equal batches, but of no precision that both have",
     [](Report& report) {
       rename(report, [](CaseId& id) {
         const bool low = id.precision != "fp32";
         if (id.family == "train")
           id.keys.front().second = (id.device == "gpu") == low ? "32" : "64";
       });
     }},
    {"partial-cpu", "one thread alone",
     [](Report& report) {
       keep(report, [](const CaseId& id) {
         return id.device == "gpu" || id.family != "train" || id.precision != "fp32" ||
                id.text("boundary", "") == "end-to-end" || id.text("threads", "") == "1";
       });
     }},
    {"partial-cpu", "an affinity mask of one core of eight",
     [](Report& report) {
       report.context["machine"]["cpu"]["usable_cores"] = 1;
       report.context["devices"][0]["threads"] = 1;
     }},
    {"transfers-left-out", "resident rows alone",
     [](Report& report) {
       keep(report, [](const CaseId& id) { return id.text("boundary", "") != "end-to-end"; });
     }},
    {"transfers-left-out", "the CPU with its loader, the GPU without",
     [](Report& report) {
       keep(report, [](const CaseId& id) {
         return id.device == "cpu" || id.text("boundary", "") != "end-to-end";
       });
     }},
    {"debug-build", "our debug build",
     [](Report& report) { report.context["build"]["build_type"] = "Debug"; }},
    {"debug-build", "sanitizers",
     [](Report& report) { report.context["build"]["sanitizers"] = "address"; }},
    {"cache-as-dram", "arrays of half the last level",
     [](Report& report) {
       row(report, "stream/triad/cpu/fp32").counters["working_set_bytes"] = kCacheBytes / 2;
     }},
    {"cache-as-dram", "a cached bandwidth that no longer names its cache",
     [](Report& report) {
       row(report, "stream/triad/cpu/fp32/kib:16").counters.erase("cache_level");
     }},
    {"cache-as-dram", "a GPU whose row says what its cache holds",
     [](Report& report) {
       CaseResult cached = stream("stream/copy/gpu/fp32", 40 << 20, 0);
       cached.details["working_set"]["caches"]["L2"] = 50 << 20;
       report.results.push_back(std::move(cached));
     }},
    {"few-repetitions", "the best of ten",
     [](Report& report) { report.results.front().samples.resize(1); }},
    {"few-repetitions", "the better half",
     [](Report& report) { report.results.front().samples.resize(7); }},
    {"few-repetitions", "the best, ten times",
     [](Report& report) {
       CaseResult& result = report.results.front();
       for (Sample& sample : result.samples) sample = result.samples.front();
     }},
    {"above-roofline", "more than the peak without a filtered convolution",
     [](Report& report) {
       row(report, "train/resnet20/cpu/fp32/batch:32").served = {{"conv 3x3", "onednn"}};
     }},
    {"above-roofline", "more than filtering saves",
     [](Report& report) {
       for (Sample& sample : row(report, "train/resnet20/cpu/fp32/batch:32").samples) {
         sample.counters["fraction_of_peak_flops"] = 2.5;
       }
     }},
    {"above-roofline", "twice the memory's bandwidth",
     [](Report& report) {
       for (Sample& sample : row(report, "stream/triad/cpu/fp32").samples) {
         sample.counters["fraction_of_peak_bandwidth"] = 2.5;
       }
     }},
    {"simulated-speed", "rows that do not say it",
     [](Report& report) { report.context["devices"][1]["simulated"] = true; }},
    {"simulated-speed", "a device that does not say it, but for its name",
     [](Report& report) { report.context["devices"][1]["name"] = "Some GPU (simgpu)"; }},
    {"partial-run", "interrupted", [](Report& report) { report.partial = true; }},
    {"unchecked", "no check",
     [](Report& report) { report.results.front().counters.erase("checked_outputs"); }},
    {"unchecked", "a check that failed",
     [](Report& report) { report.results.front().counters["error_of_tolerance"] = 3; }},
    {"planted-fault", "a fault of the tests",
     [](Report& report) { report.context["test_fault"] = "slow:cpu:1.5"; }},
};

TEST(Lint, AnHonestFileRaisesNothing) {
  for (const Finding& finding : found_in(honest())) {
    ADD_FAILURE() << finding.rule.id << ": " << finding.where << ": " << finding.detail;
  }
}

TEST(Lint, EachPlantedFileRaisesItsOwnRuleAlone) {
  for (const Plant& plant : kPlants) {
    SCOPED_TRACE(plant.what);
    Report report = honest();
    plant.in(report);
    EXPECT_EQ(rules_of(found_in(report)), std::set<std::string>{plant.rule});
  }
}

TEST(Lint, EveryRuleHasAPlantedFile) {
  std::set<std::string> planted;
  for (const Plant& plant : kPlants) planted.emplace(plant.rule);
  std::set<std::string> rules;
  for (const LintRule& rule : lint_rules()) EXPECT_TRUE(rules.emplace(rule.id).second) << rule.id;
  EXPECT_EQ(planted, rules);
}

TEST(Lint, AMeanWithoutItsRepetitionsIsFound) {
  Json document = to_json_document(honest());
  Json& rows = document["benchmarks"];
  const std::string name = "train/mlp/gpu/fp16/batch:256";
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const Json& each) {
                              return each["run_name"] == name && each["run_type"] == "iteration";
                            }),
             rows.end());
  const Report read = read_report(document.dump(), "means.json");
  const std::vector<Finding> findings = lint({&read});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().rule.id, "few-repetitions");
  EXPECT_EQ(findings.front().where, name);
}

TEST(Lint, ASimulationThatSaysSoIsHonest) {
  Report report = honest();
  report.context["devices"][1]["simulated"] = true;
  for (CaseResult& result : report.results) {
    result.simulated = result.id.device == "gpu";
    if (result.simulated) result.samples.resize(std::min<std::size_t>(result.samples.size(), 3));
  }
  EXPECT_EQ(rules_of(found_in(report)), std::set<std::string>{});
}

TEST(Lint, WhatFailedIsNotLeftOutSilently) {
  Report report = honest();
  for (CaseResult& result : report.results) {
    if (result.id.text("boundary", "") != "end-to-end") continue;
    result.status = Status::failed;
    result.reason = "out of memory";
    result.samples.clear();
  }
  EXPECT_EQ(rules_of(found_in(report)), std::set<std::string>{});
}

TEST(Lint, TheDevicesOfOneMachineMayStandInTwoFiles) {
  const auto half = [](const char* device, const char* host) {
    Report report = honest();
    report.context["machine"]["host_id"] = host;
    keep(report, [&](const CaseId& id) {
      return id.device == device && id.text("boundary", "") != "end-to-end";
    });
    return report;
  };
  const Report cpu = half("cpu", "one");
  const Report gpu = half("gpu", "one");
  EXPECT_TRUE(lint({&cpu}).empty());
  EXPECT_TRUE(lint({&gpu}).empty());
  const std::vector<Finding> findings = lint({&cpu, &gpu});
  EXPECT_EQ(rules_of(findings), std::set<std::string>{"transfers-left-out"});
  EXPECT_EQ(findings.front().reports, (std::vector<std::size_t>{0, 1}));
  const Report elsewhere = half("gpu", "two");
  EXPECT_TRUE(lint({&cpu, &elsewhere}).empty());
}

TEST(Lint, AReportIsNoExcuseForAnother) {
  const Report good = honest();
  Report bad = honest();
  keep(bad, [](const CaseId& id) { return id.text("boundary", "") != "end-to-end"; });
  const std::vector<Finding> findings = lint({&good, &bad});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().reports, std::vector<std::size_t>{1});
  EXPECT_EQ(findings.front().where, "train/mlp");
}

/// A context is anything that is JSON: what is no number or object is not there.
TEST(Lint, AContextOfOtherTypesIsSurvived) {
  for (const char* path : {"/machine", "/machine/cpu", "/machine/cpu/usable_cores",
                           "/machine/cpu/caches", "/machine/cpu/caches/0", "/settings",
                           "/settings/repetitions", "/build", "/build/build_type"}) {
    for (const Json& value : {Json(nullptr), Json("text"), Json(-1), Json::array({1}),
                              Json{{"bytes", "many"}, {"instances", nullptr}}}) {
      Report report = honest();
      report.context[Json::json_pointer(path)] = value;
      EXPECT_NO_THROW(found_in(report)) << path << " " << value;
    }
  }
}

TEST(Lint, ResultsThatAreKeptHereAreHonest) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TRAINBENCH_SOURCE_DIR "/results")) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const Report report = read_report_file(entry.path().string());
    for (const Finding& finding : lint({&report})) {
      ADD_FAILURE() << entry.path() << ": " << finding.rule.id << ": " << finding.where << ": "
                    << finding.detail;
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace trainbench
