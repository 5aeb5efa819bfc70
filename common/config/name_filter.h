#pragma once

#include <memory>
#include <string>

namespace trainbench {

/// What --filter says: an extended regular expression of POSIX, found anywhere in a case's name; an
/// empty one finds all. The C library matches by automaton, in time proportional to the name, where
/// std::regex backtracks: "(a+)+$" would never end. What would cost it that (back-references) or
/// blow the automaton up (counts in braces) is refused, as are the escapes it does not know.
class NameFilter {
 public:
  /// Throws InputError for what is no such expression, and for one longer than 1000 bytes.
  explicit NameFilter(const std::string& expression);

  bool finds(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;  // null: finds all
};

}  // namespace trainbench
