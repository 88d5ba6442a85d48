//! Two things between embedded-sdmmc 0.10 and the card of QEMU 7.2. A real card minds neither.
//!
//! - The card says that it is idle in each answer to CMD58. A card that is initialised answers 0,
//!   and the driver refuses all else: `Cmd58Error`.
//! - Between its answer to CMD24 and the data a card may ask for 8 clocks, the SD specification's
//!   N_WR. The driver gives none, and QEMU's card then takes the data for commands: `WriteError`.

use embedded_hal::spi::{ErrorType, Operation, SpiDevice};

const CMD24: u8 = 0x40 | 24;
const CMD58: u8 = 0x40 | 58;
/// The bit of an answer that says idle.
const IDLE: u8 = 1;

/// The device of a card, with both put right.
pub struct Patient<D> {
    device: D,
    /// The command that is not answered yet.
    asked: Option<u8>,
}

impl<D> Patient<D> {
    pub const fn new(device: D) -> Self {
        Self { device, asked: None }
    }
}

impl<D: ErrorType> ErrorType for Patient<D> {
    type Error = D::Error;
}

impl<D: SpiDevice> SpiDevice for Patient<D> {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), D::Error> {
        self.device.transaction(operations)?;
        for operation in operations {
            match operation {
                Operation::Write([command, _, _, _, _, _]) => self.asked = Some(*command),
                // An answer begins with a bit that is 0; until then the card sends 0xFF.
                Operation::Transfer([byte], _) if *byte & 0x80 == 0 => match self.asked.take() {
                    Some(CMD58) => *byte &= !IDLE,
                    Some(CMD24) => self.device.write(&[0xFF])?,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }
}
