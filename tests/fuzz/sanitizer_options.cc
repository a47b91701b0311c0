// What AddressSanitizer does in the fuzzers unless the environment says otherwise: a tensor that is
// too large, of an extent that was made up, is an error of the run as in other builds.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
