//! Tasks of a file are read from a web server, in few requests.

use opendal::Operator;
use opendal::services::Http;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use striae_core::sion::filename::Sibling;
use striae_core::sion::{Opened, Physical, Reader};
use striae_core::store::ReadAhead;
use striae_opendal::Object;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/sion");

/// Answers `HEAD` and `GET` of a folder's files, whole or a range, until the connection ends.
fn answer(stream: TcpStream, requests: &AtomicUsize) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    while let Some(request) = lines.next().transpose()? {
        requests.fetch_add(1, Relaxed);
        let mut range = None;
        for header in lines.by_ref() {
            let header = header?.to_ascii_lowercase();
            if let Some(bytes) = header.strip_prefix("range: bytes=") {
                range =
                    bytes.split_once('-').map(|(start, end)| (start.to_owned(), end.to_owned()));
            }
            if header.is_empty() {
                break;
            }
        }
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let file = std::fs::read(format!("{GOLDEN}{path}"))?;
        let last = file.len() - 1;
        let (start, end) = match &range {
            Some((start, end)) => (start.parse().unwrap(), end.parse().unwrap_or(last).min(last)),
            None => (0, last),
        };
        let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{end}/{}\r\n\r\n",
            end + 1 - start,
            file.len()
        )?;
        if method == "GET" {
            stream.write_all(&file[start..=end])?;
        }
    }
    Ok(())
}

/// A server in this process that has the golden files, and the number of requests to it.
struct Golden {
    operator: Operator,
    requests: Arc<AtomicUsize>,
}

impl Golden {
    fn start() -> Self {
        opendal_http_transport_reqwest::install_default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || answer(stream, &counted));
            }
        });
        let operator = Operator::new(Http::default().endpoint(&url)).unwrap();
        Self { operator, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

async fn read_task(name: &str, number: u32) -> Vec<u8> {
    let (mut memory, mut window) = (vec![0; 1 << 16], [0; 4096]);
    let golden = Golden::start();
    let object = Object::open(&golden.operator, name).await.unwrap();
    let store = ReadAhead::new(object, &mut memory);
    let opened = Physical::open_async(&store, &mut window).await.unwrap();
    let opening = golden.requests();
    assert!(opening <= 3, "{opening} requests to open");
    let Opened::Closed(file) = opened else { panic!("{name} was never closed") };
    let task = file.task_async(number, &mut window).await.unwrap();
    let mut stream = file.stream(task);
    let mut bytes = vec![0; usize::try_from(stream.total_async().await.unwrap()).unwrap()];
    stream.read_all_async(&mut bytes).await.unwrap();
    let requests = golden.requests();
    // the place of the task, the lengths of its chunks, and all of its bytes
    assert!(requests <= opening + 3, "{requests} requests, {opening} of them to open");
    bytes
}

/// Reads the task with this global rank of a set of three files.
async fn read_task_of_set(name: &str, globalrank: i64) -> Vec<u8> {
    let (mut memories, mut window) = (vec![vec![0; 1 << 16]; 3], [0; 4096]);
    let (golden, mut files) = (Golden::start(), Vec::new());
    for (number, memory) in (0..).zip(&mut memories) {
        let before = golden.requests();
        let name = format!("{name}{}", Sibling(number));
        let object = Object::open(&golden.operator, &name).await.unwrap();
        let opened = Physical::open_async(ReadAhead::new(object, memory), &mut window).await;
        let Opened::Closed(file) = opened.unwrap() else { panic!("{name} was never closed") };
        files.push(file);
        let opening = golden.requests() - before;
        assert!(opening <= 3, "{opening} requests to open {name}");
    }
    let opened = golden.requests();
    let set = Reader::of_set(files).unwrap();
    let task = set.find_globalrank_async(globalrank, &mut window).await.unwrap().unwrap();
    let (file, task) = set.task_async(task, &mut window).await.unwrap();
    let mut stream = file.stream(task);
    let mut bytes = vec![0; usize::try_from(stream.total_async().await.unwrap()).unwrap()];
    stream.read_all_async(&mut bytes).await.unwrap();
    // the entry of the mapping and the rank that it names; then as of one file
    let requests = golden.requests() - opened;
    assert!(requests <= 5, "{requests} requests for task {globalrank} of {name}");
    bytes
}

#[test]
fn a_task_of_a_set_of_three_files_is_read_from_a_web_server() {
    let name = "m05_np8_3files.sion";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let files = (0..3).map(|number| std::fs::read(format!("{GOLDEN}/{name}{}", Sibling(number))));
    let files: Vec<_> = files.map(Result::unwrap).collect();
    let open = |file| match Physical::open(file, &mut [0; 4096]).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("{name} was never closed"),
    };
    let local: Vec<_> = files.iter().map(|file| open(file.as_slice())).collect();
    let (local, mut window) = (Reader::of_set(local).unwrap(), [0; 4096]);
    assert_eq!(local.ntasks(), 8);
    for globalrank in 0..8 {
        let task = local.find_globalrank(globalrank, &mut window).unwrap().unwrap();
        let (file, task) = local.task(task, &mut window).unwrap();
        let mut stream = file.stream(task);
        let mut expected = vec![0; usize::try_from(stream.total().unwrap()).unwrap()];
        stream.read_all(&mut expected).unwrap();
        assert!(expected.len() > 500);
        assert_eq!(runtime.block_on(read_task_of_set(name, globalrank)), expected, "{globalrank}");
    }
}

#[test]
fn tasks_are_read_from_a_web_server_as_from_the_file() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for name in ["s03_eight_mixed.sion", "m04_np8_multichunk.sion", "c01_be_of_s02.sion"] {
        let file = std::fs::read(format!("{GOLDEN}/{name}")).unwrap();
        let Opened::Closed(local) = Physical::open(file.as_slice(), &mut [0; 4096]).unwrap() else {
            panic!("{name} was never closed")
        };
        for number in 0..local.meta1().ntasks() {
            let task = local.task(number, &mut [0; 4096]).unwrap();
            let mut stream = local.stream(task);
            let mut expected = vec![0; usize::try_from(stream.total().unwrap()).unwrap()];
            stream.read_all(&mut expected).unwrap();
            assert_eq!(
                runtime.block_on(read_task(name, number)),
                expected,
                "{name}, task {number}"
            );
        }
    }
}
