// An NVML library that finds no driver.

extern "C" {

int nvmlInit_v2() { return 9; }

const char* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "wrong"; }

}  // extern "C"
