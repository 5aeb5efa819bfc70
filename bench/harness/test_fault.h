#pragma once

#include <memory>
#include <string>

#include "bench/harness/case.h"

namespace trainbench {

/// The environment variable TRAINBENCH_TEST_FAULT plants an effect in the cases whose name REGEX
/// finds, so that tests can prove what the program makes of it:
///   slow:REGEX:1.05  every batch of iterations takes 1.05 times as long
///   crash:REGEX      SIGSEGV in the first repetition; abort: SIGABRT; kill: SIGKILL, as the kernel
///                    sends where memory is out; hang: it never ends; fail: it throws DeviceError
///   oom:REGEX        takes memory until there is none, as the case is prepared
/// It is no option: results that it touched say so in their context and above their tables.

/// What the variable says; empty where it is not set. Throws InputError for what is no fault.
std::string test_fault();

/// The case with the fault planted in it, or as it is where there is none for its name.
std::unique_ptr<PreparedCase> with_test_fault(std::unique_ptr<PreparedCase> prepared,
                                              const CaseId& id);

}  // namespace trainbench
