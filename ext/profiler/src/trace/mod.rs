//! Exact tracing of one method: a hook that the VM calls at each call and return of that method, and the sums
//! that it keeps.
//!
//! The hook runs with the GVL on the thread that calls the method. It allocates nothing but the object of a
//! thread's first fiber, calls no method and keeps the GVL, so it has the sums to itself. In another Ractor,
//! which has a GVL of its own, it returns at once.
//!
//! A trace has a limit for its overhead, as a share of one core. The hook measures its own time, and ends the
//! trace when that exceeds the share, or when enough calls were traced. Several traces can share one limit.
//!
//! What runs inside of the calls is counted by one more hook, for all calls of the process (`inside.rs`).
//!
//! The hook on a C function runs for all C functions of the process. It counts the calls of the others; the
//! time that each of them adds was measured when the trace began.

mod hook;
mod inside;
mod tracer;

pub(crate) use hook::{logged, restart};
pub(crate) use tracer::{Ended, TraceGroup, TraceLimits, TraceSums, Tracer};

use magnus::{Ruby, Value};

use crate::vm::tracepoints::{on_c_function, on_calls, on_method, on_raise};

/// Creates the TracePoints of a trace, not enabled yet: one for the method and one for exceptions. A C
/// function is given by its owner and its name.
pub(crate) fn tracepoints(
    ruby: &Ruby,
    tracer: &'static Tracer,
    c_function: Option<(Value, Value)>,
) -> [Value; 2] {
    let data = std::ptr::from_ref(tracer).cast();
    // SAFETY: the hook accepts the address of a tracer, which is never freed. It neither raises nor calls a
    // method, and leaves the GVL alone.
    unsafe {
        let calls = match c_function {
            Some((owner, name)) => on_c_function(ruby, owner, name, hook::call, data),
            None => on_method(ruby, hook::call, data),
        };
        [calls, on_raise(ruby, hook::call, data)]
    }
}

/// Creates the TracePoint for what runs inside of the calls, not enabled yet.
pub(crate) fn tracepoint_inside(ruby: &Ruby, tracer: &'static Tracer) -> Value {
    // SAFETY: the hook accepts the address of a tracer, which is never freed. It neither raises nor calls a
    // method, and leaves the GVL alone.
    unsafe { on_calls(ruby, inside::call, std::ptr::from_ref(tracer).cast()) }
}
