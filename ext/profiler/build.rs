//! Tells rustc which Ruby this is built for, `cfg(ruby_gte_3_3)` and the like, and the linker of macOS where Ruby is.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rb_sys_env::activate()?;
    // The symbols of Ruby are found when the extension is loaded. Other linkers take that for granted.
    if std::env::var("CARGO_CFG_TARGET_OS")? == "macos" {
        writeln!(std::io::stdout(), "cargo:rustc-link-arg-cdylib=-Wl,-undefined,dynamic_lookup")?;
    }
    Ok(())
}
