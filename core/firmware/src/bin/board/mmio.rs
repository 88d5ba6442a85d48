//! Registers of the lm3s6965. The only `unsafe` of this program is here.

use core::ptr;

/// A 32-bit register of the device.
#[derive(Clone, Copy)]
pub struct Register(usize);

impl Register {
    /// The register at `offset` of a block of registers.
    const fn of(block: Block, offset: usize) -> Self {
        assert!(offset < 0x1000 && offset.is_multiple_of(4));
        Self(block as usize + offset)
    }

    pub fn read(self) -> u32 {
        // SAFETY: LM3S6965 data sheet, "Memory Map": the address is in one of the 4 KiB of `Block`,
        // aligned, and no Rust object is there. See `of`.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    pub fn write(self, value: u32) {
        // SAFETY: as above; none of the registers below makes the device access memory by itself.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) }
    }

    /// Sets these bits.
    pub fn set(self, bits: u32) {
        self.write(self.read() | bits);
    }

    /// Clears these bits.
    pub fn clear(self, bits: u32) {
        self.write(self.read() & !bits);
    }
}

/// Blocks of registers, from "Memory Map" of the data sheet.
#[derive(Clone, Copy)]
enum Block {
    GpioA = 0x4000_4000,
    GpioD = 0x4000_7000,
    Ssi0 = 0x4000_8000,
    Uart0 = 0x4000_C000,
    System = 0x400F_E000,
}

/// Clocks of SSI0 (bit 4) and UART0 (bit 0).
pub const RCGC1: Register = Register::of(Block::System, 0x104);
/// Clocks of the ports A (bit 0) and D (bit 3).
pub const RCGC2: Register = Register::of(Block::System, 0x108);

/// Pins of port A that belong to UART0 (0, 1) and SSI0 (2, 4, 5).
pub const PORT_A_FUNCTION: Register = Register::of(Block::GpioA, 0x420);
pub const PORT_A_ENABLE: Register = Register::of(Block::GpioA, 0x51C);

/// Pin 0 of port D alone: address bits 9 to 2 of a data register choose the pins.
pub const PD0: Register = Register::of(Block::GpioD, 1 << 2);
pub const PORT_D_OUTPUT: Register = Register::of(Block::GpioD, 0x400);
pub const PORT_D_ENABLE: Register = Register::of(Block::GpioD, 0x51C);

pub const SSI_CONTROL_0: Register = Register::of(Block::Ssi0, 0x00);
pub const SSI_CONTROL_1: Register = Register::of(Block::Ssi0, 0x04);
pub const SSI_DATA: Register = Register::of(Block::Ssi0, 0x08);
pub const SSI_STATUS: Register = Register::of(Block::Ssi0, 0x0C);
pub const SSI_PRESCALE: Register = Register::of(Block::Ssi0, 0x10);

pub const UART_DATA: Register = Register::of(Block::Uart0, 0x00);
pub const UART_FLAGS: Register = Register::of(Block::Uart0, 0x18);
pub const UART_BAUD_INTEGER: Register = Register::of(Block::Uart0, 0x24);
pub const UART_BAUD_FRACTION: Register = Register::of(Block::Uart0, 0x28);
pub const UART_LINE: Register = Register::of(Block::Uart0, 0x2C);
pub const UART_CONTROL: Register = Register::of(Block::Uart0, 0x30);
