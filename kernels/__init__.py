"""The hot loops: a PyTorch reference and a C++ build of each, chosen by capability."""
