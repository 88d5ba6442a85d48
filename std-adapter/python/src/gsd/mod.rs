//! GSD files: what `gsd.fl`, `gsd.pygsd` and `gsd.hoomd` are built on.
//!
//! | module | holds |
//! |---|---|
//! | `handle` | a file of `gsd.fl`: `GSDFile` |
//! | `object` | a file of `gsd.pygsd`, read from any Python object with `read` and `seek` |
//! | `source` | both of them, as a source of trajectories |
//! | `values` | chunks as arrays and texts, and back |
//! | `parts` | the attributes of a frame, and the chunks that they are in |
//! | `assembler` | frames of `gsd.hoomd`: `Assembler` |
//! | `frame` | making one from chunks |
//! | `append` | writing one |
//! | `logs` | logged quantities over all frames |

mod append;
pub(crate) mod assembler;
mod frame;
pub(crate) mod handle;
mod logs;
pub(crate) mod object;
mod parts;
mod source;
mod values;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A logger of Python's `logging`, by the name that gsd gives it.
struct Logger {
    name: &'static str,
    logger: PyOnceLock<Py<PyAny>>,
}

/// A level of Python's `logging`.
#[derive(Debug, Clone, Copy)]
enum Level {
    Debug,
    Info,
    Warning,
}

/// The logger of the file layer.
static FL: Logger = Logger { name: "gsd.fl", logger: PyOnceLock::new() };

impl Logger {
    /// Logs a text, which is made only if somebody wants it.
    fn log(&self, py: Python<'_>, level: Level, text: impl FnOnce() -> String) -> PyResult<()> {
        let logger = self.logger.get_or_try_init(py, || {
            py.import("logging")?.call_method1("getLogger", (self.name,)).map(Bound::unbind)
        })?;
        let (logger, number) = (logger.bind(py), level.number());
        if logger.call_method1(intern!(py, "isEnabledFor"), (number,))?.is_truthy()? {
            logger.call_method1(intern!(py, "log"), (number, "%s", text()))?;
        }
        Ok(())
    }
}

impl Level {
    const fn number(self) -> u8 {
        match self {
            Self::Debug => 10,
            Self::Info => 20,
            Self::Warning => 30,
        }
    }
}
