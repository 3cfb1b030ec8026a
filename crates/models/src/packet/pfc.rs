//! Priority flow control (IEEE 802.1Qbb): pauses, headroom, and the accounting of ingress buffers.
//!
//! Bytes of an (input port, class) take their reserve first, then the shared pool of the switch,
//! then headroom. The threshold of the pool is dynamic: less free space gives a lower threshold.

/// Bytes of a pause frame on the wire: 64, with preamble and inter-frame gap.
pub const PAUSE_FRAME_BYTES: u32 = 84;

/// Settings of priority flow control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcSettings {
    /// Bytes of a switch's buffer, shared by all ports. 12 MiB is the default of HPCC's simulator.
    pub buffer_bytes: u64,
    /// Reserved bytes of each (port, class). 4 KiB in HPCC's simulator.
    pub reserve_bytes: u32,
    /// Bytes of headroom of each (port, class).
    pub headroom_bytes: u32,
    /// Power of 2 by which the free pool is divided to get the threshold. 3 in HPCC's simulator.
    pub shift: u32,
    /// Bytes below the threshold at which a pause ends. 3 KiB in HPCC's simulator.
    pub resume_offset_bytes: u32,
    /// A fixed threshold, in place of the dynamic one.
    pub fixed_threshold: Option<u32>,
    /// Time from the arrival of a pause to the effect of the pause, in picoseconds.
    pub response_ps: u64,
    /// False if no pauses are sent: packets without room are dropped (lossy Ethernet).
    pub sends_pauses: bool,
}

impl Default for PfcSettings {
    fn default() -> Self {
        Self {
            buffer_bytes: 12 << 20,
            reserve_bytes: 4 << 10,
            headroom_bytes: 24_780,
            shift: 3,
            resume_offset_bytes: 3 << 10,
            fixed_threshold: None,
            response_ps: 0,
            sends_pauses: true,
        }
    }
}

/// The shared buffer of a switch.
#[derive(Clone, Copy, Default, Debug)]
pub struct SharedPool {
    /// Bytes set aside for reserves and headroom.
    pub(super) set_aside: u64,
    used: u64,
}

impl SharedPool {
    /// Sets bytes aside for one more (port, class).
    pub fn add_class(&mut self, settings: &PfcSettings) {
        self.set_aside += u64::from(settings.reserve_bytes) + u64::from(settings.headroom_bytes);
    }

    /// Returns the bytes of the pool that one (port, class) may use now.
    pub fn threshold(&self, settings: &PfcSettings) -> u64 {
        settings.fixed_threshold.map_or_else(
            || {
                settings
                    .buffer_bytes
                    .saturating_sub(self.set_aside + self.used)
                    >> settings.shift
            },
            u64::from,
        )
    }
}

/// A change of the pause state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseChange {
    /// The sender must stop: XOFF.
    Pause,
    /// The sender may continue: XON.
    Resume,
}

/// The accounting of one (input port, class).
#[derive(Clone, Copy, Default, Debug)]
pub struct PfcIngress {
    reserved: u32,
    shared: u64,
    headroom: u32,
    is_paused: bool,
}

impl PfcIngress {
    /// Takes bytes into the buffer; returns false if there is no room, which is an error of the
    /// configuration.
    pub fn admit(&mut self, settings: &PfcSettings, pool: &mut SharedPool, bytes: u32) -> bool {
        let left = settings.reserve_bytes - self.reserved;
        let beyond = bytes.saturating_sub(left);
        if beyond > 0 && self.shared >= pool.threshold(settings) {
            // Reserve is full or nearly so, and the pool is closed.
            if self.headroom + bytes > settings.headroom_bytes {
                return false;
            }
            self.headroom += bytes;
            return true;
        }
        self.reserved += bytes - beyond;
        self.shared += u64::from(beyond);
        pool.used += u64::from(beyond);
        true
    }

    /// Releases bytes: headroom first, then the pool, then the reserve.
    pub fn release_bytes(&mut self, pool: &mut SharedPool, bytes: u32) {
        let from_headroom = bytes.min(self.headroom);
        self.headroom -= from_headroom;
        let rest = u64::from(bytes - from_headroom);
        let from_pool = rest.min(self.shared);
        self.shared -= from_pool;
        pool.used -= from_pool;
        let from_reserve = u32::try_from(rest - from_pool).unwrap_or(u32::MAX);
        self.reserved = self.reserved.saturating_sub(from_reserve);
    }

    /// Returns true if the sender was told to stop.
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns the pause or resume that has become due.
    pub fn pause_change(
        &mut self,
        settings: &PfcSettings,
        pool: &SharedPool,
    ) -> Option<PauseChange> {
        let threshold = pool.threshold(settings);
        if !self.is_paused {
            let is_over = self.headroom > 0 || self.shared > 0 && self.shared >= threshold;
            self.is_paused = is_over;
            return is_over.then_some(PauseChange::Pause);
        }
        let resume_at = self.shared + u64::from(settings.resume_offset_bytes);
        let is_low = self.headroom == 0 && (self.shared == 0 || resume_at <= threshold);
        self.is_paused = !is_low;
        is_low.then_some(PauseChange::Resume)
    }
}
