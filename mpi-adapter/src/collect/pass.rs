//! The writer's open file, which it passes to the ranks of its group: they write by it, and none of
//! them opens the file.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use striae::posix::PosixFile;
use zerocopy::{FromBytes, IntoBytes};

/// A file, of ranks that are threads of one process.
type Shared = Arc<OnceLock<Arc<dyn Any + Send + Sync>>>;

/// What the ranks of a group have in common; others cannot guess it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes)]
#[repr(C)]
pub(super) struct Token {
    /// In the names of sockets, which all processes of the machine can see.
    name: [u8; 8],
    /// In messages: any process may send one.
    secret: [u8; SECRET],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("name", &self.name).finish_non_exhaustive()
    }
}

const SECRET: usize = 16;

/// The groups of this process whose ranks come together now.
static HERE: Mutex<BTreeMap<Token, Shared>> = Mutex::new(BTreeMap::new());

/// The most messages of strangers that a rank reads at a time.
const STRANGERS: usize = 16;

impl Token {
    fn random() -> io::Result<Self> {
        let mut bytes = [0; size_of::<Self>()];
        let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        let whole = (got == bytes.len()).then_some(zerocopy::transmute!(bytes));
        whole.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The token as the writer tells it to the ranks.
    pub(super) const fn words(&self) -> [u64; 3] {
        zerocopy::transmute!(*self)
    }

    pub(super) fn of_words(words: [u64; 3]) -> Option<Self> {
        (words != [0; 3]).then_some(zerocopy::transmute!(words)) // zeros: the writer has none
    }

    /// The name of a rank's socket. It is in no folder, and goes with the socket.
    fn address(&self, rank: u32) -> io::Result<SocketAddr> {
        let name = u64::from_le_bytes(self.name);
        SocketAddr::from_abstract_name(format!("striae-{name:016x}-{rank}"))
    }
}

/// A rank's end of the way on which a file is passed. A rank that gets none opens the file.
#[derive(Debug)]
pub(super) enum Pass {
    /// That of the writer, which has so many ranks.
    Writer { token: Token, ranks: u32, shared: Shared },
    /// That of a rank in the process of the writer.
    Here(Shared),
    /// That of a rank in another process.
    There { token: Token, socket: UnixDatagram },
}

impl Pass {
    /// The writer's end, before the other ranks have theirs.
    pub(super) fn writer(ranks: u32) -> io::Result<Self> {
        let (token, shared) = (Token::random()?, Shared::default());
        here(|groups| groups.insert(token, Arc::clone(&shared)));
        Ok(Self::Writer { token, ranks, shared })
    }

    /// The end of another rank.
    pub(super) fn of(token: Token, rank: u32) -> io::Result<Self> {
        if let Some(shared) = here(|groups| groups.get(&token).cloned()) {
            return Ok(Self::Here(shared));
        }
        let socket = UnixDatagram::bind_addr(&token.address(rank)?)?;
        Ok(Self::There { token, socket })
    }

    pub(super) const fn token(&self) -> Option<&Token> {
        match self {
            Self::Writer { token, .. } => Some(token),
            _ => None,
        }
    }

    /// All ranks have their ends.
    pub(super) fn all_came(&self) {
        self.token().map(|token| here(|groups| groups.remove(token)));
    }

    /// Passes the writer's file to all other ranks of its process, or to other processes if it is
    /// a [`PosixFile`]. Ranks that cannot get it open the file by themselves.
    pub(super) fn give<F: Send + Sync + 'static>(&self, file: &Arc<F>) {
        let Self::Writer { token, ranks, shared } = self else { return };
        if Arc::strong_count(shared) > 1 {
            let _ = shared.set(Arc::<F>::clone(file)); // once
            return;
        }
        let file: &dyn Any = &**file;
        let _ = file.downcast_ref().map(|file| send(file, token, *ranks));
    }

    /// The file that the writer has passed.
    pub(super) fn take<F: Send + Sync + 'static>(&self) -> Option<Arc<F>> {
        let file: Arc<dyn Any + Send + Sync> = match self {
            Self::Writer { .. } => return None,
            Self::Here(shared) => Arc::clone(shared.get()?),
            Self::There { token, socket } => Arc::new(receive(socket, token)?),
        };
        file.downcast().ok()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.all_came(); // if the ranks did not come together
    }
}

