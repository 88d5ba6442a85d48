//! The media that `core/README.md` names: what each of them does to what is being written when the
//! power goes, and what is promised on it.

use super::{Lost, Model, Tear, Wiped};

/// A kind of medium.
#[derive(Debug, Clone, Copy)]
pub struct Medium {
    /// Its name in the table of `core/README.md`.
    pub name: &'static str,
    /// What a power cut does, as a model with few states of each moment.
    pub model: fn() -> Model,
    /// What is promised of a log of `gsd::Logger` with an alignment of 512 and two syncs.
    pub gsd: Promise,
    /// What is promised of a file of `sion::Writer`.
    pub sion: Promise,
    /// What is promised of a file of `cdf::Writer`.
    pub cdf: Promise,
}

/// What is promised after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// All that was committed is there, and nothing else.
    Kept,
    /// Nothing: in some states it is not.
    Nothing,
}

use Promise::{Kept, Nothing};

/// Few states of each moment, and of these the usual ones too.
fn few() -> Model {
    Model { exhaustive: 64, random: 4, ..Model::default() }
}

/// All media of the table, in its order.
pub const MEDIA: &[Medium] = &[
    Medium { name: "disk, SSD, eMMC", model: few, gsd: Kept, sion: Kept, cdf: Kept },
    Medium {
        name: "the same with pages of 4096 bytes",
        model: || Model { sector: 4096, ..few() },
        gsd: Kept,
        sion: Kept,
        cdf: Kept,
    },
    Medium {
        name: "a file system that shows old blocks",
        model: || Model { lost: Lost::Noise, ..few() },
        gsd: Kept,
        sion: Kept,
        cdf: Kept,
    },
    Medium {
        name: "FRAM, MRAM, battery-backed RAM",
        model: || Model { tear: Tear::Bytes { atomic: vec![] }, ..few() },
        gsd: Kept,
        sion: Nothing,
        cdf: Nothing,
    },
    Medium {
        name: "a disk that tears sectors",
        model: || Model { torn: 24, ..few() },
        gsd: Kept,
        sion: Nothing,
        cdf: Nothing,
    },
    Medium {
        name: "SD card",
        model: || Model { erased: 16, ..few() },
        gsd: Kept,
        sion: Nothing,
        cdf: Nothing,
    },
    Medium {
        name: "a card that leaves noise",
        model: || Model { erased: 16, wiped: Wiped::Noise, ..few() },
        gsd: Nothing,
        sion: Nothing,
        cdf: Nothing,
    },
    Medium {
        name: "flash without a translation layer",
        model: || Model { erased: 16, page: 4096, ..few() },
        gsd: Nothing,
        sion: Nothing,
        cdf: Nothing,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::{Kind, PowerStore};
    use striae_core::store::WriteAt;

    #[test]
    fn a_page_is_wiped_with_all_of_its_sectors_and_no_other() {
        let mut store = PowerStore::new(&[1; 24 * 512]);
        store.write_all_at(9 * 512 + 5, &[2; 10]).unwrap();
        let written = store.live().to_vec();
        for (wiped, page) in
            [Wiped::Erased, Wiped::Noise].into_iter().flat_map(|of| [(of, 512), (of, 4096)])
        {
            let model = Model { erased: 8, wiped, page, ..Model::default() };
            let mut images = Vec::new();
            let counts = store.crashes(&model, |crash| {
                if crash.kind == Kind::PowerCutErased {
                    images.push(crash.image.to_vec());
                }
            });
            assert_eq!(counts.power_cut_erased, 8);
            let first = 9 * 512 / page * page;
            for image in images {
                assert_eq!(image[..first], written[..first]);
                assert_eq!(image[first + page..], written[first + page..]);
                let page = &image[first..first + page];
                let is_filled =
                    [0x00, 0xFF].iter().any(|fill| page.iter().all(|byte| byte == fill));
                assert_eq!(is_filled, wiped == Wiped::Erased);
                assert!(page.chunks(512).all(|sector| *sector != written[..512]));
            }
        }
    }

    /// The table of `core/README.md` has these media in this order, and promises what they promise.
    #[test]
    fn the_readme_of_core_has_the_table_of_media() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/README.md");
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().skip_while(|line| !line.starts_with("| medium |")).skip(2);
        let rows: Vec<Vec<&str>> = rows
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let word = |promise| if promise == Kept { "kept" } else { "nothing" };
        let promised =
            |medium: &Medium| [medium.name, word(medium.gsd), word(medium.sion), word(medium.cdf)];
        let expected: Vec<_> = MEDIA.iter().map(promised).collect();
        let found: Vec<_> = rows.iter().map(|row| [row[0], row[2], row[3], row[4]]).collect();
        assert_eq!(found, expected);
    }
}
