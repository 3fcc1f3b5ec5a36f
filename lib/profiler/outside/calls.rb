# frozen_string_literal: true

module Profiler
  class Outside
    # The names of system calls in which threads are seen, by their numbers on x86-64. On other systems the numbers are shown.
    CALLS = if RUBY_PLATFORM.start_with?("x86_64")
              {
                0 => "read", 1 => "write", 2 => "open", 3 => "close", 4 => "stat", 5 => "fstat", 6 => "lstat",
                7 => "poll", 9 => "mmap", 10 => "mprotect", 11 => "munmap", 12 => "brk", 16 => "ioctl",
                17 => "pread64", 18 => "pwrite64", 19 => "readv", 20 => "writev", 23 => "select", 26 => "msync",
                28 => "madvise", 34 => "pause", 35 => "nanosleep", 40 => "sendfile", 42 => "connect", 43 => "accept",
                44 => "sendto", 45 => "recvfrom", 46 => "sendmsg", 47 => "recvmsg", 48 => "shutdown", 56 => "clone",
                58 => "vfork", 59 => "execve", 61 => "wait4", 65 => "semop", 70 => "msgrcv", 72 => "fcntl",
                73 => "flock", 74 => "fsync", 75 => "fdatasync", 76 => "truncate", 77 => "ftruncate", 82 => "rename",
                83 => "mkdir", 87 => "unlink", 128 => "rt_sigtimedwait", 130 => "rt_sigsuspend", 149 => "mlock",
                151 => "mlockall", 162 => "sync", 202 => "futex", 208 => "io_getevents", 217 => "getdents64",
                219 => "restart_syscall", 220 => "semtimedop", 230 => "clock_nanosleep", 231 => "exit_group",
                232 => "epoll_wait", 247 => "waitid", 254 => "inotify_add_watch", 257 => "openat",
                262 => "newfstatat", 270 => "pselect6", 271 => "ppoll", 275 => "splice", 281 => "epoll_pwait",
                285 => "fallocate", 288 => "accept4", 295 => "preadv", 296 => "pwritev", 299 => "recvmmsg",
                304 => "open_by_handle_at", 306 => "syncfs", 307 => "sendmmsg", 318 => "getrandom",
                326 => "copy_file_range", 332 => "statx", 426 => "io_uring_enter", 435 => "clone3",
                441 => "epoll_pwait2"
              }.freeze
            else
              {}.freeze
            end

    # Calls whose first argument is a descriptor.
    CALLS_ON_FILES = %w[
      read write pread64 pwrite64 readv writev connect accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg fsync fdatasync flock fcntl
      ioctl getdents64 ftruncate fallocate preadv pwritev epoll_wait epoll_pwait epoll_pwait2 syncfs
    ].freeze
  end
end