fn here<T>(work: impl FnOnce(&mut BTreeMap<Token, Shared>) -> T) -> T {
    work(&mut HERE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Sends the descriptor of a file to all other ranks, and waits for none of them.
fn send(file: &PosixFile, token: &Token, ranks: u32) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    let (durable, fds) = ([u8::from(file.is_durable())], [file.as_fd()]);
    for rank in 1..ranks {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let text = [IoSlice::new(&token.secret), IoSlice::new(&durable)];
        let has_room = control.push(SendAncillaryMessage::ScmRights(&fds));
        let sent = socket.connect_addr(&token.address(rank)?).and_then(|()| {
            let sent = sendmsg(&socket, &text, &mut control, SendFlags::DONTWAIT);
            Ok(sent.map(drop)?)
        });
        if let (false, _) | (_, Err(_)) = (has_room, sent) {
            continue; // that rank opens the file
        }
    }
    Ok(())
}

/// The file of the first message of the group that is there.
fn receive(socket: &UnixDatagram, token: &Token) -> Option<PosixFile> {
    for _ in 0..STRANGERS {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let (mut secret, mut durable) = ([0; SECRET], [0]);
        let mut text = [IoSliceMut::new(&mut secret), IoSliceMut::new(&mut durable)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(socket, &mut text, &mut control, flags).ok()?;
        let fd: Option<OwnedFd> = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        if got.bytes == SECRET + 1 && secret == token.secret {
            let file = fd.and_then(|fd| PosixFile::from_fd(fd).ok());
            return file.map(|file| file.durable(durable == [1]));
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test: a panic fails it")]
mod tests {
    use super::{Pass, Token, receive, send};
    use rustix::fd::AsFd;
    use std::fs::File;
    use std::os::unix::net::UnixDatagram;
    use std::sync::Arc;
    use striae::posix::PosixFile;

    /// The ends of ranks as they are in other processes.
    fn there(token: Token, rank: u32) -> (Pass, UnixDatagram) {
        let socket = UnixDatagram::bind_addr(&token.address(rank).unwrap()).unwrap();
        let same = socket.try_clone().unwrap();
        (Pass::There { token, socket }, same)
    }

    #[test]
    fn ranks_of_other_processes_get_the_file_and_no_strangers() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a", "b"].map(|name| folder.path().join(name));
        let file = Arc::new(PosixFile::create(&path, false).unwrap().durable(false));
        let strange = PosixFile::create(&other, false).unwrap();
        let writer = Pass::writer(4).unwrap();
        let token = *writer.token().unwrap();
        writer.all_came();
        // Rank 2 has no end; nobody waits for it.
        let ((first, _), (third, socket)) = (there(token, 1), there(token, 3));
        assert!(first.take::<PosixFile>().is_none());
        let unknown = Token { secret: [7; 16], ..token };
        send(&strange, &unknown, 4).unwrap();
        writer.give(&file);
        for pass in [&first, &third] {
            let got = pass.take::<PosixFile>().unwrap();
            assert_eq!((got.identity(), got.is_durable()), (file.identity(), false));
            assert!(pass.take::<PosixFile>().is_none()); // it was sent once
        }
        // What is not open for writing is not taken.
        let text = File::open(&path).unwrap();
        let read_only = PosixFile::from_fd(text.as_fd().try_clone_to_owned().unwrap());
        assert_eq!(read_only.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
        drop((first, third, socket));
        // The names are gone with the sockets.
        assert!(UnixDatagram::bind_addr(&token.address(1).unwrap()).is_ok());
    }

    #[test]
    fn a_rank_in_the_process_of_the_writer_shares_any_file() {
        let writer = Pass::writer(2).unwrap();
        let other = Pass::of(*writer.token().unwrap(), 1).unwrap();
        writer.all_came();
        assert!(other.take::<String>().is_none());
        let file = Arc::new(String::from("not of POSIX"));
        writer.give(&file);
        assert!(Arc::ptr_eq(&other.take::<String>().unwrap(), &file));
        assert!(other.take::<PosixFile>().is_none());
        let late = Pass::of(*writer.token().unwrap(), 1).unwrap();
        assert!(matches!(&late, Pass::There { token, socket } if receive(socket, token).is_none()));
    }
}
