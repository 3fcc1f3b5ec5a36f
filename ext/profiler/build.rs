//! Tells rustc which Ruby this is built for: `cfg(ruby_gte_3_3)` and the like.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rb_sys_env::activate()?;
    Ok(())
}
