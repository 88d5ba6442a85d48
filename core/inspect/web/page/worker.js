// Runs the WebAssembly module, and reads for it: a worker may read slices of files at once, without
// which the module would have to be left at every read.
"use strict";

const BLOCK = 1 << 16; // bytes that are read at least
const KEPT = 256; // blocks
const NEW = 1 << 20; // number of the first new file
const MOST = 1.25 * (1 << 30); // bytes of all new files

const reader = new FileReaderSync();
const zeros = new Uint8Array(BLOCK);
let code = null; // of the module
let module = null;
let wasm = null;
let files = [];
let news = [];
let kept = new Map();
let asked = new Set(); // files that the browser was asked for since the question came
let gone = null; // the file that it could not read
const stats = { reads: 0, bytes: 0 };

function memory(at, len) {
  return new Uint8Array(wasm.memory.buffer, at >>> 0, len >>> 0);
}

// A browser reads no file that is not as it was when it was chosen.
function slice(file, offset, end) {
  const was = gone;
  gone = files[file].name; // unless the next line is done
  const bytes = new Uint8Array(reader.readAsArrayBuffer(files[file].slice(offset, end)));
  gone = was;
  asked.add(file);
  stats.reads += 1;
  stats.bytes += bytes.length;
  return bytes;
}

// The block of a file, which stays in memory for a while.
function block(file, number) {
  const key = file + ":" + number;
  let bytes = kept.get(key);
  kept.delete(key);
  if (bytes === undefined) bytes = slice(file, number * BLOCK, (number + 1) * BLOCK);
  else if (!asked.has(file)) slice(file, 0, 1); // whether it is still that file
  kept.set(key, bytes); // the last one
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return bytes;
}

function readFile(file, offset, to) {
  const len = Math.max(0, Math.min(to.length, files[file].size - offset));
  if (len >= BLOCK) {
    to.set(slice(file, offset, offset + len));
    return len;
  }
  for (let done = 0; done < len; ) {
    const at = offset + done;
    const bytes = block(file, Math.floor(at / BLOCK));
    const part = bytes.subarray(at % BLOCK, (at % BLOCK) + len - done);
    if (part.length === 0) throw new Error("the file is shorter than it was");
    to.set(part, done);
    done += part.length;
  }
  return len;
}

// A new file: pages of one length; those that nobody wrote are zeros.
class New {
  constructor(name) {
    this.name = name;
    this.size = 0;
    this.pages = new Map();
  }

  each(offset, len, page) {
    for (let done = 0; done < len; ) {
      const at = offset + done;
      const skip = at % BLOCK;
      const part = Math.min(BLOCK - skip, len - done);
      page(Math.floor(at / BLOCK), skip, part, done);
      done += part;
    }
  }

  read(offset, to) {
    const len = Math.max(0, Math.min(to.length, this.size - offset));
    this.each(offset, len, (number, skip, part, done) => {
      to.set((this.pages.get(number) ?? zeros).subarray(skip, skip + part), done);
    });
    return len;
  }

  write(offset, from) {
    this.each(offset, from.length, (number, skip, part, done) => {
      if (!this.pages.has(number)) {
        const pages = news.reduce((sum, file) => sum + file.pages.size, 0);
        if (pages * BLOCK >= MOST) throw new Error("no room");
        this.pages.set(number, new Uint8Array(BLOCK));
      }
      this.pages.get(number).set(from.subarray(done, done + part), skip);
    });
    this.size = Math.max(this.size, offset + from.length);
  }

  resize(len) {
    for (const number of this.pages.keys()) {
      const keep = len - number * BLOCK;
      if (keep <= 0) this.pages.delete(number);
      else if (keep < BLOCK) this.pages.get(number).fill(0, keep);
    }
    this.size = len;
  }

  blob() {
    const parts = [];
    this.each(0, this.size, (number, skip, part) => {
      parts.push((this.pages.get(number) ?? zeros).subarray(skip, skip + part));
    });
    return new Blob(parts, { type: "application/octet-stream" });
  }
}

// What a function of the page returns when it throws.
function or(failed, run) {
  try {
    return run();
  } catch (error) {
    console.error(String(error));
    return failed;
  }
}

const page = {
  size: (file) => BigInt(file < NEW ? files[file].size : news[file - NEW].size),
  read: (file, offset, to, len) =>
    or(-1, () => {
      const at = Number(offset);
      const bytes = memory(to, len);
      return file < NEW ? readFile(file, at, bytes) : news[file - NEW].read(at, bytes);
    }),
  create: (name, len) => {
    news.push(new New(new TextDecoder().decode(memory(name, len))));
    return NEW + news.length - 1;
  },
  write: (file, offset, from, len) =>
    or(-1, () => (news[file - NEW].write(Number(offset), memory(from, len)), 0)),
  resize: (file, len) => or(-1, () => (news[file - NEW].resize(Number(len)), 0)),
};

function ask(words) {
  wasm ??= new WebAssembly.Instance(module, { page }).exports;
  const names = files.map((file) => "\0" + file.name.replaceAll("\0", ""));
  const question = new TextEncoder().encode(words.join("\x1f") + names.join(""));
  memory(wasm.room(question.length), question.length).set(question);
  const len = wasm.ask();
  return JSON.parse(new TextDecoder().decode(memory(wasm.answer(), len)));
}

onmessage = ({ data }) => {
  if (data.files) [files, kept, code] = [data.files, new Map(), data.module];
  if (!data.words) return;
  [news, asked, gone] = [[], new Set(), null];
  let answer;
  let made = [];
  try {
    module ??= new WebAssembly.Module(code);
    answer = ask(data.words.map(String));
    // A file that changes is not damaged, whatever the answer says. In the list each file has its own error.
    if (gone !== null && data.words[0] !== "files") answer = { error: `${gone}: cannot be read; was it moved, or changed since it was chosen?` };
    if (!answer.error) made = news.map((file) => ({ name: file.name, blob: file.blob() }));
  } catch (error) {
    wasm = null; // it may have stopped anywhere: the next question gets a new one
    answer = { error: "the page cannot answer this: " + error };
  }
  news = [];
  postMessage({ id: data.id, answer, made, stats });
};
