//! UART0: lines for whoever is connected.

use crate::mmio::{
    PORT_A_ENABLE, PORT_A_FUNCTION, RCGC1, RCGC2, UART_BAUD_FRACTION, UART_BAUD_INTEGER,
    UART_CONTROL, UART_DATA, UART_FLAGS, UART_LINE,
};
use core::fmt;

/// Flags: there is no room for a byte; bytes are on their way.
const FULL: u32 = 1 << 5;

/// What is written to it is sent.
pub struct Uart(());

impl Uart {
    /// Sets it up for 115200 baud, 8 bits, no parity.
    pub fn new() -> Self {
        RCGC1.set(1 << 0);
        RCGC2.set(1 << 0);
        PORT_A_FUNCTION.set(0b11);
        PORT_A_ENABLE.set(0b11);
        UART_CONTROL.clear(1);
        UART_BAUD_INTEGER.write(6); // 12 MHz / (16 * 115200) = 6 + 33 / 64
        UART_BAUD_FRACTION.write(33);
        UART_LINE.write(0b11 << 5 | 1 << 4);
        UART_CONTROL.write(1 | 1 << 8 | 1 << 9);
        Self(())
    }
}

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while UART_FLAGS.read() & FULL != 0 {}
            UART_DATA.write(byte.into());
        }
        Ok(())
    }
}
