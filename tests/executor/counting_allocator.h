// Counts the allocations of the process, by operator new and by malloc, in the programs that link
// it.
#ifndef TENON_TESTS_EXECUTOR_COUNTING_ALLOCATOR_H_
#define TENON_TESTS_EXECUTOR_COUNTING_ALLOCATOR_H_

// Sanitizers own both.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TENON_COUNTS_ALLOCATIONS

namespace tenon::allocations {

// Counts from its construction until Stop, in all threads. One at a time.
class Count {
 public:
  Count();
  ~Count();
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  void Stop();
  int ours() const;
  int vendors() const;  // inside oneDNN and OpenMP
};

// What is allocated while one lives is not counted.
class Pause {
 public:
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  bool counted_;
};

}  // namespace tenon::allocations

#endif  // sanitizers

#endif  // TENON_TESTS_EXECUTOR_COUNTING_ALLOCATOR_H_
