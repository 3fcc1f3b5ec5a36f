//! The identities of the profiles in a request.

/// Random bytes from the caller, one set for each request. A request that is sent again keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileId(pub [u8; 16]);

impl ProfileId {
    /// Returns the id of a profile in the request, by its index there.
    pub(super) fn at(self, place: usize) -> Self {
        Self(u128::from_be_bytes(self.0).wrapping_add(place as u128).to_be_bytes())
    }

    /// Returns the id in the form of a random UUID, version 4.
    pub(super) fn uuid(self) -> String {
        let bits = u128::from_be_bytes(self.0);
        let bits = bits & !(0xf << 76) | 4 << 76; // the version
        let bits = bits & !(0b11 << 62) | 0b10 << 62; // the variant
        let mut text = format!("{bits:032x}");
        [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
        text
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ProfileId;

    #[test]
    fn ids_of_a_request_differ_and_are_uuids() {
        let id = ProfileId([0xff; 16]);
        assert_eq!(id.uuid(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id.at(2).0, u128::to_be_bytes(1));
        assert_eq!(id.at(2).uuid(), "00000000-0000-4000-8000-000000000001");
    }
}
