//! `striae info` of a trajectory (schema `hoomd`).

use super::JsonName;
use crate::printable::printable;
use serde::Serialize;
use std::path::Path;
use striae::Error;
use striae::gsd::hoomd::Trajectory;
use striae::gsd::{File, Name};

/// The prefix of the names of logged quantities.
const LOG: &str = "log/";

/// The contents of a trajectory, or the reason why it cannot be read.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Hoomd<'a> {
    Known {
        /// Steps of the first and of the last frame.
        steps: Option<[u64; 2]>,
        /// Numbers of particles in the first and in the last frame.
        particles: Option<[u32; 2]>,
        /// Particle types in the first frame.
        types: Vec<String>,
        /// Names of logged quantities, without `log/`.
        log: Vec<JsonName<'a>>,
    },
    Unreadable {
        error: String,
    },
}

impl<'a> Hoomd<'a> {
    /// Reads the trajectory, or finds out why it cannot be read; `None` if the file has another
    /// schema.
    pub(super) fn new(file: &'a File, path: &Path) -> (Option<Self>, Option<Error>) {
        if file.header().schema.as_bytes() != b"hoomd" {
            return (None, None);
        }
        match Trajectory::open(path).and_then(|trajectory| Self::known(file, &trajectory)) {
            Ok(known) => (Some(known), None),
            Err(error) => (Some(Self::Unreadable { error: error.to_string() }), Some(error)),
        }
    }

    fn known(file: &'a File, trajectory: &Trajectory) -> Result<Self, Error> {
        let log = file.names()?.with_prefix(LOG);
        let log =
            log.map(|(_, name)| JsonName(name.as_bytes().get(LOG.len()..).unwrap_or_default()));
        let log = log.collect();
        let Some(last) = trajectory.len().checked_sub(1) else {
            return Ok(Self::Known { steps: None, particles: None, types: Vec::new(), log });
        };
        let (first, last) = (trajectory.frame(0)?, trajectory.frame(last)?);
        Ok(Self::Known {
            steps: Some([first.step()?, last.step()?]),
            particles: Some([first.particles().n()?, last.particles().n()?]),
            types: first.particles().types()?,
            log,
        })
    }

    /// The lines to print: name and value.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let (steps, particles, types, log) = match self {
            Self::Known { steps, particles, types, log } => (steps, particles, types, log),
            Self::Unreadable { error } => return vec![("hoomd", printable(error))],
        };
        let mut lines = Vec::new();
        if let Some([first, last]) = steps {
            lines.push(("steps", format!("{first} in the first frame, {last} in the last")));
        }
        if let Some([first, last]) = particles {
            lines.push(("particles", format!("{first} in the first frame, {last} in the last")));
        }
        if !types.is_empty() {
            lines.push(("types", printable(&types.join(", "))));
        }
        if !log.is_empty() {
            let names: Vec<_> = log.iter().map(|name| Name(name.0).to_string()).collect();
            lines.push(("logged", printable(&names.join(", "))));
        }
        lines
    }
}
