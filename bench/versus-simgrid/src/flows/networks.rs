//! The platforms of the random flows, as XML that both sides read: links of 1.25 GB/s and 1 us, hosts node-0, node-1, ...

/// A platform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    /// Three levels, half as many cables upwards as downwards at the upper two.
    FatTree1024,
    /// Three levels, half as many cables upwards as downwards at the upper two.
    FatTree4096,
    /// 8 groups of 8 chassis of 16 routers of 4 hosts.
    Dragonfly4096,
    /// 16 × 16 × 16.
    Torus4096,
    /// Hosts around a shared link of 125 GB/s.
    Backbone4096,
}

impl Network {
    /// For the table and for names of files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FatTree1024 => "fat tree of 1024",
            Self::FatTree4096 => "fat tree of 4096",
            Self::Dragonfly4096 => "dragonfly of 4096",
            Self::Torus4096 => "torus of 4096",
            Self::Backbone4096 => "backbone of 4096",
        }
    }

    /// The platform file.
    pub(crate) fn xml(self) -> String {
        let topology = match self {
            Self::FatTree1024 => {
                "topology=\"FAT_TREE\" topo_parameters=\"3;16,8,8;1,8,4;1,1,1\" radical=\"0-1023\""
            }
            Self::FatTree4096 => {
                "topology=\"FAT_TREE\" topo_parameters=\"3;16,16,16;1,8,8;1,1,1\" radical=\"0-4095\""
            }
            Self::Dragonfly4096 => {
                "topology=\"DRAGONFLY\" topo_parameters=\"8,1;8,1;16,1;4\" radical=\"0-4095\""
            }
            Self::Torus4096 => "topology=\"TORUS\" topo_parameters=\"16,16,16\" radical=\"0-4095\"",
            Self::Backbone4096 => "bb_bw=\"125GBps\" bb_lat=\"1us\" radical=\"0-4095\"",
        };
        format!(
            "<?xml version='1.0'?>\n\
             <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">\n\
             <cluster id=\"cluster\" prefix=\"node-\" suffix=\"\" speed=\"1Gf\" bw=\"1.25GBps\" lat=\"1us\"\n{topology}/>\n\
             </zone></platform>\n"
        )
    }
}
