//! The least program with a logger; without the feature `logger`, what is left of it. The
//! difference is the code that the logger needs.

#![no_std]
#![no_main]

use core::hint::black_box;

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut STORE: [u8; 16384] = [0xFF; 16384]; // stands for a card or a flash chip
    let store = black_box(STORE.as_mut_slice());
    #[cfg(feature = "logger")]
    {
        use striae_core::gsd::{Attributes, ChunkType, Logger};
        let mut log = || {
            let mut log = Logger::<_, 4>::open_or_create(&mut *store, &Attributes::default())?;
            let id = log.name("temperature")?;
            log.chunk(id, ChunkType::F32, 1, &black_box(21.5_f32).to_le_bytes())?;
            log.end_frame()
        };
        let _ = black_box(log());
    }
    loop {
        black_box(&store);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
