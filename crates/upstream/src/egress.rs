//! Which addresses may be reached. Judged by what a name resolves to, at the moment of connecting,
//! and only the judged addresses are connected to: a name that changes its mind gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Which addresses that are not of the public internet may be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Egress {
    /// All of them.
    #[default]
    Open,
    /// None but those of these hosts and networks: `localhost`, `10.1.2.3` or `10.0.0.0/8`.
    Public { but: Arc<Vec<String>> },
}

/// An address that may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{host}` is not an address of the public internet, and `egress.allow_private` does not name it"
)]
pub struct Refused {
    pub host: String,
}

impl Egress {
    pub fn public(but: Vec<String>) -> Self {
        Self::Public { but: Arc::new(but) }
    }

    /// Those of the addresses a name stands for that may be connected to.
    pub fn pick(
        &self,
        host: &str,
        found: impl Iterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Refused> {
        let found: Vec<SocketAddr> = found.collect();
        let none_found = found.is_empty();
        let picked: Vec<SocketAddr> =
            found.into_iter().filter(|address| self.lets(host, address.ip())).collect();
        if picked.is_empty() && !none_found {
            return Err(Refused { host: host.to_owned() });
        }
        Ok(picked)
    }

    /// A host that is an address is never looked up, so it is judged as it is written.
    pub fn check_literal(&self, host: &str) -> Result<(), Refused> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) if !self.lets(host, address) => Err(Refused { host: host.to_owned() }),
            _ => Ok(()),
        }
    }

    fn lets(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Open => true,
            Self::Public { but } => {
                is_public(address) || but.iter().any(|known| names(known, host, address))
            }
        }
    }
}

/// Whether an exception of the operator speaks of this host or address.
fn names(known: &str, host: &str, address: IpAddr) -> bool {
    if known.eq_ignore_ascii_case(host) {
        return true;
    }
    let (network, length) = known.split_once('/').unwrap_or((known, ""));
    let Ok(network) = network.parse::<IpAddr>() else { return false };
    let (network, address, bits) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    let length = if length.is_empty() { Some(bits) } else { length.parse::<u32>().ok() };
    length.is_some_and(|length| length <= bits && within(address, network, bits - length))
}

/// Whether two addresses agree but for their last bits.
const fn within(address: u128, network: u128, free: u32) -> bool {
    match free {
        128.. => true,
        _ => address >> free == network >> free,
    }
}

/// Whether an address is one of the public internet. What merely wraps another address (6to4,
/// NAT64, Teredo) is not: nobody can say where it leads.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    const RESERVED: [([u8; 4], u32); 15] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        ([224, 0, 0, 0], 4),
        ([240, 0, 0, 0], 4),
    ];
    let bits = u128::from(address.to_bits());
    !RESERVED.iter().any(|(network, length)| {
        within(bits, u128::from(Ipv4Addr::from(*network).to_bits()), 32 - length)
    })
}

/// Only `2000::/3` is given out, and not all of it to somebody.
fn is_public_v6(address: Ipv6Addr) -> bool {
    const RESERVED: [([u16; 3], u32); 4] = [
        // Teredo, benchmarking, ORCHID and the like.
        ([0x2001, 0, 0], 23),
        ([0x2001, 0xdb8, 0], 32),
        ([0x2002, 0, 0], 16),
        ([0x3fff, 0, 0], 20),
    ];
    let bits = address.to_bits();
    within(bits, 0x2000 << 112, 125)
        && !RESERVED.iter().any(|([one, two, three], length)| {
            let network = Ipv6Addr::new(*one, *two, *three, 0, 0, 0, 0, 0).to_bits();
            within(bits, network, 128 - length)
        })
}

/// Looks names up with the system and gives only what may be reached.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    egress: Egress,
    system: GaiResolver,
}

impl Resolver {
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress, system: GaiResolver::new() }
    }
}

type Found = Result<std::vec::IntoIter<SocketAddr>, Box<dyn std::error::Error + Send + Sync>>;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Found> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.system.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (egress, host) = (self.egress.clone(), name.as_str().to_owned());
        let asked = self.system.call(name);
        Box::pin(async move { Ok(egress.pick(&host, asked.await?)?.into_iter()) })
    }
}

#[cfg(test)]
mod tests;
