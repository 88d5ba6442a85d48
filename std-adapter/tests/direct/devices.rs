//! Devices with sectors of 512 and of 4096 bytes, as the kernel makes them of a file.

use crate::*;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs a program; what it printed, or why that was nothing.
fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_string()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}

/// A loop device, which goes with its last user.
struct Device(String);

impl Drop for Device {
    fn drop(&mut self) {
        output("losetup", &["--detach", &self.0]).unwrap();
    }
}

/// Mounts a file system on a device of such sectors, in a folder. It goes with this process, which
/// has mounts of its own, and the device goes with it.
fn mount(folder: &Path, sector: &str) -> Result<PathBuf, String> {
    let (image, mounted) = (folder.join("image"), folder.join("mounted"));
    std::fs::File::create(&image).unwrap().set_len(24 << 20).unwrap();
    let image = image.to_str().unwrap();
    output("mkfs.ext4", &["-q", "-F", "-b", "4096", image])?;
    std::fs::create_dir(&mounted).unwrap();
    let find = ["--find", "--show", "--sector-size", sector, image];
    let device = Device(output("losetup", &find)?);
    output("mount", &[&device.0, mounted.to_str().unwrap()])?;
    Ok(mounted)
}

#[test]
#[ignore = "a process of its own, with mounts of its own"]
fn process() {
    let Some(argument) = argument() else { return };
    let (sector, folder) = argument.split_once(' ').unwrap();
    match mount(Path::new(folder), sector) {
        Ok(mounted) => {
            let made = made_in(&mounted, &content(10_000));
            let file = DirectFile::open(made.path()).unwrap();
            let wanted: u64 = sector.parse().unwrap();
            if file.rung().is_direct() {
                assert_eq!(file.alignment().offset, wanted);
            }
            rungs::check_folder(&mounted);
            println!("devices: {sector} bytes a sector, {}", file.rung());
        }
        Err(why) => println!("skipped: {why}"),
    }
}

#[test]
fn every_rung_gives_the_same_bytes_on_sectors_of_any_length() {
    for sector in ["512", "4096"] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let argument = format!("{sector} {}", folder.path().to_str().unwrap());
        let inner = child("devices::process", &argument);
        let arguments = ["--mount", "--propagation", "private"];
        if let Err(why) = output("unshare", &[&arguments[..], &["true"]].concat()) {
            return println!("skipped: {why}");
        }
        let mut command = Command::new("unshare");
        command.args(arguments).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(command, &["devices: ", "skipped: "]);
    }
}
