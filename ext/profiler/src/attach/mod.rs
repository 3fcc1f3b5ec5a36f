//! Attaching to a process that has not loaded us. Only for x86-64 and glibc.
//!
//! One thread of the process is stopped for a fraction of a millisecond. It continues with a call of
//! `rb_postponed_job_register_one`, as if a signal handler made it. A signal frame below its stack restores
//! it, so nothing is left to be undone when this process dies. The job, which Ruby runs where it checks its
//! interrupts, makes a Ruby thread, and returns. The thread loads our library and calls [`entry`], which
//! loads `lib/profiler/attached.rb`. That opens the control socket.
//!
//! What is written: the code of the job and of the thread, into the unused end of the last page of a
//! library's code, and the request, into the unused end of the last page of a library's data. Both stay
//! there. Nothing is mapped, and no memory is allocated in that process but by the job.
//!
//! *The order keeps it safe:* before a thread gets other registers, it is stopped, and the code and the
//! request are read back through a descriptor that was opened after the stop. So a process that has become
//! another program, or another process with this number, is never changed.

mod entry;
mod place;
mod process;
mod refusal;
mod thread;

pub(crate) use process::Attachment;
pub(crate) use refusal::AttachRefusal;
