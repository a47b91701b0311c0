// What AddressSanitizer does in the tests unless the environment says otherwise: a request for more
// memory than there is fails as in other builds, so that tests see the error which the library
// makes of it. Part of every test executable.

#if defined(__SANITIZE_ADDRESS__)
#define TENON_UNDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_UNDER_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef TENON_UNDER_ADDRESS_SANITIZER
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
