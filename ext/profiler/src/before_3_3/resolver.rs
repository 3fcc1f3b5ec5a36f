//! Addresses of hosts, looked up on a native thread. Before Ruby 3.3 Ruby's own lookup cannot be interrupted,
//! and a process does not end before the lookup gives up on a name server that does not answer.

use ::core::prelude::rust_2021::*;
use ::std::format;
use ::std::io;
use ::std::net::ToSocketAddrs;
use ::std::string::{String, ToString};
use ::std::vec::Vec;

use ::magnus::{Error, Ruby};

use crate::vm::exceptions::error;
use crate::vm::without_gvl::without_gvl;

/// Implements `Native.addresses_of(host)`: returns the IP addresses of a host, in the order in which they
/// should be tried. An interrupt ends the wait.
pub(crate) fn addresses_of(ruby: &Ruby, host: String) -> Result<Vec<String>, Error> {
    let name = host.clone();
    let search = move |_: &_| -> io::Result<Vec<String>> {
        Ok((&*name, 0).to_socket_addrs()?.map(|it| it.ip().to_string()).collect())
    };
    without_gvl(ruby, search)?.map_err(|why| error(ruby, "Error", format!("{host} has no address: {why}")))
}
