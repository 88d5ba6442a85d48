//! A kernel that refuses calls, by a filter.

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, apply_filter};

/// From now on, a call of this thread, and of those that it starts, fails.
pub fn deny(call: i64, errno: Errno) {
    deny_if(call, vec![], errno);
}

/// From now on, calls with such arguments fail.
pub fn deny_if(call: i64, rules: Vec<SeccompRule>, errno: Errno) {
    let action = SeccompAction::Errno(errno.raw_os_error().cast_unsigned());
    let target = std::env::consts::ARCH.try_into().unwrap();
    let rules = [(call, rules)].into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// Does the work with a disk that cannot make anything durable; behind it, the disk can again.
pub fn on_a_failing_disk<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // A filter is its thread's, and ends with it.
    let thread = || {
        deny(libc::SYS_fdatasync, Errno::IO);
        deny(libc::SYS_fsync, Errno::IO);
        work()
    };
    std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
}
