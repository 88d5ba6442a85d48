//! Tasks of a file are read from a web server, in few requests.

use opendal::Operator;
use opendal::services::Http;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use striae_core::sion::{Opened, Physical};
use striae_core::store::ReadAhead;
use striae_opendal::Object;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/sion");

static REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// Answers `HEAD` and `GET` of a folder's files, whole or a range, until the connection ends.
fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    while let Some(request) = lines.next().transpose()? {
        REQUESTS.fetch_add(1, Relaxed);
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

/// A server in this process that has the golden files.
fn golden() -> Operator {
    opendal_http_transport_reqwest::install_default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    Operator::new(Http::default().endpoint(&url)).unwrap()
}

async fn read_task(name: &str, number: u32) -> Vec<u8> {
    let (mut memory, mut window) = (vec![0; 1 << 16], [0; 4096]);
    let operator = golden();
    let before = REQUESTS.load(Relaxed);
    let object = Object::open(&operator, name).await.unwrap();
    let store = ReadAhead::new(object, &mut memory);
    let opened = Physical::open_async(&store, &mut window).await.unwrap();
    let opening = REQUESTS.load(Relaxed) - before;
    assert!(opening <= 3, "{opening} requests to open");
    let Opened::Closed(file) = opened else { panic!("{name} was never closed") };
    let task = file.task_async(number, &mut window).await.unwrap();
    let mut stream = file.stream(task);
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read_async(&mut part).await.unwrap() {
            0 => break,
            n => bytes.extend_from_slice(&part[..n]),
        }
    }
    let requests = REQUESTS.load(Relaxed) - before;
    let most = opening + 1 + usize::try_from(task.blockcount).unwrap();
    assert!(requests <= most, "{requests} requests, {opening} of them to open");
    bytes
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
