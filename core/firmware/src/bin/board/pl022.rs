//! The SPI of the board, an ARM PL022, as `embedded-hal` wants it.

use crate::mmio::{
    PD0, PORT_A_ENABLE, PORT_A_FUNCTION, PORT_D_ENABLE, PORT_D_OUTPUT, RCGC1, RCGC2, SSI_CONTROL_0,
    SSI_CONTROL_1, SSI_DATA, SSI_PRESCALE, SSI_STATUS,
};
use core::convert::Infallible;
use embedded_hal::delay::DelayNs;
use embedded_hal::digital::{self, OutputPin};
use embedded_hal::spi::{self, SpiBus};

/// The device's clock after a reset, and the divisors of the SPI's clock: even numbers.
const CLOCK_HZ: u32 = 12_000_000;
/// 400 kHz at most, until a card is initialised.
const SLOW: u32 = 30;
const FAST: u32 = 2;

/// Status: the FIFO of what was received is not empty; a byte is on its way.
const RECEIVED: u32 = 1 << 2;
const BUSY: u32 = 1 << 4;

/// SSI0 as the master of a bus of bytes, mode 0.
pub struct Pl022(());

impl Pl022 {
    /// Sets up the pins, the clock and the bus. Call it once.
    pub fn new() -> Self {
        RCGC1.set(1 << 4);
        RCGC2.set(1 << 0 | 1 << 3);
        PORT_A_FUNCTION.set(1 << 2 | 1 << 4 | 1 << 5); // not pin 3: PD0 selects the card
        PORT_A_ENABLE.set(1 << 2 | 1 << 4 | 1 << 5);
        SSI_CONTROL_1.write(0); // off, a master
        SSI_PRESCALE.write(SLOW);
        SSI_CONTROL_0.write(8 - 1); // bytes, Motorola's format, mode 0
        SSI_CONTROL_1.write(1 << 1); // on
        Self(())
    }

    /// Gives a card the 74 clocks that it must get before its first command, and then goes faster.
    /// No card may be selected.
    pub fn wake(&mut self) {
        for _ in 0..10 {
            exchange(0xFF);
        }
        SSI_PRESCALE.write(FAST);
    }
}

/// Sends a byte; returns the one that came meanwhile.
fn exchange(byte: u8) -> u8 {
    SSI_DATA.write(byte.into());
    while SSI_STATUS.read() & RECEIVED == 0 {}
    SSI_DATA.read() as u8
}

impl spi::ErrorType for Pl022 {
    type Error = Infallible;
}

impl SpiBus for Pl022 {
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.iter_mut().for_each(|byte| *byte = exchange(0xFF));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        for &byte in bytes {
            exchange(byte);
        }
        Ok(())
    }

    fn transfer(&mut self, to: &mut [u8], from: &[u8]) -> Result<(), Infallible> {
        for at in 0..to.len().max(from.len()) {
            let byte = exchange(from.get(at).copied().unwrap_or(0xFF));
            if let Some(to) = to.get_mut(at) {
                *to = byte;
            }
        }
        Ok(())
    }

    fn transfer_in_place(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.iter_mut().for_each(|byte| *byte = exchange(*byte));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        while SSI_STATUS.read() & BUSY != 0 {}
        Ok(())
    }
}

/// PD0, which selects the card when it is low. When it is high, the board's display listens.
pub struct ChipSelect(());

impl ChipSelect {
    /// Sets up the pin, high. Call it once, after [`Pl022::new`].
    pub fn new() -> Self {
        PORT_D_OUTPUT.set(1);
        PORT_D_ENABLE.set(1);
        PD0.write(1);
        Self(())
    }
}

impl digital::ErrorType for ChipSelect {
    type Error = Infallible;
}

impl OutputPin for ChipSelect {
    fn set_low(&mut self) -> Result<(), Infallible> {
        PD0.write(0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        PD0.write(1);
        Ok(())
    }
}

/// Waits by counting cycles.
pub struct Cycles;

impl DelayNs for Cycles {
    fn delay_ns(&mut self, ns: u32) {
        cortex_m::asm::delay(ns.div_ceil(1_000_000_000 / CLOCK_HZ));
    }
}
