#include "common/core/philox.h"

int main() { return 0; }
