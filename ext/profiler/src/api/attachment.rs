//! The class `Profiler::Attachment`: a process to which the command attaches. The work is done on a native thread
//! of its own. When that thread ends, the kernel releases the thread that it has stopped.

use magnus::{Error, RModule, Ruby};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux {
    use std::sync::Arc;
    use std::time::Duration;

    use magnus::{function, method, prelude::*, DataTypeFunctions, Error, RModule, RString, Ruby, TypedData};

    use crate::attach::{AttachRefusal, Attachment};
    use crate::vm::cached::define_class;
    use crate::vm::exceptions::error;
    use crate::vm::without_gvl::without_gvl;

    /// The class `Profiler::Attachment`.
    #[derive(TypedData)]
    #[magnus(class = "Profiler::Attachment", free_immediately)]
    struct RubyAttachment(Arc<Attachment>);

    impl DataTypeFunctions for RubyAttachment {}

    fn refused(ruby: &Ruby, refusal: AttachRefusal) -> Error {
        match refusal {
            AttachRefusal::Never(why) => error(ruby, "Unsupported", why),
            AttachRefusal::NotNow(why) => error(ruby, "Error", why),
        }
    }

    impl RubyAttachment {
        /// Implements `Attachment._new(pid)`.
        fn new(ruby: &Ruby, pid: i32) -> Result<Self, Error> {
            let found = without_gvl(ruby, move |_| Attachment::new(pid))?;
            found.map(|it| Self(Arc::new(it))).map_err(|why| refused(ruby, why))
        }

        fn on_thread<T: Send + 'static>(
            ruby: &Ruby,
            rb_self: &Self,
            work: impl FnOnce(&Attachment) -> Result<T, AttachRefusal> + Send + 'static,
        ) -> Result<T, Error> {
            let attachment = Arc::clone(&rb_self.0);
            without_gvl(ruby, move |_| work(&attachment))?.map_err(|why| refused(ruby, why))
        }

        /// Implements `attachment._ruby`: returns the version and the platform of its Ruby.
        fn ruby(&self) -> (String, String) {
            (self.0.version.clone(), self.0.platform.clone())
        }

        /// Implements `attachment._prepare(pid, library, script, spare)`.
        fn prepare(
            ruby: &Ruby,
            rb_self: &Self,
            pid: u32,
            library: RString,
            script: RString,
            spare: i32,
        ) -> Result<(), Error> {
            // SAFETY: no Ruby code runs while the bytes are copied.
            let (library, script) = unsafe { (library.as_slice().to_vec(), script.as_slice().to_vec()) };
            Self::on_thread(ruby, rb_self, move |it| it.prepare(pid, &library, &script, spare))
        }

        /// Implements `attachment._ask(seconds)`: returns for how many nanoseconds a thread was stopped.
        fn ask(ruby: &Ruby, rb_self: &Self, seconds: f64) -> Result<u64, Error> {
            let patience = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            Self::on_thread(ruby, rb_self, move |it| it.ask(patience))
        }

        /// Implements `attachment._wake`, which returns as `_ask`.
        fn wake(ruby: &Ruby, rb_self: &Self) -> Result<u64, Error> {
            Self::on_thread(ruby, rb_self, Attachment::wake)
        }

        /// Implements `attachment._state`: returns the number of the state, and the reason for a failure.
        fn state(ruby: &Ruby, rb_self: &Self) -> Result<(u32, String), Error> {
            rb_self.0.state().map(|(state, why)| (state as u32, why)).map_err(|why| refused(ruby, why))
        }

        /// Implements `attachment._release`: lets another command join the process.
        fn release(&self) {
            self.0.release();
        }

        /// Implements `attachment._withdraw`: returns whether the request was withdrawn.
        fn withdraw(ruby: &Ruby, rb_self: &Self) -> Result<bool, Error> {
            Self::on_thread(ruby, rb_self, Attachment::withdraw)
        }
    }

    pub(super) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
        let class = define_class::<RubyAttachment>(ruby, profiler, "Attachment")?;
        class.singleton_class()?.define_method("_new", function!(RubyAttachment::new, 1))?;
        class.define_method("_ruby", method!(RubyAttachment::ruby, 0))?;
        class.define_method("_prepare", method!(RubyAttachment::prepare, 4))?;
        class.define_method("_ask", method!(RubyAttachment::ask, 1))?;
        class.define_method("_wake", method!(RubyAttachment::wake, 0))?;
        class.define_method("_state", method!(RubyAttachment::state, 0))?;
        class.define_method("_release", method!(RubyAttachment::release, 0))?;
        class.define_method("_withdraw", method!(RubyAttachment::withdraw, 0))?;
        Ok(())
    }
}

/// Defines the class. Other systems than Linux on x86-64 have none.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    linux::init(ruby, profiler)
}

/// Defines nothing.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn init(_ruby: &Ruby, _profiler: RModule) -> Result<(), Error> {
    Ok(())
}
