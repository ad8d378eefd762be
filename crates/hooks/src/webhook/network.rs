//! Which addresses a webhook may go to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use serde_json::Value;

use crate::register::fields::Fields;
use crate::register::rule::{FieldFault, Rule};

/// Which addresses a webhook may go to. By default: all.
///
/// With `denyPrivate`, addresses that are not on the public internet are refused: private, loopback,
/// link-local, shared, unique-local, multicast and reserved ones, in whatever form they are written
/// and also behind IPv6 (mapped, translated, 6to4). It holds for the addresses that a name resolves
/// to at the moment of dialling. `allow` lists exceptions: host names, addresses, CIDR ranges.
///
/// ```
/// use jackline_hooks::NetworkPolicy;
/// let policy = NetworkPolicy::from_json(&serde_json::json!({"denyPrivate": true, "allow": ["10.1.0.0/16"]})).unwrap();
/// assert!(policy.permits_address("10.1.2.3".parse().unwrap()));
/// assert!(!policy.permits_address("10.2.2.3".parse().unwrap()));
/// assert!(!policy.permits_address("::ffff:127.0.0.1".parse().unwrap()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicy {
    /// Whether addresses off the public internet are refused.
    pub deny_private: bool,
    /// The exceptions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

impl NetworkPolicy {
    /// Reads `{denyPrivate?, allow?}`; `deny_private` means the same.
    ///
    /// # Errors
    ///
    /// [`FieldFault`] names the field and the remedy.
    pub fn from_json(value: &Value) -> Result<Self, FieldFault> {
        let mut fields = Fields::of(value)?;
        let snake = fields.flag("deny_private")?;
        let deny_private = fields.flag("denyPrivate")?.or(snake).unwrap_or_default();
        let allow = fields.texts("allow")?.unwrap_or_default();
        fields.end()?;
        let policy = Self { deny_private, allow };
        policy.check()?;
        Ok(policy)
    }

    /// Checks the exceptions.
    ///
    /// # Errors
    ///
    /// [`FieldFault`]: an exception is neither a host name, an address nor a range. Correct it.
    pub fn check(&self) -> Result<(), FieldFault> {
        match self.allow.iter().position(|entry| Exception::read(entry).is_none()) {
            Some(index) => Err(FieldFault::new(format!("allow[{index}]"), Rule::Network)),
            None => Ok(()),
        }
    }

    /// Whether a host name is one of the exceptions. Upper and lower case are the same.
    pub fn permits_name(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        !self.deny_private || self.exceptions().any(|entry| entry.is_name(host))
    }

    /// Whether an address may be dialled.
    pub fn permits_address(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        !self.deny_private || is_public(address) || self.exceptions().any(|entry| entry.has_address(address))
    }

    fn exceptions(&self) -> impl Iterator<Item = Exception> {
        self.allow.iter().filter_map(|entry| Exception::read(entry))
    }
}

enum Exception {
    Name(String),
    Range(IpAddr, u8),
}

impl Exception {
    fn read(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            let address = embedded(address);
            return Some(Self::Range(address, bits(address)));
        }
        if let Some((address, prefix)) = text.split_once('/') {
            let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?);
            // A range of mapped addresses is one of the addresses that they carry.
            return match (embedded(address), prefix.checked_sub(96)) {
                (IpAddr::V4(carried), Some(prefix)) if is_mapped(address) && prefix <= 32 => {
                    Some(Self::Range(IpAddr::V4(carried), prefix))
                }
                (..) => (prefix <= bits(address)).then_some(Self::Range(address, prefix)),
            };
        }
        let host = text.trim_end_matches('.').to_ascii_lowercase();
        let is_host = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.' | '_');
        (!host.is_empty() && host.chars().all(is_host)).then_some(Self::Name(host))
    }

    fn is_name(&self, host: &str) -> bool {
        match self {
            Self::Name(name) => name.eq_ignore_ascii_case(host),
            Self::Range(..) => false,
        }
    }

    fn has_address(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Range(IpAddr::V4(range), prefix), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(*prefix)).unwrap_or(0);
                u32::from(*range) & mask == u32::from(address) & mask
            }
            (Self::Range(IpAddr::V6(range), prefix), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(*prefix)).unwrap_or(0);
                u128::from(*range) & mask == u128::from(address) & mask
            }
            (Self::Range(..) | Self::Name(_), IpAddr::V4(_) | IpAddr::V6(_)) => false,
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The IPv4 address inside an IPv6 one that only carries it: mapped, compatible, NAT64, 6to4.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    let tail = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => tail(high, low),
        [0, 0, 0, 0, 0, 0] if high != 0 => tail(high, low),
        [0x2002, high, low, ..] => tail(high, low),
        [..] => address,
    }
}

fn is_mapped(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().is_some(),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match [a, b, c] {
        // Multicast and all above.
        [224..=255, ..] => true,
        [0 | 10 | 127, ..] | [169, 254, _] | [192, 168, _] => true,
        [100, 64..=127, _] | [172, 16..=31, _] | [198, 18..=19, _] => true,
        [192, 0, 0 | 2] | [198, 51, 100] | [203, 0, 113] | [192, 88, 99] => true,
        [..] => false,
    };
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Global unicast is 2000::/3; Teredo, documentation and benchmarks lie inside it.
    let [a, b, ..] = address.segments();
    let special = match (a, b) {
        (0x2001, 0..=0x1ff | 0xdb8) => true,
        (0x3fff, 0..=0xfff) => true,
        (_, _) => false,
    };
    (0x2000..0x4000).contains(&a) && !special
}

impl fmt::Display for NetworkPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.deny_private {
            write!(f, "public addresses and {} exceptions", self.allow.len())
        } else {
            f.write_str("any")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str]) -> NetworkPolicy {
        NetworkPolicy { deny_private: true, allow: allow.iter().map(|&entry| entry.to_owned()).collect() }
    }

    fn permits(allow: &[&str], address: &str) -> bool {
        policy(allow).permits_address(address.parse().unwrap())
    }

    #[test]
    fn addresses_off_the_public_internet_are_refused() {
        for refused in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.0.8",
            "198.18.0.1",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:1::",
            "2001:db8::1",
        ] {
            assert!(!permits(&[], refused), "{refused}");
            assert!(NetworkPolicy::default().permits_address(refused.parse().unwrap()), "{refused}");
        }
        for public in ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(permits(&[], public), "{public}");
        }
    }

    #[test]
    fn exceptions_are_names_addresses_and_ranges() {
        assert!(permits(&["127.0.0.1"], "127.0.0.1") && !permits(&["127.0.0.1"], "127.0.0.2"));
        assert!(permits(&["127.0.0.1"], "::ffff:127.0.0.1"));
        assert!(permits(&["10.0.0.0/8"], "10.9.9.9") && !permits(&["10.0.0.0/8"], "192.168.0.1"));
        assert!(permits(&["::ffff:10.0.0.0/104"], "10.9.9.9") && !permits(&["::ffff:10.0.0.0/104"], "192.168.0.1"));
        assert!(permits(&["0.0.0.0/0"], "192.168.0.1") && permits(&["fd00::/8"], "fd01::1"));
        assert!(policy(&["Policy.Internal"]).permits_name("policy.internal."));
        assert!(!policy(&["policy.internal"]).permits_name("evil.internal"));
        for bad in ["", "10.0.0.0/33", "a b", "x/8", "http://x", "fd00::/129"] {
            assert!(policy(&[bad]).check().is_err(), "{bad}");
        }
    }
}
