"""The C++ build for CPUs: compiled with the system's compiler at first use, for the CPU that it runs on."""
