//! The platforms of the random flows, as XML that both sides read: links of 1.25 GB/s and 1 us,
//! hosts node-0, node-1, ...

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
    pub(crate) const fn name(self, small: bool) -> &'static str {
        match (self, small) {
            (Self::FatTree1024, false) => "fat tree of 1024",
            (Self::FatTree4096, false) => "fat tree of 4096",
            (Self::Dragonfly4096, false) => "dragonfly of 4096",
            (Self::Torus4096, false) => "torus of 4096",
            (Self::Backbone4096, false) => "backbone of 4096",
            (Self::FatTree1024, true) => "fat tree of 32",
            (Self::FatTree4096, true) => "fat tree of 64",
            (Self::Dragonfly4096, true) => "dragonfly of 64",
            (Self::Torus4096, true) => "torus of 64",
            (Self::Backbone4096, true) => "backbone of 64",
        }
    }

    /// SimGrid's attributes, and the number of the last host.
    const fn shape(self, small: bool) -> (&'static str, u32) {
        match (self, small) {
            (Self::FatTree1024, false) => (
                "topology=\"FAT_TREE\" topo_parameters=\"3;16,8,8;1,8,4;1,1,1\"",
                1023,
            ),
            (Self::FatTree4096, false) => (
                "topology=\"FAT_TREE\" topo_parameters=\"3;16,16,16;1,8,8;1,1,1\"",
                4095,
            ),
            (Self::Dragonfly4096, false) => (
                "topology=\"DRAGONFLY\" topo_parameters=\"8,1;8,1;16,1;4\"",
                4095,
            ),
            (Self::Torus4096, false) => ("topology=\"TORUS\" topo_parameters=\"16,16,16\"", 4095),
            (Self::Backbone4096, false) => ("bb_bw=\"125GBps\" bb_lat=\"1us\"", 4095),
            (Self::FatTree1024, true) => (
                "topology=\"FAT_TREE\" topo_parameters=\"3;4,4,2;1,2,2;1,1,1\"",
                31,
            ),
            (Self::FatTree4096, true) => (
                "topology=\"FAT_TREE\" topo_parameters=\"3;4,4,4;1,2,2;1,1,1\"",
                63,
            ),
            (Self::Dragonfly4096, true) => (
                "topology=\"DRAGONFLY\" topo_parameters=\"2,1;2,1;4,1;4\"",
                63,
            ),
            (Self::Torus4096, true) => ("topology=\"TORUS\" topo_parameters=\"4,4,4\"", 63),
            (Self::Backbone4096, true) => ("bb_bw=\"12.5GBps\" bb_lat=\"1us\"", 63),
        }
    }

    /// Returns the platform file, of the whole network or of a small network of the same kind.
    pub(crate) fn xml(self, small: bool) -> String {
        let (topology, last) = self.shape(small);
        format!(
            "<?xml version='1.0'?>\n\
             <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">\n\
             <cluster id=\"cluster\" prefix=\"node-\" suffix=\"\" radical=\"0-{last}\" speed=\"1Gf\" bw=\"1.25GBps\" lat=\"1us\"\n\
             {topology}/>\n\
             </zone></platform>\n"
        )
    }
}
